"""The answers of a batch in the order in which they were stored, a part at a time, for programs that collect them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from operator import itemgetter

from auditapp.batches.kinds import Visibility
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.pure.money import NANO

READ_AT_ONCE = 1_000
# What a line holds, by the column that it is read from. Those of the arm stand for several fields.
COLUMNS = {
    "id": "answer_number",
    "cell": "pk",
    "input": "input_id",
    "repeat": "repeat",
    "outcome": "outcome",
    "answer": "result__answer",
    "reasoning": "result__reasoning",
    "history": "result__attempt__history",
    "attempt": "result__attempt_id",
    "end": "result__attempt__end",
    "served_model": "result__attempt__served_model",
    "finish_reason": "result__attempt__finish_reason",
    "tokens_in": "result__attempt__tokens_in",
    "tokens_out": "result__attempt__tokens_out",
    "tokens_cached": "result__attempt__tokens_cached",
    "tokens_reasoning": "result__attempt__tokens_reasoning",
    "cost": "result__attempt__cost_nano",
    "sent_at": "result__attempt__sent_at",
    "done_at": "result__attempt__done_at",
    "stored_at": "result__stored_at",
    "arm": "arm_id",
}
IN_DOLLARS = "cost"
TIMES = ("sent_at", "done_at", "stored_at")


def read_answers(
    batch: Batch, *, after: int = 0, limit: int | None = None, visibility: Visibility
) -> Iterator[dict[str, object]]:
    """The answers with a number above ``after``, at most ``limit`` of them, as far as they may be seen, ready for JSON.

    Numbers are given while the batch is locked, so none below the last one of a line can appear later. Each part is a
    query of its own by key: memory does not grow, nothing stays open while a reader is slow, and what was stored meanwhile
    comes too.
    """
    arms = {arm.pk: _describe_arm(arm) for arm in batch.arms.select_related("variant")}
    cells = Cell.objects.filter(batch=batch)
    if not visibility.is_whole:
        cells = cells.none() if visibility.inputs is None else cells.filter(input_id__in=visibility.inputs)
    answered = cells.order_by("answer_number").values_list(*COLUMNS.values())
    names, place, left = tuple(COLUMNS), itemgetter(0), limit
    while left is None or left > 0:
        wanted = READ_AT_ONCE if left is None else min(left, READ_AT_ONCE)
        rows = list(answered.filter(answer_number__gt=after)[:wanted])
        for row in rows:
            yield _describe_answer(dict(zip(names, row, strict=True)), arms)
        if len(rows) < wanted:
            return
        after = place(rows[-1])
        left = None if left is None else left - len(rows)


def _describe_arm(arm: Arm) -> dict[str, object]:
    return {"model": arm.variant.label, "task": arm.task, "condition": arm.settings.get("condition", "")}


def _describe_answer(row: dict[str, object], arms: Mapping[int, dict[str, object]]) -> dict[str, object]:
    arm, cost = row["arm"], row[IN_DOLLARS]
    row[IN_DOLLARS] = cost / NANO if isinstance(cost, int) else None
    for name in TIMES:
        at = row[name]
        row[name] = at.isoformat() if isinstance(at, datetime) else None
    return row | arms[arm]  # type: ignore[index]
