"""Rows of what a study is made of: its codebook and the changes of it, its interviews, its audit trail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Exists, OuterRef

from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import project_stream
from transcripts.codebook.files import make_rows, read_version
from transcripts.codebook.models import CodeChange
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Consent, Interview
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import stream
from transcripts.formats.codebook_csv import COLUMNS, CodeRow

CODEBOOK = list(COLUMNS)

CODEBOOK_CHANGES = {
    "project": "version__project__slug",
    "codebook_version": "version__number",
    "kind": "kind",
    "effect": "effect",
    "from_code": "from_identifier",
    "to_code": "to_identifier",
    "reason": "reason",
    "made": "made_at",
    "made_by": "made_by_name",
}

INTERVIEWS = {
    "interview": "external_id",
    "title": "title",
    "model": "model_label",
    "vendor": "vendor",
    "surface": "surface",
    "period": "period",
    "interviewer": "interviewer",
    "tier": "tier",
    "inclusion": "inclusion",
    "inclusion_reason": "inclusion_reason",
    "opening_prompt": "opening_prompt",
    "language": "language",
    "questions": "questions",
    "author_words": "author_words",
    "model_words": "model_words",
    "sentences": "sentence_count",
    "file": "imported_file__name",
    "file_sha256": "imported_file__sha256",
    "segmenter": "segmenter",
}

CONSENTS = {
    "project": "interview__project__slug",
    "interview": "interview__external_id",
    "scope": "scope",
    "given": "is_given",
    "holds": "holds",
    "basis": "basis",
    "recorded": "recorded_at",
    "recorded_by": "recorded_by_name",
}

AUDIT = {
    "sequence": "sequence",
    "at": "at",
    "actor_id": "actor_id",
    "actor": "actor_name",
    "action": "action",
    "target": "target",
    "details": "details",
    "previous_hash": "previous_hash",
    "hash": "hash",
}


def read_codebook(scope: Scope) -> Iterator[Sequence[object]]:
    """The codes of the current codebook version, as the form that can be read again has them."""
    version = current_version(scope.project)
    if version is not None:
        yield from map(_show_code, make_rows(read_version(version)))


def read_codebook_changes(scope: Scope) -> Iterator[Sequence[object]]:
    """What was done to which code in which version, and why."""
    changes = CodeChange.objects.filter(version__project=scope.project)
    return stream(changes.order_by("version__number", "pk"), CODEBOOK_CHANGES)


def read_interviews(scope: Scope) -> Iterator[Sequence[object]]:
    """The interviews with what is known of them, without their text."""
    return stream(Interview.objects.filter(project=scope.project).order_by("pk"), INTERVIEWS)


def read_consents(scope: Scope) -> Iterator[Sequence[object]]:
    """Every record of consent, in order; ``holds`` is true where no later one of the same scope stands."""
    later = Consent.objects.filter(interview=OuterRef("interview"), scope=OuterRef("scope"), pk__gt=OuterRef("pk"))
    records = Consent.objects.filter(interview__project=scope.project).annotate(holds=~Exists(later))
    return stream(records.order_by("pk"), CONSENTS)


def read_audit(scope: Scope) -> Iterator[Sequence[object]]:
    """The study's audit events in order, with the hashes that chain them."""
    events = AuditEvent.objects.filter(stream=project_stream(scope.project.pk)).order_by("sequence")
    return stream(events, AUDIT)


def _show_code(code: CodeRow) -> list[object]:
    """A row of the table; lists stay lists, for JSON lines."""
    cells: dict[str, object] = {column: getattr(code, column) for column in COLUMNS}
    cells["attributes"] = [attribute.as_json() for attribute in code.attributes]
    return [list(cell) if isinstance(cell, tuple) else cell for cell in cells.values()]
