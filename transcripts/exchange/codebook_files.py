"""The codebook in the forms that other programs and this one read again."""

from __future__ import annotations

from pathlib import Path

from transcripts.codebook.files import make_qdc_codes, read_version
from transcripts.codebook.models import CodebookVersion
from transcripts.codebook.queries import current_version
from transcripts.exchange.registry import Scope
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.formats.qdc import write_qdc


class NoCodebook(Exception):
    """A sentence for the person who asked."""


def write_json(scope: Scope, path: Path) -> int:
    """Everything the current version holds, as JSON."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        return write_codebook_json(read_version(_find_version(scope)), stream)


def write_refi(scope: Scope, path: Path) -> int:
    """The current version as a codebook file of REFI-QDA."""
    with path.open("wb") as stream:
        return write_qdc(make_qdc_codes(_find_version(scope)), stream)


def _find_version(scope: Scope) -> CodebookVersion:
    version = current_version(scope.project)
    if version is None:
        raise NoCodebook("This study has no published codebook yet. Publish a version first.")
    return version
