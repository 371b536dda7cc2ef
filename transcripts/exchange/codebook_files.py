"""The codebook in the forms that other programs and this one read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from transcripts.codebook.files import read_version
from transcripts.codebook.models import CodebookVersion, CodeExample
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Consent, Interview
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.registry import Scope
from transcripts.formats.codebook_content import CodebookContent
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.formats.qdc import lay_out_codes, write_qdc


class NoCodebook(Exception):
    """A sentence for the person who asked."""


def write_json(scope: Scope, path: Path) -> int:
    """Everything the current version holds, as JSON, but for examples from interviews that may not be quoted."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        return write_codebook_json(_read_quotable(scope), stream)


def write_refi(scope: Scope, path: Path) -> int:
    """The current version as a codebook file of REFI-QDA, but for examples from interviews that may not be quoted."""
    with path.open("wb") as stream:
        return write_qdc(lay_out_codes(_read_quotable(scope), scope=scope.project.slug), stream)


def find_quoted(scope: Scope) -> set[int]:
    """The interviews from which examples of the current version come."""
    version = current_version(scope.project)
    pinned = CodeExample.objects.shown(coder=scope.coder).filter(code__version=version, sentence__isnull=False)
    return set(pinned.order_by().values_list("sentence__turn__interview", flat=True)) if version else set()


def _read_quotable(scope: Scope) -> CodebookContent:
    """The version as it may be published. An interview is known by its id in the file, which no other of the study has."""
    content = read_version(_find_version(scope), coder=scope.coder)
    allowed = list_consenting(find_quoted(scope), Consent.Scope.QUOTATION)
    names = set(Interview.objects.filter(pk__in=allowed).values_list("external_id", flat=True))
    examples = (each for each in content.examples if not each.interview or each.interview in names)
    return replace(content, examples=tuple(examples))


def _find_version(scope: Scope) -> CodebookVersion:
    version = current_version(scope.project)
    if version is None:
        raise NoCodebook("This study has no published codebook yet. Publish a version first.")
    return version
