"""What people write on the six-phase board, and what they say they bring to the reading. A new text is a new row."""

from __future__ import annotations

from typing import TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.analysis.models import PhaseEntry, PositionalityStatement
from transcripts.analysis.themes.queries import EntryChanged, NotYours
from transcripts.audit_trail import trail
from transcripts.refusals import WrongInput
from transcripts.studies.models import Project
from transcripts.ui.typed_text import MAX_TEXT, check_text

EMPTY = "Write something first. An empty text is not stored."
Text = TypeVar("Text", PhaseEntry, PositionalityStatement)


@transaction.atomic
def write_entry(*, project: Project, phase: int, text: str, by: User) -> PhaseEntry:
    """Write something down in a phase, whichever the study is in: phases are revisited.

    The same text again, as with a double click, changes nothing. Raises ``WrongInput``.
    """
    if phase not in PhaseEntry.Phase.values:
        raise WrongInput("Choose one of the six phases.", field="phase")
    text = check_text(text, field="text", max_length=MAX_TEXT, needed=EMPTY)
    Project.objects.select_for_update().get(pk=project.pk)
    active = PhaseEntry.objects.filter(project=project, phase=phase, author=by, text=text, withdrawn_at__isnull=True)
    if (same := active.first()) is not None:
        return same
    entry = PhaseEntry(project=project, phase=phase, text=text, author=by, written_at=timezone.now())
    return _store(entry, action="phase.entry.written", before=None)


@transaction.atomic
def change_entry(*, entry: PhaseEntry, text: str, by: User) -> PhaseEntry:
    """Write one's own entry anew; the old one stays behind it. Raises ``NotYours``, ``WrongInput``, ``EntryChanged``."""
    _check_author(entry, by)
    text = check_text(text, field="text", max_length=MAX_TEXT, needed=EMPTY)
    active = PhaseEntry.objects.select_for_update().get(pk=entry.pk)
    if active.withdrawn_at is not None:
        raise EntryChanged(_find_successor(active))
    if active.text == text:
        return active
    changed = PhaseEntry(
        project_id=active.project_id, phase=active.phase, text=text, author=by, written_at=timezone.now()
    )
    return _store(changed, action="phase.entry.changed", before=active)


@transaction.atomic
def withdraw_entry(*, entry: PhaseEntry, by: User) -> None:
    """Take one's own entry off the board; its row stays. Raises ``NotYours``."""
    _check_author(entry, by)
    _withdraw(entry, action="phase.entry.withdrawn", by=by)


@transaction.atomic
def write_statement(*, project: Project, text: str, by: User, replaces: int | None = None) -> PositionalityStatement:
    """Say what one brings to the reading, in place of the statement ``replaces``, which stays behind it.

    Raises ``WrongInput``, or ``EntryChanged`` when another statement of the same person is active by now.
    """
    text = check_text(text, field="text", max_length=MAX_TEXT, needed=EMPTY)
    before = _find_statement(project, by)
    if (before.pk if before else None) != replaces:
        raise EntryChanged(before)
    if before is not None and before.text == text:
        return before
    statement = PositionalityStatement(project=project, author=by, text=text, written_at=timezone.now())
    try:
        with transaction.atomic():
            return _store(statement, action="positionality.written", before=before)
    except IntegrityError:
        raise EntryChanged(_find_statement(project, by)) from None


@transaction.atomic
def withdraw_statement(*, project: Project, by: User) -> None:
    """Take one's own statement back; its row stays."""
    statement = _find_statement(project, by)
    if statement is not None:
        _withdraw(statement, action="positionality.withdrawn", by=by)


def _find_statement(project: Project, author: User) -> PositionalityStatement | None:
    statements = PositionalityStatement.objects.select_for_update()
    return statements.filter(project=project, author=author, withdrawn_at__isnull=True).first()


def _check_author(entry: PhaseEntry, by: User) -> None:
    if entry.author_id != by.pk:
        raise NotYours("Somebody else wrote this. You can change or withdraw only what you wrote yourself.")


def _find_successor(entry: PhaseEntry) -> PhaseEntry | None:
    """The active text that superseded an earlier one; ``None`` when it was withdrawn."""
    latest: PhaseEntry | None = entry
    while latest is not None and latest.withdrawn_at is not None:
        latest = latest.superseded_by
    return latest


def _store(row: Text, *, action: str, before: Text | None) -> Text:
    if before is not None:
        type(row).objects.filter(pk=before.pk).update(withdrawn_at=row.written_at)
    row.save(force_insert=True)
    if before is not None:
        type(row).objects.filter(pk=before.pk).update(superseded_by=row)
    details: dict[str, object] = {"characters": len(row.text)}
    if isinstance(row, PhaseEntry):
        details["phase"] = row.phase
    if before is not None:
        details["replaces"] = before.pk
    trail.record(action, target=row, by=row.author, stream=trail.project_stream(row.project_id), details=details)
    return row


def _withdraw(row: PhaseEntry | PositionalityStatement, *, action: str, by: User) -> None:
    active = type(row).objects.filter(pk=row.pk, withdrawn_at__isnull=True)
    if active.update(withdrawn_at=timezone.now()):
        trail.record(action, target=row, by=by, stream=trail.project_stream(row.project_id))
