"""Audits of positives: the samples, one item after the other, and what came of them.

Whoever marks sees the code and the sentence in its turn, never the machine's reason before her own mark. Who may mark may
adjudicate: the marks decide how accurate an annotator is found, and roles that change nothing only read the results.
"""

from __future__ import annotations

from uuid import uuid4

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.preannotation.errors import PreannotationError
from auditapp.preannotation.evaluation.actions.audits import (
    draw_positive_audit,
    mark_positive,
    open_results,
)
from auditapp.preannotation.evaluation.forms.critic import DrawForm, MarkForm, ResultsForm
from auditapp.preannotation.evaluation.pure.auditing import AuditReport, build_report
from auditapp.preannotation.evaluation.queries import audits as audit_queries
from auditapp.preannotation.evaluation.queries.critic import find_verdicts
from auditapp.preannotation.models import AuditedSuggestion, PositiveAudit, PositiveMark
from auditapp.preannotation.suggestions.queries.passages import read_passages
from transcripts.blinding.forms import UnblindingForm
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.codebook.models import Code
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def list_audits(request: ProjectRequest) -> HttpResponse:
    """The audits of a study, and how far one has come with each."""
    return render(
        request, "preannotation/audits.html", {"rows": audit_queries.list_audits(request.project, request.user)}
    )


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.ADJUDICATE)
def draw(request: ProjectRequest) -> HttpResponse:
    """Draw a sample."""
    form = DrawForm(request.POST if request.method == "POST" else None, project=request.project)
    if request.method == "POST" and form.is_valid():
        try:
            audit = draw_positive_audit(by=request.user, **form.cleaned_data)
        except PreannotationError as error:
            form.add_error(None, ValidationError(str(error)))
        else:
            return redirect("preannotation:audit", request.project.slug, audit.pk)
    return render(
        request, "preannotation/draw_audit.html", {"form": form}, status=422 if request.method == "POST" else 200
    )


@require_safe
@never_cache
@project_view(Permission.SEE_ALL_CODINGS)
def show_audit(request: ProjectRequest, audit_id: int) -> HttpResponse:
    """How far an audit has come, and what it shows to whoever may see that."""
    return render_audit(request, find_audit(request, audit_id))


