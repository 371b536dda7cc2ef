"""The pages of a batch: its attempts, with requests and answers, and the live page, whose parts are sent again only if they
changed since the browser last got them.

Each part is rendered separately. Their hashes together are the page's entity tag: a browser that sends it back gets only the
changed parts, or 304 if nothing changed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from auditapp.batches.kinds import Visibility, get_kind
from auditapp.batches.ledger.batch_state import describe_unreadable_pilot
from auditapp.batches.ledger.leases import FORMER_AFTER, SILENT_AFTER, read_workers
from auditapp.batches.ledger.prompts import hash_request, rewrite_request
from auditapp.batches.models import WORKING_STATES, Arm, Attempt, Batch, Cell, LimitChange, ProviderJob, WorkerSign
from auditapp.batches.pages.progress import (
    Progress,
    close_progress,
    count_percent,
    is_sum_shown,
    read_silence,
    watch_progress,
)
from auditapp.batches.pure.estimates import NANO, to_dollars
from auditapp.batches.pure.limiter import lay_out_limits
from auditapp.llm.providers import write_body
from auditapp.llm.providers.base import SettingRefused
from auditapp.llm.queries import list_noted
from auditapp.outbound.clock import read_now

PER_PAGE = 50
COUNTED_TO = 10_000
LOST_AT_ONCE = 2_000
READ_AT_ONCE = 1_000
# What is in a line, by the column that it is read from. That of the arm is read as several fields.
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
    """Whether the selection is covered by an index."""
    return not chosen.get("problem") and not chosen.get("status")


def read_attempt_page(
    found: QuerySet[Attempt],
    *,
    before: int | None,
    after: int | None,
    counts: bool = True,
    begin: int | None = None,
) -> dict[str, object]:
    """The page of attempts below the key ``before`` or above ``after``; the newest ones if neither is given.

    ``begin`` is the key of the newest attempt, if known: then the database follows the keys downwards instead of sorting all
    rows. ``older`` and ``newer`` are the keys of the neighbouring pages. ``counted`` stops at ``COUNTED_TO``; it is ``None`` if
    counting would read every row.
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
    """What went wrong most often in the attempts of these arms; an empty class if nothing did."""
    failed = Attempt.objects.filter(arm__in=[arm.pk for arm in arms]).exclude(error_class="")
    rows = failed.values("error_class", "http_status").annotate(tries=Count("*"))
    row = rows.order_by("-tries", "error_class", "http_status").first()
    return {"error_class": "", "http_status": None} if row is None else {**row}


def find_arms(batch: Batch) -> list[Arm]:
    """The arms of a batch with their models, accounts and prices. One query."""
    return list(batch.arms.select_related("variant__account", "price"))


