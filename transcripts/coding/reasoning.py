"""Reasoning that is closed to a coder, and which codings were made after she had opened reasoning of the thread.

Both are derived, for neither is a column. The desk, the exports and the figures all ask here.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, Min, OuterRef, QuerySet

from transcripts.coding.models import Coding, Decision, Memo, StageOpening, Unblinding
from transcripts.corpus.models import Turn

# When each coder first opened reasoning of an interview, as plain SQL for the desk, which selects MIN(m.opened_at).
FIRST_OPENINGS = """
FROM coding_stageopening m JOIN corpus_turn t ON t.id = m.turn_id
WHERE (m.coder_id = %s OR %s) AND t.interview_id :interview
GROUP BY m.coder_id"""


def read_first_openings(
    openings: QuerySet[StageOpening], *, coder: str = "coder", thread: str = "turn__interview"
) -> dict[tuple[Any, Any], datetime.datetime]:
    """When each coder first opened reasoning of a thread, by the two columns that name them: their ids, unless told otherwise."""
    first = openings.order_by().values_list(coder, thread).annotate(first=Min("opened_at"))
    return {(person, name): opened for person, name, opened in first}


def saw_reasoning(openings: Mapping[Any, Any], key: Any, made: Any) -> bool:
    """Whether ``made``, the moment of a coding or decision, is not before its coder's first opening of reasoning of the thread.

    ``openings`` holds that moment under ``key``, or nothing where she never opened any.
    """
    opened = openings.get(key)
    return opened is not None and bool(opened <= made)


def find_closed_turns(turns: QuerySet[Turn], person_id: int) -> frozenset[int]:
    """Those of ``turns`` that are reasoning which is closed to somebody who codes. One query.

    She has neither opened them nor coded there, nor unblinded their interview.
    """
    coded = Coding.objects.active().filter(sentence__turn=OuterRef("pk"), coder=person_id)
    decided = Decision.objects.active().filter(sentence__turn=OuterRef("pk"), coder=person_id)
    noted = Memo.objects.active().filter(sentence__turn=OuterRef("pk"), author=person_id)
    opened = StageOpening.objects.filter(turn=OuterRef("pk"), coder=person_id)
    unblinded = Unblinding.objects.of_labels().filter(interview=OuterRef("interview"), user=person_id)
    reasoning = turns.filter(channel=Turn.Channel.REASONING)
    closed = reasoning.exclude(Exists(coded) | Exists(decided) | Exists(noted) | Exists(opened) | Exists(unblinded))
    return frozenset(closed.values_list("pk", flat=True))
