"""Pages of attempts: the list, and one with the request as sent and the answer as received."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from auditapp.batches.forms import AttemptChoice
from auditapp.batches.kinds import read_links
from auditapp.batches.ledger.batch_state import NO_ROOM
from auditapp.batches.models import UNANSWERED, Attempt, Result
from auditapp.batches.pages.attempts import (
    COUNTED_TO,
    find_arms,
    find_attempts,
    find_newest,
    is_counted,
    read_attempt_page,
    rebuild_request,
)
from auditapp.batches.pure.money import to_dollars
from auditapp.batches.views.gate import BatchRequest, batch_view, offer_calls, show_closed
from auditapp.llm.queries import list_noted
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number

SIBLINGS_SHOWN = 50


@require_GET
@batch_view(Permission.VIEW, hides_by_itself=True)
def list_attempts(request: BatchRequest) -> HttpResponse:
    """The attempts of a batch, newest first, that match the selection and may be seen.

    Those without an answer say nothing of what a machine answered, so everybody who sees others' labels may read why they
    failed; coders who do not would learn from their number how much was asked.
    """
    batch, visibility = request.batch, request.visibility
    sees_unanswered = Permission.SEE_ALL_CODINGS in request.role.permissions
    if visibility.is_closed and not sees_unanswered:
        return show_closed(request)
    arms = find_arms(batch)
    form = AttemptChoice(request.GET, arms=arms)
    form.is_valid()
    found = find_attempts(arms, form.cleaned_data)
    if visibility.is_closed or not visibility.is_whole:
        visible = Q(end__in=UNANSWERED) if sees_unanswered else Q()
        if visibility.inputs is not None:
            visible |= Q(cell__input_id__in=visibility.inputs)
        found = found.filter(visible)
    page = read_attempt_page(
        found,
        before=find_number(request.GET.get("before", "")),
        after=find_number(request.GET.get("after", "")),
        counts=is_counted(form.cleaned_data),
        begin=None if any(form.cleaned_data.values()) else find_newest(arms),
    )
    context = {
        "batch": batch,
        "form": form,
        "page": page,
        "counted_to": COUNTED_TO,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "visibility": visibility,
        "unblinding": offer_calls(request),
    }
    return render(request, "batches/attempts.html", context)


@require_GET
@batch_view(
    Permission.SEE_ALL_CODINGS, hides_by_itself=True
)  # a raw answer contains a machine's codes, which coders see only after their own
def show_attempt(request: BatchRequest, attempt_id: int) -> HttpResponse:
    """One attempt. Prompt and answer may quote a hateful text, so both open on demand."""
    attempts = Attempt.objects.select_related(
        "cell__batch__project",
        "arm__variant__account",
        "arm__price",
        "arm__capabilities",
        "job",
        "copied_from__arm__batch",
    )
    attempt = get_object_or_404(attempts, pk=attempt_id, cell__batch=request.batch)
    if not request.visibility.shows(attempt.cell):
        return _show_why_unanswered(request, attempt)
    lean = Attempt.objects.defer("raw", "prompt", "history").order_by("pk")
    context = {
        "batch": attempt.cell.batch,
        "attempt": attempt,
        "links": read_links(attempt.cell),
        "rebuilt": rebuild_request(attempt),
        "siblings": list(lean.filter(cell=attempt.cell_id)[:SIBLINGS_SHOWN]),
        "copies": list(lean.filter(copied_from=attempt, cell__batch__project=request.project)[:SIBLINGS_SHOWN]),
        "cost": to_dollars(attempt.cost_nano),
        "reserved": to_dollars(attempt.reserved_nano),
        "has_fake": attempt.arm.variant.is_fake,
        "noted": list_noted([attempt.arm.variant]),
        "reasoning": Result.objects.filter(attempt=attempt).values_list("reasoning", flat=True).first(),
        "has_no_room": attempt.cell.outcome == NO_ROOM and Result.objects.filter(attempt=attempt).exists(),
    }
    return render(request, "batches/attempt.html", context)


def _show_why_unanswered(request: BatchRequest, attempt: Attempt) -> HttpResponse:
    """Why an attempt brought no answer, for somebody who may not see the calls of its cell: neither request nor tokens. One
    with an answer is hidden, and so is a message that could quote a request with a machine's labels."""
    if not attempt.is_unanswered:
        return show_closed(request, input_id=attempt.cell.input_id)
    lean = Attempt.objects.defer("raw", "prompt", "history").order_by("pk")
    context = {
        "batch": attempt.cell.batch,
        "attempt": attempt,
        "visibility": request.visibility,
        "unblinding": offer_calls(request, input_id=attempt.cell.input_id),
        "siblings": list(lean.filter(cell=attempt.cell_id, end__in=UNANSWERED)[:SIBLINGS_SHOWN]),
    }
    return render(request, "batches/unanswered.html", context)
