"""Pages about the probe itself: what it is, its purpose, the reviews and their funnel, and its launch."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import OPEN_STATES
from auditapp.batches.views.wizard import run_wizard
from auditapp.benchmarks.gender_cues.actions.launching import launch_probe, plan_probe
from auditapp.benchmarks.gender_cues.actions.purposes import allow_probe, withdraw_purpose
from auditapp.benchmarks.gender_cues.actions.reviews import load_reviews
from auditapp.benchmarks.gender_cues.forms.launching import LaunchForm
from auditapp.benchmarks.gender_cues.forms.purposes import PurposeForm, WithdrawForm
from auditapp.benchmarks.gender_cues.forms.reviews import MAX_UPLOAD_BYTES, LoadForm
from auditapp.benchmarks.gender_cues.models import ReviewSet
from auditapp.benchmarks.gender_cues.pure.limits import MIN_TEXTS, SCORED
from auditapp.benchmarks.gender_cues.queries.purposes import describe_withdrawal, find_latest
from auditapp.benchmarks.gender_cues.queries.trials import KIND
from auditapp.benchmarks.gender_cues.views.gate import ProbeRequest, probe_view, render_explanation
from transcripts.history.forms import at_next
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form
from transcripts.ui.forms import list_clashes, takes_uploads


@require_safe
@project_view(Permission.VIEW)
def show_home(request: ProjectRequest) -> HttpResponse:
    """What the probe is, its purpose, and where it is or was allowed its reviews and batches."""
    if find_latest(request.project) is None:
        return render_explanation(request)
    sets = ReviewSet.objects.filter(project=request.project).annotate(n_reviews=Count("reviews")).order_by("-pk")
    return render_explanation(
        request,
        was_allowed=True,
        sets=sets,
        batches=request.project.batches.filter(kind=KIND).order_by("-pk"),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.MANAGE_MEMBERS)
def allow(request: ProjectRequest) -> HttpResponse:
    """Write what the study runs the probe for, which turns it on."""
    before = find_latest(request.project)
    initial = {"text": before.text, "based_on": before.number} if before else None
    form = PurposeForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with at_next(form, "text"):
            allow_probe(project=request.project, by=request.user, **form.cleaned_data)
            messages.success(request, "The purpose is stored. The probe is on in this study.")
            return redirect("gender_cues:home", request.project.slug)
    clashes = list_clashes(form, {"text": form.latest.text}) if form.latest else []
    context = {"form": form, "before": form.latest or before, "clashes": clashes}
    return render(request, "gender_cues/purpose.html", context, status=form.status)


@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.MANAGE_MEMBERS)
def withdraw(request: ProbeRequest) -> HttpResponse:
    """Withdraw the purpose, which turns the probe off."""
    typed = request.POST if request.method == "POST" else None
    form = WithdrawForm(typed, initial={"number": request.purpose.number})
    if form.is_valid():
        with at_form(form, "reason"):
            withdraw_purpose(project=request.project, by=request.user, **form.cleaned_data)
            messages.success(request, "The purpose is withdrawn. The probe is off in this study.")
            return redirect("gender_cues:home", request.project.slug)
    context = {
        "form": form,
        "purpose": request.purpose,
        "running": request.project.batches.filter(kind=KIND, state__in=OPEN_STATES).count(),
    }
    return render(request, "gender_cues/withdraw.html", context, status=422 if form.errors else 200)


@takes_uploads(MAX_UPLOAD_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.IMPORT)
def load(request: ProbeRequest) -> HttpResponse:
    """Load reviews by declared rules."""
    form = LoadForm(request.POST, request.FILES) if request.method == "POST" else LoadForm()
    if form.is_valid():
        with at_form(form):
            stored = load_reviews(project=request.project, by=request.user, **form.cleaned_data)
            messages.success(request, f"“{stored.name}” is loaded. The funnel shows what the rules kept.")
            return redirect("gender_cues:reviews", request.project.slug, stored.pk)
    return render(request, "gender_cues/load.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@probe_view(Permission.VIEW, reads_figures=True)
def show_reviews(request: ProbeRequest, set_id: int) -> HttpResponse:
    """The funnel of one set of reviews. No review is shown."""
    reviews = get_object_or_404(ReviewSet, pk=set_id, project=request.project)
    last = reviews.funnel[-1]
    context = {
        "reviews": reviews,
        "too_few": [category for category in SCORED if last[category] < MIN_TEXTS],
        "min_texts": MIN_TEXTS,
        "withdrawal": describe_withdrawal(request.purpose),
    }
    return render(request, "gender_cues/reviews.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.RUN_BATCHES)
def launch(request: ProbeRequest) -> HttpResponse:
    """Launch a probe, in two steps."""
    initial = {"reviews": request.GET["reviews"]} if "reviews" in request.GET else {}
    form = LaunchForm(request.POST or None, project=request.project, initial=initial)

    def plan() -> LaunchPlan:
        return plan_probe(**form.read())

    return run_wizard(
        request,
        form,
        template="gender_cues/launch.html",
        plan=plan,
        launch=lambda: launch_probe(
            **form.read(),
            options=form.options(),
            confirms_source=form.cleaned_data["confirms_source"],
            by=request.user,
        ),
    )
