"""What blinding adds to the registries of other rooms.

It includes a person's history of unblinding others' labels of interviews, and of opening conditions of masked ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from transcripts.accounts.models import User
from transcripts.blinding.actions import ROLE, keep_what_was_seen
from transcripts.coding.models import CONDITION, Unblinding
from transcripts.desk.history import Act, HistoryPart, Rows, register_history, select_acts
from transcripts.hooks import on, role_changed
from transcripts.studies.models import Study


def _list_unblindings(study: Study, user: User) -> Iterator[Rows]:
    own = Unblinding.objects.filter(interview__study=study, user=user)
    yield select_acts(own.of_conditions(), "condition", "unblinded_at")
    # Unblindings by a change of role were not her own acts.
    yield select_acts(own.of_labels().exclude(where=ROLE), "unblinded", "unblinded_at")


def _describe_unblindings(ids: Collection[int]) -> dict[int, Act]:
    rows = Unblinding.objects.filter(pk__in=ids).select_related("interview")
    return {row.pk: _describe_unblinding(row) for row in rows}


def _describe_unblinding(row: Unblinding) -> Act:
    if row.where == CONDITION:
        return Act(row.interview, address="blinding:condition", page="Condition")
    return Act(row.interview)


UNBLINDINGS = HistoryPart(
    {"condition": "condition opened", "unblinded": "others’ labels opened"}, _list_unblindings, _describe_unblindings
)


on(role_changed, keep_what_was_seen)
register_history(UNBLINDINGS)