def render_audit(
    request: ProjectRequest,
    audit: PositiveAudit,
    *,
    looking: ResultsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    size = audit.items.count()
    own = audit_queries.count_own([audit], request.user).get(audit.pk, 0)
    opened = audit_queries.find_results_opened(audit)
    may_mark = Permission.ADJUDICATE in request.role.permissions
    interviews = audit_queries.list_interviews(audit)
    closed = get_viewer(request).blinded(interviews)
    sees_results = may_see_results(request, audit)
    marks = audit_queries.list_marks(audit) if sees_results else None
    context = {
        "audit": audit,
        "size": size,
        "own": own,
        "may_mark": may_mark,
        "closed_items": audit.items.filter(suggestion__sentence__turn__interview__in=closed).count(),
        "sees_results": sees_results,
        "looked_at": opened.get(request.user.pk),
        "marks": marks,
        "report": _build_report(audit, marks) if marks else None,
        "names": name_codes(audit),
        "progress": audit_queries.list_progress(audit) if sees_results else [],
        "following": audit_queries.find_next_item(audit, request.user, closed) if may_mark else None,
        "unblinding": offer_sample(request, audit, interviews),
        "looking": looking or ResultsForm(),
    }
    return render(request, "preannotation/audit.html", context, status=status)


def offer_sample(request: ProjectRequest, audit: PositiveAudit, interviews: set[int]) -> UnblindingForm | None:
    """The interviews of the sample that are hidden, for whoever may mark."""
    if Permission.ADJUDICATE not in request.role.permissions:
        return None
    back = reverse("preannotation:audit", args=[request.project.slug, audit.pk])
    return offer_unblinding(request, interviews, where="audit of positives", back=back)


def may_see_results(request: ProjectRequest, audit: PositiveAudit) -> bool:
    """Whoever marks sees them when she has marked everything, or has said that she looks before."""
    if Permission.ADJUDICATE not in request.role.permissions:
        return True
    own = audit_queries.count_own([audit], request.user).get(audit.pk, 0)
    return own >= audit.items.count() or request.user.pk in audit_queries.find_results_opened(audit)


def _build_report(audit: PositiveAudit, marks: audit_queries.Marks) -> AuditReport:
    populations = audit_queries.read_populations(audit)
    return build_report(audit_queries.list_items(audit), marks.standing, marks.first, populations)


def name_codes(audit: PositiveAudit) -> dict[str, str]:
    return dict(Code.objects.filter(version=audit.annotator.version_id).values_list("identifier", "name"))


@require_POST
@project_view(Permission.ADJUDICATE)
def show_results(request: ProjectRequest, audit_id: int) -> HttpResponse:
    """Look at results before one has marked everything: on record, for what one marks later is not blind to them."""
    audit, form = find_audit(request, audit_id), ResultsForm(request.POST)
    if not form.is_valid():
        return render_audit(request, audit, looking=form, status=422)
    open_results(audit=audit, by=request.user)
    return redirect(reverse("preannotation:audit", args=[request.project.slug, audit.pk]) + "#results")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@project_view(Permission.ADJUDICATE)
def mark(request: ProjectRequest, audit_id: int, item_id: int) -> HttpResponse:
    """Mark one item; after that the machine's reason is shown."""
    audit = find_audit(request, audit_id)
    interviews = audit_queries.list_interviews(audit)
    closed = get_viewer(request).blinded(interviews)
    item = _find_item(audit, item_id)
    if item.suggestion.sentence.turn.interview_id in closed:
        status = 409 if request.method == "POST" else 200
        hidden: dict[str, object] = {"audit": audit, "unblinding": offer_sample(request, audit, interviews)}
        return render(request, "preannotation/mark_closed.html", hidden, status=status)
    standing = audit_queries.find_standing_mark(item, request.user)
    initial = {"standing": standing.pk if standing else None, "client_id": uuid4()}
    form = MarkForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid() and _store(request, item, form):
        messages.success(request, "Your mark is stored.")
        return redirect("preannotation:mark", request.project.slug, audit.pk, item.pk)
    context = {
        "audit": audit,
        "item": item,
        "size": audit.items.count(),
        "form": form,
        "standing": standing,
        "item_passage": read_passages([item.suggestion])[item.suggestion_id],
        "critic": find_verdicts([item.suggestion_id]).get(item.suggestion_id) if standing else None,
        "marked": audit_queries.count_own([audit], request.user).get(audit.pk, 0),
        "following": audit_queries.find_next_item(audit, request.user, closed),
    }
    return render(request, "preannotation/mark.html", context, status=422 if request.method == "POST" else 200)


def _store(request: ProjectRequest, item: AuditedSuggestion, form: MarkForm) -> PositiveMark | None:
    typed = form.cleaned_data
    try:
        return mark_positive(
            item=item,
            verdict=typed["verdict"],
            note=typed["note"],
            standing_id=typed["standing"],
            client_id=typed["client_id"],
            by=request.user,
        )
    except PreannotationError as error:
        form.add_error(None, ValidationError(str(error)))
        return None


def find_audit(request: ProjectRequest, audit_id: int) -> PositiveAudit:
    audits = PositiveAudit.objects.select_related(
        "annotator__project", "annotator__variant__account", "annotator__version"
    )
    return get_object_or_404(audits, pk=audit_id, annotator__project=request.project)


def _find_item(audit: PositiveAudit, item_id: int) -> AuditedSuggestion:
    found = AuditedSuggestion.objects.select_related(
        "audit__annotator__project", "suggestion__code__family", "suggestion__sentence__turn__interview"
    )
    return get_object_or_404(found, pk=item_id, audit=audit)
