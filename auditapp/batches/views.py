"""Pages of batches: what runs, what it costs, and every paid call behind it."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST, require_safe

from auditapp.batches import actions
from auditapp.batches.models import Attempt, Batch
from auditapp.batches.money import to_dollars
from auditapp.batches.queries import Progress, read_last_worker_sign, read_progress
from auditapp.batches.waiting import WORKER_SILENT_AFTER
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

CONTROLS = {"pause": actions.pause_batch, "resume": actions.resume_batch, "cancel": actions.cancel_batch}
PER_PAGE = 50


class Share(NamedTuple):
    """An outcome with its count, its share of the finished cells in per cent, and where it starts on their bar."""

    name: str
    cells: int
    percent: float
    start: int


@require_safe
@project_view(Permission.VIEW)
def list_batches(request: ProjectRequest) -> HttpResponse:
    """Every batch of the study, newest first."""
    batches = Batch.objects.filter(project=request.project).select_related("launched_by")
    page = Paginator(batches, PER_PAGE).get_page(request.GET.get("page"))
    rows = [(batch, read_progress(batch)) for batch in page]
    return render(request, "batches/list.html", {"page": page, "rows": rows, "worker": describe_worker()})


@require_safe
@project_view(Permission.VIEW)
def show_batch(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """One batch; htmx asks again every two seconds while it runs."""
    batch = get_object_or_404(request.project.batches.prefetch_related("arms__variant"), pk=batch_id)
    progress = read_progress(batch)
    context = {
        "batch": batch,
        "progress": progress,
        "shares": list_shares(progress),
        "percent": round(100 * progress.finished / progress.cells, 1) if progress.cells else 0,
        "cap": to_dollars(batch.cap_nano),
        "spent": to_dollars(batch.spent_nano),
        "reserved": to_dollars(batch.reserved_nano),
        "unknown_cost": to_dollars(progress.unknown_nano),
        "priced": all(arm.price_in is not None for arm in batch.arms.all()),
        "has_fake": any(arm.variant.is_fake for arm in batch.arms.all()),
        "is_open": batch.state in {Batch.State.RUNNING, Batch.State.PAUSED},
        "worker": describe_worker(),
    }
    if request.htmx:  # type: ignore[attr-defined]
        # The fragment of an ended batch carries no trigger, which ends the asking.
        return render(request, "batches/detail.html#progress", context)
    return render(request, "batches/detail.html", context)


def list_shares(progress: Progress) -> list[Share]:
    """Outcomes by falling count."""
    shares: list[Share] = []
    start = 0
    for name, count in sorted(progress.outcomes.items(), key=lambda item: (-item[1], item[0])):
        shares.append(
            Share(name, count, round(100 * count / progress.finished, 1) if progress.finished else 0.0, start)
        )
        start += count
    return shares


class WorkerState(NamedTuple):
    """Whether a worker is alive, and when one was last heard from (``None``: never)."""

    alive: bool
    seen_at: object


def describe_worker() -> WorkerState:
    """What the pages say of the workers."""
    seen = read_last_worker_sign()
    return WorkerState(seen is not None and timezone.now() - seen < WORKER_SILENT_AFTER, seen)


@require_POST
@project_view(Permission.RUN_BATCHES)
def control_batch(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Pause, resume or cancel."""
    batch = get_object_or_404(request.project.batches, pk=batch_id)
    act = CONTROLS.get(request.POST.get("act", ""))
    if act is None:
        raise Http404("No such control.")
    try:
        act(batch=batch, by=request.user)
    except actions.BatchError as error:
        messages.error(request, str(error))
    return redirect(reverse("batches:detail", args=[request.project.slug, batch.pk]))


@require_GET
@project_view(Permission.VIEW)
def list_attempts(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The paid tries of a batch, newest first, by how they ended."""
    batch = get_object_or_404(request.project.batches, pk=batch_id)
    attempts = (
        Attempt.objects.filter(cell__batch=batch).select_related("cell__arm__variant").defer("raw").order_by("-pk")
    )
    end = request.GET.get("end", "")
    if end in Attempt.End.values:
        attempts = attempts.filter(end=end)
    page = Paginator(attempts, PER_PAGE).get_page(request.GET.get("page"))
    context = {"batch": batch, "page": page, "end": end, "ends": Attempt.End.choices}
    return render(request, "batches/attempts.html", context)


@require_GET
@project_view(Permission.SEE_ALL_CODINGS)  # a raw answer holds a machine's codes, which coders meet after their own
def show_attempt(request: ProjectRequest, batch_id: int, attempt_id: int) -> HttpResponse:
    """One paid try with the answer as it came. The answer may quote a hateful text, so it opens on demand."""
    attempts = Attempt.objects.select_related("cell__arm__variant", "cell__batch", "cell__result")
    attempt = get_object_or_404(attempts, pk=attempt_id, cell__batch_id=batch_id, cell__batch__project=request.project)
    siblings = Attempt.objects.filter(cell=attempt.cell).defer("raw").order_by("pk")
    context = {
        "batch": attempt.cell.batch,
        "attempt": attempt,
        "siblings": siblings,
        "cost": to_dollars(attempt.cost_nano),
    }
    return render(request, "batches/attempt.html", context)
