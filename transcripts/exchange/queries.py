"""Rows about a study: its codebook (also as files), its interviews, its audit trail; and the data dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from django.db.models import Exists, OuterRef, Subquery

from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import study_stream
from transcripts.codebook.files import make_rows, read_version
from transcripts.codebook.models import CodebookVersion, CodeChange, CodeExample
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import RUN_FACTS, Consent, Interview
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.rows import Column, Scope, column, columns, list_exports, stream
from transcripts.formats.codebook_csv import COLUMNS, CodeRow
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.formats.codebook_rules import CodebookContent
from transcripts.formats.refi import lay_out_codes, write_qdc

CODEBOOK = [Column(name, "", meaning) for name, meaning in COLUMNS.items()]

CODEBOOK_CHANGES = columns(
    CodeChange,
    "study codebook_version kind effect from_code to_code reason made made_by",
    study="version__study__slug",
    codebook_version="version__number",
    from_code="from_identifier",
    to_code="to_identifier",
)

INTERVIEWS = columns(
    Interview,
    "interview title model vendor surface period interviewer tier inclusion inclusion_reason opening_prompt language questions "
    "author_words model_words sentences file file_sha256 segmenter standing kind relation hangs_on hangs_on_turn "
    f"{' '.join(f'run_{key}' for key in RUN_FACTS)} mask_label unmasked names_covered",
    interview="external_id",
    model="model_label",
    sentences="sentence_count",
    file="imported_file__name",
    file_sha256="imported_file__sha256",
    hangs_on=("beginning", "The interview from which it continues, if the file contains it."),
    hangs_on_turn=("hangs_on__position", "The turn of that interview."),
    names_covered=(
        "names_covered",
        "Names of models and vendors that were covered in its text; empty while it is masked, or if it never was.",
    ),
    **{f"run_{key}": (f"run__{key}", f"{label} of the run, if the file gives it.") for key, label in RUN_FACTS.items()},
)

CONSENTS = columns(
    Consent,
    "study interview scope given holds basis recorded recorded_by",
    study="interview__owning_study__slug",
    given="is_given",
)

AUDIT = columns(AuditEvent, "sequence at actor_id actor action target details previous_hash hash", actor="actor_name")

DICTIONARY = [
    column("export", meaning="Key of the export."),
    column("column", meaning="Heading of the column."),
    column("meaning", meaning="What it holds."),
]


def read_codebook(scope: Scope) -> Iterator[Sequence[object]]:
    """The codes of the current codebook version, in the form that can be imported again."""
    version = current_version(scope.study)
    if version is not None:
        yield from map(_show_code, make_rows(read_version(version, coder=scope.coder)))


def read_codebook_changes(scope: Scope) -> Iterator[Sequence[object]]:
    """The changes of codes in each version, with reasons."""
    changes = CodeChange.objects.filter(version__study=scope.study)
    return stream(changes.order_by("version__number", "pk"), CODEBOOK_CHANGES)


def read_interviews(scope: Scope) -> Iterator[Sequence[object]]:
    """The interviews with their details, without text."""
    within = Interview.objects.filter(scope.within())
    # Interviews that are left out of a file are not named in it either.
    beginning = within.filter(pk=OuterRef("hangs_on__interview")).values("external_id")
    told = within.with_names_covered().annotate(beginning=Subquery(beginning))
    return stream(told.order_by("pk"), INTERVIEWS)


def read_consents(scope: Scope) -> Iterator[Sequence[object]]:
    """Every record of consent, in order; ``holds`` is true if there is no later one of the same scope."""
    later = Consent.objects.filter(interview=OuterRef("interview"), scope=OuterRef("scope"), pk__gt=OuterRef("pk"))
    records = Consent.objects.filter(scope.within("interview")).annotate(holds=~Exists(later))
    return stream(records.order_by("pk"), CONSENTS)


def count_audit(scope: Scope) -> int:
    """How many events ``read_audit`` yields."""
    return AuditEvent.objects.filter(stream=study_stream(scope.study.pk)).count()


def read_audit(scope: Scope) -> Iterator[Sequence[object]]:
    """The study's audit events in order, with the hashes that chain them."""
    events = AuditEvent.objects.filter(stream=study_stream(scope.study.pk)).order_by("sequence")
    return stream(events, AUDIT)


def read_dictionary(scope: Scope) -> Iterator[Sequence[object]]:
    """Every column of every table."""
    for export in list_exports():
        for each in export.columns:
            yield export.key, each.name, each.meaning


def _show_code(code: CodeRow) -> list[object]:
    """A row of the table; lists stay lists, for JSON lines."""
    cells: dict[str, object] = {column: getattr(code, column) for column in COLUMNS}
    cells["attributes"] = [attribute.as_json() for attribute in code.attributes]
    return [list(cell) if isinstance(cell, tuple) else cell for cell in cells.values()]


class NoCodebook(Exception):
    """The study has no published codebook; the message is for the person who asked."""


def write_json(scope: Scope, path: Path) -> int:
    """Write the current version as JSON, without examples from interviews that may not be quoted."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        return write_codebook_json(_read_quotable(scope), stream)


def write_refi(scope: Scope, path: Path) -> int:
    """Write the current version as a REFI-QDA codebook file, without examples from interviews that may not be quoted."""
    with path.open("wb") as stream:
        return write_qdc(lay_out_codes(_read_quotable(scope), scope=scope.study.slug), stream)


def find_quoted(scope: Scope) -> set[int]:
    """The interviews from which examples of the current version come."""
    version = current_version(scope.study)
    pinned = CodeExample.objects.shown(coder=scope.coder).filter(code__version=version, sentence__isnull=False)
    return set(pinned.order_by().values_list("sentence__turn__interview", flat=True)) if version else set()


def _read_quotable(scope: Scope) -> CodebookContent:
    """The publishable content of the version. An interview is identified by its id in the file, which is unique in the study."""
    content = read_version(_find_version(scope), coder=scope.coder)
    allowed = list_consenting(find_quoted(scope), Consent.Scope.QUOTATION)
    names = set(Interview.objects.filter(pk__in=allowed).values_list("external_id", flat=True))
    examples = (each for each in content.examples if not each.interview or each.interview in names)
    return replace(content, examples=tuple(examples))


def _find_version(scope: Scope) -> CodebookVersion:
    version = current_version(scope.study)
    if version is None:
        raise NoCodebook("This study has no published codebook yet. Publish a version first.")
    return version
