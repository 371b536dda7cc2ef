"""Saving the list of what is replaced in copies of texts that leave the site. Texts themselves never change."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from transcripts.audit_trail import trail
from transcripts.corpus.models import RedactionList
from transcripts.corpus.pure.redacting import BadEntry, Entry, check_entries, read_stored
from transcripts.corpus.queries import find_redaction
from transcripts.projects.models import Project

MAX_REASON_LENGTH = 2_000


class RedactionError(Exception):
    """A list that cannot be saved; a sentence for the person who asked."""


class RedactionStale(RedactionError):
    """Somebody saved another list in the meantime."""


@transaction.atomic
def save_redaction(
    *, project: Project, entries: Sequence[Entry], reason: str, by: trail.Actor, based_on: int
) -> RedactionList:
    """Save the next list of the study; ``based_on`` is the number of the one it was made from (0: there was none).

    A list without entries ends redaction. Raises ``RedactionError``; earlier lists stay as they are.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    current = find_redaction(project)
    number = current.number if current else 0
    if number != based_on:
        raise RedactionStale(
            f"List {number} was saved in the meantime, so yours was not saved. Compare the two and save again."
        )
    reason = reason.strip()
    if len(reason) > MAX_REASON_LENGTH:
        raise RedactionError(f"The reason has {len(reason):,} characters; the limit is {MAX_REASON_LENGTH:,}.")
    entries = _tidy(entries)
    before = read_stored(current.entries) if current else []
    if entries == before:
        raise RedactionError("Nothing changed: these are the current entries.")
    row = RedactionList.objects.create(
        project=project,
        number=number + 1,
        entries=[entry._asdict() for entry in entries],
        reason=reason,
        made_at=timezone.now(),
        made_by_name=by.get_username()[:200],
    )
    trail.record(
        "corpus.redaction.saved",
        target=row,
        by=by,
        stream=trail.project_stream(project.pk),
        details={
            "number": row.number,
            "entries": len(entries),
            "added": len(set(entries) - set(before)),
            "removed": len(set(before) - set(entries)),
        },
    )
    return row


def _tidy(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without outer blanks. Raises ``RedactionError``."""
    tidied = [Entry(entry.text.strip(), entry.replacement.strip()) for entry in entries]
    try:
        check_entries(tidied)
    except BadEntry as error:
        raise RedactionError(str(error)) from error
    return tidied
