"""Launch in two steps, the same for every feature: the form, then a review of what it would send and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from auditapp.batches.forms import LaunchOptionsForm
from auditapp.batches.kinds import Visibility, get_kind
from auditapp.batches.launching import LaunchPlan, check_grants
from auditapp.batches.models import Batch
from auditapp.batches.pages.costs import review_launch
from auditapp.batches.pages.progress import describe_money
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import UnblindingForm, offer_unblinding
from transcripts.coding.models import NOT_CODING
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission

REVIEW, CHANGE, LAUNCH = "review", "change", "launch"


def run_wizard(
    request: StudyRequest,
    form: LaunchOptionsForm,
    *,
    template: str,
    plan: Callable[[], LaunchPlan],
    launch: Callable[[], Batch],
) -> HttpResponse:
    """The form, then its review, then the batch. ``plan`` and ``launch`` read the valid form and may raise ``Refused``.

    Nothing is written before the last step; each step passes on everything that was typed. A changed form counts as another
    launch: it is shown again with a new idempotency key.
    """
    if request.method != "POST":
        return render(request, template, {"form": form})
    step = request.POST.get("step", REVIEW)
    if form.is_valid() and step != CHANGE:
        try:
            if step == LAUNCH:
                return redirect("batches:detail", request.study.slug, launch().pk)
            planned = plan()
            check_grants(planned, study=request.study, options=form.options(), by=request.user)
            review = review_launch(planned, form.options())
        except Refused as error:
            form.add_error(None, ValidationError(str(error)))
        else:
            options = form.options()
            context = {
                "form": form,
                "review": review,
                "money": describe_money(planned, request.study, request.user),
                "options": options,
                "route_words": Batch.Route(options.route).label,
                "lost_words": Batch.LostAnswers(options.lost_answers).label,
                "has_fake": review["has_fake"],
            }
            return render(request, "batches/review.html", context)
    status = 422 if form.errors else 200
    form.renew()
    return render(request, template, {"form": form}, status=status)


P = ParamSpec("P")


class BatchRequest(StudyRequest):
    """A request about a batch of a study that the person may see. ``visibility``: what she may see of its calls."""

    batch: Batch
    visibility: Visibility


def batch_view(
    permission: Permission, *, hides_by_itself: bool = False
) -> Callable[[Callable[Concatenate[BatchRequest, P], HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Load the batch named by the address (``batch_id``) for a member who has ``permission``.

    A person who may not see all of it gets a page that says so, unless the view itself leaves out what is hidden
    (``hides_by_itself``).
    """

    def decorate(view: Callable[Concatenate[BatchRequest, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: BatchRequest, batch_id: int, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            request.batch = get_object_or_404(request.study.batches, pk=batch_id)
            request.batch.study = request.study
            request.visibility = get_kind(request.batch.kind).find_visibility(request.batch, get_viewer(request))
            if not (hides_by_itself or request.visibility.is_whole):
                return show_closed(request)
            return view(request, *args, **kwargs)

        opened = study_view(permission)(wrapped)  # type: ignore[arg-type]
        opened.goes_through_the_gate = True  # type: ignore[attr-defined]
        return opened

    return decorate


def offer_calls(request: BatchRequest, *, input_id: int | None = None, back: str = "") -> UnblindingForm | None:
    """The form that unblinds the interviews of the batch or of one input, if that would show more of it. It leads back to the
    same page, or, after a POST, to ``back``, which is the batch by default."""
    visibility = request.visibility
    interviews: Iterable[int] = visibility.interviews
    if not interviews:
        return None
    # Any call of a run may show the condition of all of them.
    if input_id is not None and not visibility.names_conditions:
        interviews = get_kind(request.batch.kind).list_interviews(request.batch, input_id=input_id)
    where = NOT_CODING if visibility.names_conditions else "calls"
    # A download is a POST, to whose address nobody can be sent back.
    if request.method in ("GET", "HEAD"):
        back = ""
    elif not back:
        back = reverse("batches:detail", args=[request.study.slug, request.batch.pk])
    return offer_unblinding(request, interviews, where=where, back=back)


def show_closed(
    request: BatchRequest,
    *,
    input_id: int | None = None,
    template: str = "batches/closed.html",
    status: int = 200,
    back: str = "",
    **more: object,
) -> HttpResponse:
    """Why the calls of the batch, or those of one input, are hidden, and the form that unblinds them. Every page that hides calls
    is rendered here, so that none tells people to unblind without offering the form."""
    unblinding = offer_calls(request, input_id=input_id, back=back)
    context = {"batch": request.batch, "visibility": request.visibility, "unblinding": unblinding, **more}
    return render(request, template, context, status=status)


def control_view(view: Callable[[BatchRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Only POST requests of people who may run batches reach ``view``; other requests are redirected to the batch."""

    @require_http_methods(["GET", "HEAD", "POST"])
    @batch_view(Permission.RUN_BATCHES, hides_by_itself=True)
    @wraps(view)
    def wrapped(request: BatchRequest) -> HttpResponseBase:
        if request.method == "POST":
            return view(request)
        return redirect("batches:detail", request.study.slug, request.batch.pk)

    return wrapped
