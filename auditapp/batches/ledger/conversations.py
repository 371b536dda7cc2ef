"""Cells that continue others: they are one conversation, and each of its calls sends what was said before.

A cell with a previous call (``Cell.after``) is blocked. It becomes planned in the transaction that stores the answer of that
call; if that call fails or is cancelled, the rest of the conversation fails as ``earlier_failed``. A held one keeps it blocked.
What a cell sends as history follows from one row: the messages and the words of the previous call, and its stored answer.

The caller holds the lock of the batch's row. A batch without conversations costs no statement here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from auditapp.batches.kinds import Answered, hand_over
from auditapp.batches.models import Batch, Cell, Result
from auditapp.batches.pure.conversations import Exchange, read_words, revive_conversation

EARLIER_FAILED = "earlier_failed"
FAILED_FOR_GOOD = (Cell.State.FAILED, Cell.State.CANCELLED)


def read_exchanges(cells: Iterable[Cell]) -> dict[int, Sequence[Exchange]]:
    """The conversation before each cell, oldest first, by the cell's key, for cells whose previous call is answered. One query.

    Each exchange is a question exactly as sent and the words of the stored answer to it; reasoning is left out. Reads
    cell.after_id.
    """
    after = {cell.pk: cell.after_id for cell in cells if cell.after_id is not None}
    if not after:
        return {}
    found: dict[int, Sequence[Exchange]] = {}
    results = Result.objects.filter(cell__in=set(after.values()))
    for cell_id, answer, prompt, history in results.values_list(
        "cell_id", "answer", "attempt__prompt", "attempt__history"
    ):
        before = revive_conversation(history, prompt, "").history
        found[cell_id] = (*before, (prompt, read_words(answer)))
    return {pk: found[previous] for pk, previous in after.items() if previous in found}


def advance_conversations(batch: Batch, ended: Collection[int]) -> None:
    """Take the next step in the conversations of cells that may have ended: cells that follow an answered cell become planned, and
    cells that follow a failed one fail. Reads the cells' states from the database."""
    if not batch.has_conversations or not ended:
        return
    waiting = Cell.objects.filter(after__in=ended, state=Cell.State.BLOCKED)
    answered = Cell.objects.filter(pk__in=ended, state=Cell.State.DONE)
    waiting.filter(after__in=answered).update(state=Cell.State.PLANNED)
    fail_followers(batch, ended)


def fail_followers(batch: Batch, ended: Collection[int]) -> int:
    """Fail every waiting cell that follows a failed or cancelled one of ``ended``. Returns how many. Each is passed to its kind
    as a cell without an answer."""
    count = 0
    failed = Cell.objects.filter(pk__in=ended, state__in=FAILED_FOR_GOOD)
    while lost := list(
        Cell.objects.filter(after__in=failed, state=Cell.State.BLOCKED).only("arm_id", "input_id").order_by("pk")
    ):
        fail_cells(batch, lost, EARLIER_FAILED)
        count += len(lost)
        failed = Cell.objects.filter(pk__in=[cell.pk for cell in lost])
    return count


def fail_cells(batch: Batch, cells: Sequence[Cell], outcome: str) -> None:
    """Fail cells that got no answer and pass them to their kind. The outcome stays as given, whatever the kind calls a missing
    answer."""
    Cell.objects.filter(pk__in=[cell.pk for cell in cells]).update(
        state=Cell.State.FAILED, outcome=outcome, not_before=None
    )
    hand_over(batch, [Answered(cell.pk, cell.arm_id, cell.input_id, None, "", outcome) for cell in cells])


def list_behind(cells: Collection[int]) -> list[int]:
    """The failed cells that follow these, directly or through other cells, and failed because of them. One query for each step."""
    found: list[int] = []
    step: Collection[int] = cells
    while step:
        step = list(
            Cell.objects.filter(after__in=step, state=Cell.State.FAILED, outcome=EARLIER_FAILED)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        found += step
    return found


def list_before(cells: Collection[int]) -> list[int]:
    """The failed cells that these follow, directly or through other cells; without their answers these cannot be asked. One query
    for each step."""
    found: list[int] = []
    step: Collection[int] = cells
    while step:
        previous_calls = Cell.objects.filter(followers__in=step, state=Cell.State.FAILED)
        step = sorted(set(previous_calls.values_list("pk", flat=True)))
        found += step
    return found


def take_up(cells: Sequence[int]) -> None:
    """Plan failed cells again from the beginning. A cell whose previous call has no answer waits for it."""
    chosen = Cell.objects.filter(pk__in=cells)
    unanswered = chosen.filter(after__isnull=False).exclude(after__state=Cell.State.DONE)
    waiting = list(unanswered.values_list("pk", flat=True))
    chosen.update(state=Cell.State.PLANNED, outcome="", tries=0, unknown_ends=0, not_before=None)
    Cell.objects.filter(pk__in=waiting).update(state=Cell.State.BLOCKED)
