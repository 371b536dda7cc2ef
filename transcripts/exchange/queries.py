"""Rows of what a study is made of: its codebook with its changes, its interviews, its audit trail; and the data dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db.models import Exists, OuterRef, Subquery

from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import project_stream
from transcripts.codebook.files import make_rows, read_version
from transcripts.codebook.models import CodeChange
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import RUN_FACTS, Consent, Interview
from transcripts.exchange.registry import Scope, list_exports
from transcripts.exchange.rows import Column, column, stream
from transcripts.formats.codebook_csv import COLUMNS, CodeRow

CODEBOOK = [Column(name, "", meaning) for name, meaning in COLUMNS.items()]

CODEBOOK_CHANGES = [
    column("project", "version__project__slug"),
    column("codebook_version", "version__number"),
    column("kind", "kind", "added, redefined, renamed, merged, split, retired, moved or adjusted."),
    column(
        "effect", "effect", "What it does to the meaning: wording (leaves codings as they are), narrowing or widening."
    ),
    column("from_code", "from_identifier", "Identifier before."),
    column("to_code", "to_identifier", "Identifier after."),
    column("reason", "reason"),
    column("made", "made_at", "When, in UTC."),
    column("made_by", "made_by_name", "Who did it."),
]

INTERVIEWS = [
    column("interview", "external_id"),
    column("title", "title", "Title, as it was imported."),
    column("model", "model_label"),
    column("vendor", "vendor", "Maker of the model."),
    column("surface", "surface", "Where the talk took place: a public page, an API."),
    column("period", "period", "When the talk took place, as it was imported."),
    column("interviewer", "interviewer", "Who asked."),
    column("tier", "tier", "Kind of interview, such as brief or comprehensive."),
    column("inclusion", "inclusion", "Whether it is analysed, as it was imported."),
    column("inclusion_reason", "inclusion_reason", "Why, or why not."),
    column("opening_prompt", "opening_prompt", "The words it began with, where they are kept apart."),
    column("language", "language", "Language of the talk, as a tag."),
    column("questions", "questions", "Turns of the interviewer."),
    column(
        "author_words", "author_words", "Words the interviewer says; a word is a run of characters between white space."
    ),
    column("model_words", "model_words", "Words the model says."),
    column("sentences", "sentence_count", "Sentences as divided at import."),
    column("file", "imported_file__name", "Name of the file it came in."),
    column("file_sha256", "imported_file__sha256", "SHA-256 of that file."),
    column("segmenter", "segmenter", "What divided it into sentences, with its version."),
    column("standing", "standing", "counted, archived or excluded; the last two only where the file was to hold them."),
    column("kind", "kind", "interview, or trajectory: the run of an agent."),
    column("relation", "relation", "How it hangs on a turn of another: branch, subagent, continuation; or empty."),
    column("hangs_on", "beginning", "The interview that it hangs on, if the file holds it."),
    column("hangs_on_turn", "hangs_on__position", "The turn of that interview."),
    *(
        column(f"run_{key}", f"run__{key}", f"{label} of the run, where the file tells it.")
        for key, label in RUN_FACTS.items()
    ),
    column("mask_label", "mask_label", "The random label under which it came in, where it did so masked."),
    column("unmasked", "unmasked_at", "When it was unmasked, in UTC; empty while it is masked."),
    column(
        "names_covered",
        "names_covered",
        "Names of models and vendors that were covered in its text; empty while it is masked, and where it never was.",
    ),
]

CONSENTS = [
    column("project", "interview__study__slug"),
    column("interview", "interview__external_id"),
    column(
        "scope",
        "scope",
        "coding (by people), external (models outside the site), quotation (in publications) or reuse (and training).",
    ),
    column("given", "is_given", "true: it may be done; false: it may not, refused or taken back."),
    column("holds", "holds", "true for the latest record of the interview in this scope."),
    column("basis", "basis", "The basis of the consent, as it was recorded."),
    column("recorded", "recorded_at", "When, in UTC."),
    column("recorded_by", "recorded_by_name", "Who recorded it."),
]

AUDIT = [
    column("sequence", "sequence", "Place in the study's chain, from 1, without gaps.", int),
    column("at", "at", "When, in UTC to the microsecond.", datetime),
    column("actor_id", "actor_id", "Number of the person; system for the program itself."),
    column("actor", "actor_name", "Name at the time."),
    column("action", "action", "What was done."),
    column("target", "target", "To what: kind and number."),
    column("details", "details", "Numbers and short states; never text of an interview."),
    column("previous_hash", "previous_hash", "Hash of the event before."),
    column(
        "hash",
        "hash",
        "SHA-256 over the event and the hash before it (audit_trail/pure/chain.py verifies an exported trail).",
    ),
]

DICTIONARY = [
    column("export", meaning="Key of the export."),
    column("column", meaning="Heading of the column."),
    column("meaning", meaning="What it holds."),
]


def read_codebook(scope: Scope) -> Iterator[Sequence[object]]:
    """The codes of the current codebook version, as the form that can be read again has them."""
    version = current_version(scope.project)
    if version is not None:
        yield from map(_show_code, make_rows(read_version(version, coder=scope.coder)))


def read_codebook_changes(scope: Scope) -> Iterator[Sequence[object]]:
    """What was done to which code in which version, and why."""
    changes = CodeChange.objects.filter(version__project=scope.project)
    return stream(changes.order_by("version__number", "pk"), CODEBOOK_CHANGES)


def read_interviews(scope: Scope) -> Iterator[Sequence[object]]:
    """The interviews with what is known of them, without their text."""
    within = Interview.objects.filter(scope.within())
    # What is left out of a file is not named in it either.
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
    return AuditEvent.objects.filter(stream=project_stream(scope.project.pk)).count()


def read_audit(scope: Scope) -> Iterator[Sequence[object]]:
    """The study's audit events in order, with the hashes that chain them."""
    events = AuditEvent.objects.filter(stream=project_stream(scope.project.pk)).order_by("sequence")
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