def rebuild_request(attempt: Attempt) -> dict[str, object]:
    """The body of an attempt's request, rebuilt from the ledger, and whether its hash is the one recorded before it was sent.

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

    Numbers are assigned while the batch is locked, so no answer with a lower number can appear later. Each part is a separate
    query by key: memory does not grow, no query stays open while a reader is slow, and answers stored in the meantime are
    included.
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
        row[name] = at.isoformat() if isinstance(at, datetime.datetime) else None
    return row | arms[arm]  # type: ignore[index]


PARTS = (
    "state",
    "no_worker",
    "alarms",
    "progress",
    "outcomes",
    "by_arm",
    "money",
    "limits",
    "limit_rows",
    "workers",
    "jobs",
)
# The parts for those who may not see the calls: nothing about a single call, an arm or a speed.
CLOSED_PARTS = {"state": "state", "no_worker": "no_worker", "progress": "progress_closed", "money": "money_closed"}
CLOSED_PARTS |= {"workers": "workers"}
CONTROLS = "controls"
CHANGES_DRAWN = 2000
CHANGES_LISTED = 40
POLL_SECONDS = 2


def describe_batch(
    batch: Batch, arms: Sequence[Arm], *, visibility: Visibility, afresh: bool = False
) -> dict[str, object]:
    """What the parts of the page show, in the same number of queries whatever the size of the batch. ``afresh`` counts again, for
    a person who has just changed something. The result contains nothing that ``visibility`` hides."""
    described = _describe_whole(batch, arms, afresh=afresh) | {"is_open": visibility.is_whole, "visibility": visibility}
    return described if visibility.is_whole else _close(described, batch, arms)


def _close(described: dict[str, object], batch: Batch, arms: Sequence[Arm]) -> dict[str, object]:
    progress: Progress = described["progress"]  # type: ignore[assignment]
    closed = close_progress(progress)
    return described | {
        "progress": closed,
        "percent": count_percent(progress),
        "took": None,
        "shares": [],
        "by_arm": [],
        "alarms": [],
        "money": read_money(batch, closed, arms),
        "is_sum_shown": is_sum_shown(batch, progress),
        "failure": find_commonest_failure(arms) if described["failed"] else None,
        "limits": [],
        "jobs": [],
        "closed_parts": [name for name in PARTS if name not in CLOSED_PARTS],
    }


def _describe_whole(batch: Batch, arms: Sequence[Arm], *, afresh: bool) -> dict[str, object]:
    progress = watch_progress(batch, afresh=afresh)
    workers, now = read_workers(), read_now()
    if batch.state == Batch.State.CANCELLED and not progress.by_state.get("leased"):
        # Read again: the cost of the last call may have been stored after the batch was read.
        batch.refresh_from_db(fields=["spent_nano", "reserved_nano"])
    shares = list_shares(progress)
    limits = read_limits(batch, arms, progress.last_answer_at) if batch.route == Batch.Route.LIVE else []
    worker = sum_up_workers(workers)
    return {
        "batch": batch,
        "arms": arms,
        "progress": progress,
        "percent": round(100 * progress.ended / progress.cells, 1) if progress.cells else 0,
        "took": (batch.finished_at - batch.created_at).total_seconds() if batch.finished_at else None,
        "shares": shares,
        "by_arm": _list_by_arm(progress, arms, shares),
        "money": read_money(batch, progress, arms),
        "limits": limits,
        "jobs": read_jobs(batch),
        "workers": [each for each in workers if each.alive or now - each.seen_at < FORMER_AFTER],
        "worker": worker,
        "waits_for_worker": _needs_worker(batch) and not worker["alive"] and not _is_any_queue_alive(limits, now),
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "alarms": get_kind(batch.kind).find_alarms(
            [(arm, progress.by_arm[arm.pk].outcomes) for arm in arms if arm.pk in progress.by_arm]
        ),
        "now": now,
        "poll_seconds": POLL_SECONDS,
        **_read_state(batch, progress, arms),
    }


def _read_state(batch: Batch, progress: Progress, arms: Sequence[Arm]) -> dict[str, object]:
    """The state of the batch, and which actions the page offers."""
    failed, leased = progress.by_state.get("failed", 0), progress.by_state.get("leased", 0)
    is_moving = batch.state in WORKING_STATES
    offers_held = progress.held > 0 and batch.is_open and not is_moving
    is_without_answer = batch.state == Batch.State.WAITING and not progress.by_state.get("done")
    return {
        "is_moving": is_moving,
        "silence": read_silence(batch),
        # A cancelled batch may still have calls in flight.
        "is_watched": batch.is_open or leased > 0,
        "offers_cut_off": batch.control == Batch.Control.CANCEL and not batch.is_open and leased > 0,
        "failed": failed,
        "offers_retry": failed > 0
        and not is_moving
        and batch.state not in {Batch.State.CANCELLED, Batch.State.WAITING},
        "offers_held": offers_held,
        "needs_decision": offers_held and progress.finished + progress.held == progress.cells,
        "unanswered": find_commonest_failure(arms) if is_without_answer else None,
        "is_unreadable": batch.state == Batch.State.WAITING and bool(describe_unreadable_pilot(batch)),
    }


def list_control_facts(context: Mapping[str, object]) -> list[object]:
    """What the controls depend on; they are replaced only when this changes."""
    batch: Batch = context["batch"]  # type: ignore[assignment]
    failed = context["failed"] if context["offers_retry"] else 0
    progress: Progress = context["progress"]  # type: ignore[assignment]
    held = progress.held if context["offers_held"] else 0
    offers = [held, context["needs_decision"], context["offers_cut_off"]]
    return [batch.state, batch.control, batch.concurrency, batch.cap_nano, failed, *offers]


def sum_up_workers(workers: Sequence[WorkerSign]) -> dict[str, object]:
    """Whether a worker is alive, when a worker last gave a sign of life (``None``: never), and what prevents living workers from
    working.

    ``workers`` are sorted by their last sign of life.
    """
    living = [each for each in workers if each.alive]
    problem = living[0].problem if living and all(each.problem for each in living) else ""
    return {"alive": bool(living), "seen_at": workers[0].seen_at if workers else None, "problem": problem}


def _needs_worker(batch: Batch) -> bool:
    return (batch.state in WORKING_STATES or batch.awaits_server) and batch.route != Batch.Route.FILE


def _is_any_queue_alive(limits: Iterable[Mapping[str, Any]], now: datetime.datetime) -> bool:
    """Whether a command that waits for its batch makes the calls itself, without a worker."""
    beats = [each["queue"].heartbeat_at for each in limits]
    return any(at is not None and now - at < SILENT_AFTER for at in beats)


def find_fake_batches(batches: Sequence[Batch]) -> set[int]:
    """The batches with answers that this program invents. One query."""
    fake = Arm.objects.filter(batch__in=[batch.pk for batch in batches], variant__account__provider="fake")
    return set(fake.values_list("batch_id", flat=True))


def find_unpriced_batches(batches: Sequence[Batch]) -> set[int]:
    """The batches with a model without a price, so that their cost is not known. One query."""
    unpriced = Arm.objects.filter(batch__in=[batch.pk for batch in batches], price_in__isnull=True)
    return set(unpriced.values_list("batch_id", flat=True))


def _list_by_arm(
    progress: Progress, arms: Sequence[Arm], shares: Sequence[Mapping[str, Any]]
) -> list[dict[str, object]]:
    """The outcomes of each arm, in the order of the outcomes of the whole batch."""
    rows: list[dict[str, object]] = []
    for arm in arms:
        part = progress.by_arm.get(arm.pk)
        if part is not None:
            counts = [part.outcomes.get(share["name"], 0) for share in shares]
            rows.append({"arm": arm, "counts": counts, "ended": part.ended, "cells": part.cells})
    return rows


def list_shares(progress: Progress) -> list[dict[str, Any]]:
    """The outcomes with their counts, shares and places on the bar. Sorted by name, so that none moves while a person watches."""
    shares: list[dict[str, Any]] = []
    start = 0
    for name, count in sorted(progress.outcomes.items()):
        percent = round(100 * count / progress.ended, 1) if progress.ended else 0.0
        shares.append({"name": name, "cells": count, "percent": percent, "start": start})
        start += count
    return shares


def read_limits(batch: Batch, arms: Iterable[Arm], until: datetime.datetime | None) -> list[dict[str, Any]]:
    """The queues with the newest changes of their limits, in two queries; charts extend to ``until``."""
    queues = list(batch.queues.order_by("name"))
    newest = LimitChange.objects.filter(queue__in=queues).order_by("-pk")[:CHANGES_DRAWN]
    by_queue: dict[int, list[LimitChange]] = {}
    for change in newest:
        by_queue.setdefault(change.queue_id, []).append(change)
    names = {arm.variant.queue_name: f"{arm.variant.model} at {arm.variant.account.name}" for arm in arms}
    found: list[dict[str, Any]] = []
    for queue in queues:
        changes = by_queue.get(queue.pk, [])
        steps = [(each.at, each.limit, each.cause) for each in reversed(changes)]
        found.append(
            {
                "queue": queue,
                "name": names.get(queue.name, queue.name),
                "chart": lay_out_limits(steps, until=until),
                "rows": changes[:CHANGES_LISTED],
                "more": max(0, len(changes) - CHANGES_LISTED),
            }
        )
    return found


def read_jobs(batch: Batch) -> list[ProviderJob]:
    """The provider's jobs of a batch that uses them, newest first."""
    if batch.route != Batch.Route.JOBS:
        return []
    return list(ProviderJob.objects.filter(queue__batch=batch).order_by("-pk")[:50])


