"""One attempt and the list of attempts, with what was sent and what came back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter

from django.db.models import Count, Max, QuerySet

from auditapp.batches.kinds import Visibility
from auditapp.batches.ledger.prompts import hash_request, rewrite_request
from auditapp.batches.models import Arm, Attempt, Batch, Cell
from auditapp.batches.pure.estimating import NANO
from auditapp.llm.providers import write_body
from auditapp.llm.providers.reasoning import SettingRefused

PER_PAGE = 50
COUNTED_TO = 10_000
LOST_AT_ONCE = 2_000
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


def find_attempts(arms: Sequence[Arm], chosen: Mapping[str, object]) -> QuerySet[Attempt]:
    """The attempts of these arms that match ``AttemptChoice``."""
    keys = [arm.pk for arm in arms]
    found = Attempt.objects.filter(arm__in=[chosen["arm"]] if chosen.get("arm") in keys else keys)
    if chosen.get("twice"):
        lost = Attempt.objects.filter(arm__in=keys, end=Attempt.End.UNKNOWN).values_list("cell", flat=True)
        few = list(lost[: LOST_AT_ONCE + 1])
        if len(few) > LOST_AT_ONCE:
            found = found.filter(cell__in=lost)
        else:
            # Listed by key, they are looked up in the index of cells; a nested query would read every row.
            found = found.filter(pk__in=list(Attempt.objects.filter(cell__in=few).values_list("pk", flat=True)))
    columns = {"end": "end", "error_class": "problem", "http_status": "status", "job": "job"}
    return found.filter(**{column: chosen[name] for column, name in columns.items() if chosen.get(name)})


def find_newest(arms: Sequence[Arm]) -> int | None:
    """The key of the newest attempt of these arms."""
    newest: int | None = Attempt.objects.filter(arm__in=[arm.pk for arm in arms]).aggregate(pk=Max("pk"))["pk"]
    return newest


def is_counted(chosen: Mapping[str, object]) -> bool:
    """Whether an index covers the selection."""
    return not chosen.get("problem") and not chosen.get("status")


def read_attempt_page(
    found: QuerySet[Attempt],
    *,
    before: int | None,
    after: int | None,
    counts: bool = True,
    begin: int | None = None,
) -> dict[str, object]:
    """The page of attempts below the key ``before`` or above ``after``; the newest ones when neither is given.

    ``begin`` is the key of the newest, where it is known: then the database walks down the keys instead of sorting all rows.
    ``older`` and ``newer`` are the keys of the next pages. ``counted`` stops at ``COUNTED_TO``; it is ``None`` where counting
    would read every row.
    """
    # Prompts and answers are long, and the list does not show them.
    lean = found.select_related("arm__variant__account").defer(
        "raw", "prompt", "history", "error", "arm__system_prompt"
    )
    if after is not None:
        rows = list(lean.filter(pk__gt=after).order_by("pk")[: PER_PAGE + 1])
        has_newer, has_older = len(rows) > PER_PAGE, True
        rows = rows[:PER_PAGE][::-1]
    else:
        start = before - 1 if before is not None else begin
        below = lean if start is None else lean.filter(pk__lte=start)
        rows = list(below.order_by("-pk")[: PER_PAGE + 1])
        has_newer, has_older = before is not None, len(rows) > PER_PAGE
        rows = rows[:PER_PAGE]
    count = found.order_by().values("pk")[: COUNTED_TO + 1].count() if counts else None
    return {
        "rows": rows,
        "older": rows[-1].pk if rows and has_older else None,
        "newer": rows[0].pk if rows and has_newer else None,
        "counted": None if count is None else min(count, COUNTED_TO),
        "counts_all": count is not None and count <= COUNTED_TO,
    }


def find_commonest_failure(arms: Sequence[Arm]) -> dict[str, object]:
    """What went wrong most often in the attempts of these arms; an empty class where nothing did."""
    failed = Attempt.objects.filter(arm__in=[arm.pk for arm in arms]).exclude(error_class="")
    rows = failed.values("error_class", "http_status").annotate(tries=Count("*"))
    row = rows.order_by("-tries", "error_class", "http_status").first()
    return {"error_class": "", "http_status": None} if row is None else {**row}


def find_arms(batch: Batch) -> list[Arm]:
    """The arms of a batch with their models, accounts and prices. One query."""
    return list(batch.arms.select_related("variant__account", "price"))


def rebuild_request(attempt: Attempt) -> dict[str, object]:
    """The body of an attempt's request, written again from the ledger, and whether its hash is the one noted before it was sent.

    Without a body, ``sentence`` says why. Reads attempt.arm with its capabilities, its variant and the account.
    """
    if not attempt.prompt:
        return {"sentence": "The message of this attempt was not kept, so its request cannot be rebuilt."}
    variant = attempt.arm.variant
    request = rewrite_request(attempt, attempt.arm)
    try:
        body = json.dumps(write_body(variant.provider, request), ensure_ascii=False, indent=2)
    except SettingRefused as error:
        return {"sentence": str(error)}
    return {"body": body, "agrees": hash_request(request, variant.account) == attempt.request_hash}


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
