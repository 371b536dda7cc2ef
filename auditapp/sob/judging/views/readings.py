"""How the answers of a batch were read, layer by layer; and the queue of those that only a person can read.

People who read an answer see neither the model that gave it nor what a formatter made of it.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import Batch
from auditapp.batches.views.wizard import run_wizard
from auditapp.sob.judging import queries as readings_queries
from auditapp.sob.judging.actions.readings import launch_formatter, plan_formatter, read_by_person
from auditapp.sob.judging.formatter import READABLE_OUTCOMES, list_for_formatter
from auditapp.sob.judging.forms.readings import FormatterForm, ReadingForm
from auditapp.sob.judging.layers import find_current_readings
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.pure.parsing import Outcome
from auditapp.sob.queries.arms import KIND, find_schema
from auditapp.sob.queries.readers import count_readers, find_cell_range
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.acts import at_form
from transcripts.ui.typed_text import find_number


@require_safe
@project_view(Permission.VIEW)
def show_readings(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The share of each layer and outcome per model, and what is left for a formatter and for people."""
    batch = _find_batch(request, batch_id)
    arms = list(batch.arms.select_related("variant__account"))
    context = {
        "batch": batch,
        "table": readings_queries.count_layers(batch),
        "runs": readings_queries.list_formatter_runs(batch),
        **{str(outcome): len(list_for_formatter(batch, [outcome])) for outcome in READABLE_OUTCOMES},
        "waiting": len(readings_queries.list_queue(batch, request.user.pk)),
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "readers": count_readers([arm.pk for arm in arms], find_cell_range(batch)),
    }
    return render(request, "sob/readings.html", context)


def _read_choice(chosen: dict[str, Any]) -> dict[str, Any]:
    return {"outcomes": chosen["outcomes"], "without_schema": chosen["without_schema"]}


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def launch(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Have a formatter read what the rules could not, in two steps."""
    batch = _find_batch(request, batch_id)
    form = FormatterForm(request.POST or None, source=batch)

    def plan() -> LaunchPlan:
        chosen = form.cleaned_data
        return plan_formatter(batch=batch, variant=chosen["model"], **_read_choice(chosen))

    def send() -> Batch:
        chosen = form.cleaned_data
        return launch_formatter(
            batch=batch, variant=chosen["model"], **_read_choice(chosen), by=request.user, options=form.options()
        )

    return run_wizard(request, form, template="sob/formatter_launch.html", plan=plan, launch=send)


@require_safe
@project_view(Permission.CODE)
def read_next(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Redirect to the next answer that needs a person; ``after`` skips one."""
    batch = _find_batch(request, batch_id)
    after = request.GET.get("after", "")
    queue = readings_queries.list_queue(batch, request.user.pk)
    following = readings_queries.choose_next(queue, request.user.pk, find_number(after))
    if following is None:
        messages.info(request, "No answers of this batch need a person.")
        return redirect("sob:readings", request.project.slug, batch.pk)
    return redirect("sob:read_answer", request.project.slug, batch.pk, following)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.CODE)
def read_answer(request: ProjectRequest, batch_id: int, cell_id: int) -> HttpResponse:
    """Read one answer as a person."""
    batch = _find_batch(request, batch_id)
    judgment = _find_judgment(batch, cell_id)
    current = find_current_readings([judgment.pk]).get(judgment.pk)
    number = current.number + 1 if current else 1
    form = ReadingForm(
        request.POST if request.method == "POST" else None,
        task=judgment.arm.task,
        schema=find_schema(judgment.arm),
        initial={"number": number},
    )
    may_read = _may_read(request, judgment, current)
    if form.is_valid():
        with at_form(form):
            if not may_read:
                raise Refused("Somebody has read this answer since you opened the page. A lead can read it again.")
            read_by_person(judgment=judgment, by=request.user, **form.read())
            messages.success(request, "Your reading is stored.")
            here = reverse("sob:read_next", args=[request.project.slug, batch.pk])
            return redirect(f"{here}?after={judgment.pk}")
    context = {"batch": batch, "judgment": judgment, "form": form, "may_read": may_read}
    return render(request, "sob/reading.html", context, status=422 if form.errors else 200)


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_history(request: ProjectRequest, batch_id: int, cell_id: int) -> HttpResponse:
    """Every reading of one answer, the rules' first, the current one last."""
    batch = _find_batch(request, batch_id)
    judgment = _find_judgment(batch, cell_id)
    later = readings_queries.list_history(judgment)
    return render(request, "sob/reading_history.html", {"batch": batch, "judgment": judgment, "later": later})


def _may_read(request: ProjectRequest, judgment: Judgment, current: Reading | None) -> bool:
    """Whether this user may read the answer: it needs a person, the user has read it before, or the user is a lead."""
    if Permission.SEE_ALL_CODINGS in request.role.permissions:
        return True
    if current is not None and current.layer == Reading.Layer.PERSON:
        return current.read_by_id == request.user.pk
    return (current or judgment).outcome == Outcome.OFF_FORMAT


def _find_batch(request: ProjectRequest, batch_id: int) -> Batch:
    return get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)


def _find_judgment(batch: Batch, cell_id: int) -> Judgment:
    found = Judgment.objects.select_related("arm__batch", "arm__variant", "text", "cell__result__attempt")
    return get_object_or_404(found, pk=cell_id, arm__batch=batch, cell__result__isnull=False)
