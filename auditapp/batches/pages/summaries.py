"""A batch in numbers, for commands and the API; and what a study was granted, with what is left of it."""

from __future__ import annotations

from collections.abc import Iterable

from auditapp.batches.grants import Left, find_asked_at, find_grants, find_left, needs_no_grant, round_down
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import WORKING_STATES, Batch, ProviderJob
from auditapp.batches.pages.progress import Progress, close_progress, count_percent, read_silence
from auditapp.batches.pure.money import to_dollars
from auditapp.llm.models import Grant
from auditapp.llm.queries import find_prices
from transcripts.audit_trail import trail
from transcripts.studies.models import Project

# What reveals something about calls, single or summed.
OF_CALLS = (
    *("cells", "finished", "states", "outcomes", "begun", "held", "pilot_cells", "pilot_left", "calls", "cached"),
    *("spent", "reserved", "possibly_paid_twice", "possibly_paid_twice_at_most"),
    *("in_flight", "throughput", "eta_seconds", "eta_basis"),
)


def summarise_batch(batch: Batch, progress: Progress, *, is_whole: bool) -> dict[str, object]:
    """State, counts, money in US dollars (``None``: not known), answers per second and seconds left, which nobody can tell while
    a server does not answer. A query for the arms and one or two for the queues, unless they are loaded. Unless
    ``is_whole``, what reveals something about calls is ``None``."""
    arms = list(batch.arms.all())
    percent = count_percent(progress)
    silence = read_silence(batch)
    is_priced = all(arm.price_in is not None for arm in arms)
    if not is_whole:
        progress = close_progress(progress)
    summary: dict[str, object] = {
        "batch": batch.pk,
        "kind": batch.kind,
        "title": batch.title,
        "state": batch.state,
        "state_reason": batch.state_reason,
        "server_silent_since": silence and silence["since"].isoformat(),
        "next_try_at": silence and silence["next_try"] and silence["next_try"].isoformat(),
        "control": batch.control,
        "route": batch.route,
        "percent": percent,
        "closed": not is_whole,
        "cells": progress.cells,
        "finished": progress.finished,
        "states": progress.by_state,
        "outcomes": progress.outcomes,
        "begun": progress.begun,
        "held": progress.held,
        "pilot_cells": progress.pilot_cells,
        "pilot_left": progress.pilot_left,
        "calls": progress.calls,
        "in_flight": sum(queue.in_flight for queue in batch.queues.all())
        if batch.state in WORKING_STATES or silence
        else 0,
        "cached": progress.cached,
        "concurrency": batch.concurrency,
        "lost_answers": batch.lost_answers,
        "uses_cache": batch.uses_cache,
        "spent": _in_dollars(batch.spent_nano) if is_priced else None,
        "reserved": _in_dollars(batch.reserved_nano) if is_priced else None,
        "cap": _in_dollars(batch.cap_nano),
        "possibly_paid_twice": progress.unknown_calls,
        "possibly_paid_twice_at_most": _in_dollars(progress.unknown_nano)
        if is_priced or not progress.unknown_calls
        else None,
        "throughput": round(progress.throughput, 2),
        "eta_seconds": None if silence or progress.eta_seconds is None else round(progress.eta_seconds, 1),
        "eta_basis": "a server does not answer" if silence else progress.eta_basis,
    }
    return summary if is_whole else summary | dict.fromkeys(OF_CALLS)


def list_gone_jobs(batch: Batch) -> list[dict[str, object]]:
    """The jobs of a batch that its provider does not know any more, since when, and whether a person may have them ended or
    already wants that. One query where calls go over a provider's batch service."""
    if batch.route != Batch.Route.JOBS:
        return []
    gone = ProviderJob.objects.filter(queue__batch=batch, gone_since__isnull=False, state=ProviderJob.State.SUBMITTED)
    return [
        {
            "job": job.pk,
            "gone_since": job.gone_since and job.gone_since.isoformat(),
            "may_be_ended": job.may_be_ended,
            "is_being_ended": job.ended_at is not None,
        }
        for job in gone.order_by("pk")
    ]


def _in_dollars(nano: int | None) -> float | None:
    amount = to_dollars(nano)
    return None if amount is None else float(amount)


def describe_grants(grants: Iterable[Grant], by: trail.Actor) -> list[dict[str, object]]:
    """Each grant with what is left of it for ``by``; ``None`` where it has no limits or was revoked."""
    return [{"grant": grant, "left": _find_shown(grant, by)} for grant in grants]


def describe_money(plan: LaunchPlan, project: Project, by: trail.Actor) -> list[dict[str, object]]:
    """The grants that a launch would commit its cap to, in the same form; none for a person who needs no grant."""
    if needs_no_grant(by):
        return []
    variants = {arm.variant.pk: arm.variant for arm in plan.arms}.values()
    paid = [each for each in find_asked_at(variants, find_prices(variants)) if each.is_paid]
    grants = find_grants(project, paid)
    return describe_grants((grants[each.account.pk] for each in paid if each.account.pk in grants), by)


def _find_shown(grant: Grant, by: trail.Actor) -> Left | None:
    if grant.is_revoked or not grant.has_limits:
        return None
    return Left(*(round_down(nano) for nano in find_left(grant, by)))
