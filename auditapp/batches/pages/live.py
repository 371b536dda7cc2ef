"""The live page of a batch in parts, and which of them changed since a browser last saw them.

Each part is rendered separately. Their hashes together are the page's entity tag: a browser that sends it back gets only the
changed parts, or 304 where nothing changed.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from auditapp.batches.kinds import Visibility, list_alarms
from auditapp.batches.ledger.batch_state import describe_unreadable_pilot
from auditapp.batches.ledger.worker_signs import FORMER_AFTER, SILENT_AFTER, read_workers
from auditapp.batches.models import WORKING_STATES, Arm, Batch, LimitChange, ProviderJob, WorkerSign
from auditapp.batches.pages.attempts import find_commonest_failure
from auditapp.batches.pages.progress import (
    Progress,
    close_progress,
    count_percent,
    is_sum_shown,
    read_silence,
    watch_progress,
)
from auditapp.batches.pure.estimating import to_dollars
from auditapp.batches.pure.limiter import lay_out_limits
from auditapp.llm.queries import list_noted
from auditapp.outbound.clock import read_now

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
    """What the parts of the page show, in the same number of queries whatever the size of the batch. ``afresh`` counts again,
    for somebody who has just changed something. It holds nothing of what ``visibility`` hides."""
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
        "alarms": list_alarms(
            batch.kind, [(arm, progress.by_arm[arm.pk].outcomes) for arm in arms if arm.pk in progress.by_arm]
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
    """What the controls depend on: they are replaced only when it changes."""
    batch: Batch = context["batch"]  # type: ignore[assignment]
    failed = context["failed"] if context["offers_retry"] else 0
    progress: Progress = context["progress"]  # type: ignore[assignment]
    held = progress.held if context["offers_held"] else 0
    offers = [held, context["needs_decision"], context["offers_cut_off"]]
    return [batch.state, batch.control, batch.concurrency, batch.cap_nano, failed, *offers]


def sum_up_workers(workers: Sequence[WorkerSign]) -> dict[str, object]:
    """Whether a worker is alive, when one last gave a sign of life (``None``: never), and what keeps the living from working.

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
    """The outcomes of each arm, in the order of the whole batch's."""
    rows: list[dict[str, object]] = []
    for arm in arms:
        part = progress.by_arm.get(arm.pk)
        if part is not None:
            counts = [part.outcomes.get(share["name"], 0) for share in shares]
            rows.append({"arm": arm, "counts": counts, "ended": part.ended, "cells": part.cells})
    return rows


def list_shares(progress: Progress) -> list[dict[str, Any]]:
    """The outcomes with their counts, shares and places on the bar. By name, so that none moves while they are watched."""
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
    """The parts that a browser polls, by name."""
    named = {name: name for name in PARTS} if context["is_open"] else CLOSED_PARTS
    return {
        name: render_to_string(f"batches/_{named[name]}.html", dict(context), request)
        if name in named
        else SafeString("")
        for name in PARTS
    }


def hash_parts(parts: Mapping[str, str], *, controls: Iterable[object]) -> dict[str, str]:
    """A short hash of each part. For the controls, of what they depend on: a rendered form is different each time."""
    hashes = {name: _shorten(text) for name, text in parts.items()}
    return hashes | {CONTROLS: _shorten("|".join(str(each) for each in controls))}


def _shorten(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_tag(hashes: Mapping[str, str]) -> str:
    """The hashes as one entity tag."""
    return '"' + "-".join(hashes[name] for name in (*PARTS, CONTROLS)) + '"'


def find_changed(hashes: Mapping[str, str], tag: str) -> list[str]:
    """The parts that differ from those of ``tag``; all but the controls for an unknown tag."""
    known = tag.removeprefix("W/").strip('"').split("-")
    if len(known) != len(PARTS) + 1:
        return list(PARTS)
    return [name for name, old in zip((*PARTS, CONTROLS), known, strict=True) if hashes[name] != old]
