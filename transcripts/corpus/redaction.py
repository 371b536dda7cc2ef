"""Saving the list of what is replaced in copies of texts that leave the site. Texts themselves never change."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.corpus.models import RedactionList
from transcripts.corpus.pure.redacting import BadEntry, Entry, check_entries
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.typed_text import check_reason


@transaction.atomic
def save_redaction(
    *, project: Project, entries: Sequence[Entry], reason: str, by: trail.Actor, based_on: int
) -> RedactionList:
    """Save the next list of the study; ``based_on`` is the number of the one it was made from (0: there was none).

    A list without entries ends redaction. Raises ``Refused``; earlier lists stay as they are.
    """
    reason = check_reason(reason)
    row = RedactionList(project=project, entries=[entry._asdict() for entry in tidy_entries(entries)], reason=reason)
    latest = row.find_latest(based_on)
    if latest is None and not row.entries:
        raise Refused("Nothing changed: these are the current entries.")
    return row.store_after(latest, by=by)


def tidy_entries(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without outer blanks. Raises ``Refused``."""
    tidied = [Entry(entry.text.strip(), entry.replacement.strip()) for entry in entries]
    try:
        check_entries(tidied)
    except BadEntry as error:
        raise Refused(str(error)) from error
    return tidied
