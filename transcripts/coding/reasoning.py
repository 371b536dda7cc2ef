"""Which codings were made after their coder had opened reasoning of the thread: derived, for it is no column.

The desk, the exports and the figures all ask here.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django.db.models import Min, QuerySet

from transcripts.coding.models import StageOpening

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