def read_money(batch: Batch, progress: Progress, arms: Iterable[Arm]) -> dict[str, object]:
    """Spent, reserved and cap in US dollars, with shares of the cap for a bar."""
    cap, used = batch.cap_nano, batch.spent_nano + batch.reserved_nano
    whole = max(cap if cap is not None else used, used, 1)
    return {
        "spent": to_dollars(batch.spent_nano),
        "reserved": to_dollars(batch.reserved_nano),
        "cap": to_dollars(cap),
        "unknown_cost": to_dollars(progress.unknown_nano),
        "is_priced": all(arm.price_in is not None for arm in arms),
        "spent_share": 1000 * batch.spent_nano // whole,
        "reserved_share": 1000 * batch.reserved_nano // whole,
    }


def render_parts(request: HttpRequest, context: Mapping[str, object]) -> dict[str, SafeString]:
    """The parts of the page that a browser polls, by name."""
    named = {name: name for name in PARTS} if context["is_open"] else CLOSED_PARTS
    return {
        name: render_to_string(f"batches/_{named[name]}.html", dict(context), request)
        if name in named
        else SafeString("")
        for name in PARTS
    }


def hash_parts(parts: Mapping[str, str], *, controls: Iterable[object]) -> dict[str, str]:
    """A short hash of each part. For the controls, it is the hash of what they depend on, because a rendered form is different
    each time."""
    hashes = {name: _shorten(text) for name, text in parts.items()}
    return hashes | {CONTROLS: _shorten("|".join(str(each) for each in controls))}


def _shorten(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_tag(hashes: Mapping[str, str]) -> str:
    """The hashes as one entity tag."""
    return '"' + "-".join(hashes[name] for name in (*PARTS, CONTROLS)) + '"'


def find_changed(hashes: Mapping[str, str], tag: str) -> list[str]:
    """The parts that differ from those of ``tag``; for an unknown tag, all but the controls."""
    known = tag.removeprefix("W/").strip('"').split("-")
    if len(known) != len(PARTS) + 1:
        return list(PARTS)
    return [name for name, old in zip((*PARTS, CONTROLS), known, strict=True) if hashes[name] != old]
