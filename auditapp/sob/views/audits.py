"""Human audit of readings: the sample, the marks one by one, and the results.

A reviewer marks without knowing the model, the machine's reading or her colleagues'. The machine's is shown once hers is
stored, her colleagues' once she has marked the whole sample.
"""

from __future__ import annotations

from uuid import uuid4

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.models import Batch
from auditapp.sob import audit_queries
from auditapp.sob.actions import audits as actions
from auditapp.sob.actions.audits import draw_audit, mark_item
from auditapp.sob.actions.errors import SobError
from auditapp.sob.audit_reports import read_audit_report
from auditapp.sob.forms.audits import AuditForm, MarkForm
from auditapp.sob.kind import KIND
from auditapp.sob.models import Audit, AuditItem, AuditMark
from auditapp.sob.queries.readers import count_readers
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_safe
@project_view(Permission.VIEW)
def list_audits(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The audits of a batch, and the user's progress in each."""
    batch = _find_batch(request, batch_id)
    audits = list(batch.sob_audits.order_by("-number"))
    own = audit_queries.count_own(audits, request.user)
    rows = [(audit, own.get(audit.pk, 0)) for audit in audits]
    return render(request, "sob/audits.html", {"batch": batch, "here": "audits", "rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.ASSIGN)
def draw(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Draw a sample."""
    batch = _find_batch(request, batch_id)
    form = AuditForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            audit = draw_audit(batch=batch, by=request.user, **form.cleaned_data)
        except SobError as error:
            form.add_error(None, ValidationError(str(error)))
        else:
            return redirect("sob:audit", request.project.slug, batch.pk, audit.pk)
    sizes = [(scope.label, len(audit_queries.list_frame(batch, scope))) for scope in Audit.Scope]
    context = {"batch": batch, "form": form, "sizes": sizes}
    return render(request, "sob/audit_new.html", context, status=422 if request.method == "POST" else 200)


@require_safe
@project_view(Permission.VIEW)
def show_audit(request: ProjectRequest, batch_id: int, audit_id: int) -> HttpResponse:
    """The progress of an audit, and its results for people who may see them."""
    audit = _find_audit(request, batch_id, audit_id)
    own = audit_queries.count_own([audit], request.user).get(audit.pk, 0)
    visibility = _find_visibility(request, audit, own)
    sees_all = visibility["sees_all"]
    context = {
        "batch": audit.batch,
        "here": "audits",
        "audit": audit,
        "own": own,
        **visibility,
        "progress": audit_queries.list_progress(audit) if sees_all else [],
        "following": audit_queries.find_next_item(audit, request.user),
        "result": read_audit_report(audit, None if sees_all else request.user) if sees_all or own else None,
        "has_fake": any(arm.variant.is_fake for arm in audit.batch.arms.select_related("variant__account")),
        "readers": count_readers(audit.batch, list(audit.batch.arms.values_list("pk", flat=True))),
    }
    return render(request, "sob/audit.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.CODE)
def mark(request: ProjectRequest, batch_id: int, audit_id: int, item_id: int) -> HttpResponse:
    """Mark one answer; after that its reading by the machine is shown."""
    audit = _find_audit(request, batch_id, audit_id)
    found = AuditItem.objects.select_related(
        "audit__batch", "judgment__arm", "judgment__text", "judgment__cell__result"
    )
    item = get_object_or_404(found, pk=item_id, audit=audit)
    standing = audit_queries.find_standing_mark(item, request.user)
    initial = {"number": standing.number + 1 if standing else 1, "client_id": uuid4()}
    form = MarkForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        try:
            mark_item(
                item=item, finding=form.read(), number=typed["number"], client_id=typed["client_id"], by=request.user
            )
        except SobError as error:
            form.add_error(None, ValidationError(str(error)))
        else:
            messages.success(request, "Your mark is stored. Below is what the machine had read.")
            return redirect("sob:mark", request.project.slug, batch_id, audit.pk, item.pk)
    own = audit_queries.count_own([audit], request.user).get(audit.pk, 0)
    context = {
        "batch": audit.batch,
        "audit": audit,
        "item": item,
        "form": form,
        "standing": standing,
        "attributes": list(item.attributes.items()),
        "marked": own,
        "has_opened": own < audit.size and audit_queries.has_opened(audit, request.user),
        "others": _list_others(request, item) if own >= audit.size else [],
        "following": audit_queries.find_next_item(audit, request.user),
    }
    return render(request, "sob/mark.html", context, status=422 if request.method == "POST" else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SEE_ALL_CODINGS)
def open_results(request: ProjectRequest, batch_id: int, audit_id: int) -> HttpResponse:
    """Open the results to a person who could still mark, and record it. GET requests are redirected to the audit."""
    audit = _find_audit(request, batch_id, audit_id)
    if request.method == "POST":
        actions.open_results(audit=audit, by=request.user)
    return redirect("sob:audit", request.project.slug, batch_id, audit.pk)


def _find_visibility(request: ProjectRequest, audit: Audit, own: int) -> dict[str, bool]:
    """What the template needs to know: whether this person sees all results, may open them, or has opened them.

    Results are open to people who have marked every answer. People who may see all codings can open them earlier; if
    they could still mark, they must ask for it.
    """
    permissions = request.role.permissions
    has_opened = audit_queries.has_opened(audit, request.user)
    may_see = Permission.SEE_ALL_CODINGS in permissions
    sees_all = own >= audit.size or (may_see and (has_opened or Permission.CODE not in permissions))
    return {"sees_all": sees_all, "may_open": may_see and not sees_all, "has_opened": has_opened}


def _list_others(request: ProjectRequest, item: AuditItem) -> list[AuditMark]:
    marks = item.marks.filter(superseded_by__isnull=True).exclude(reviewer=request.user)
    return list(marks.select_related("reviewer").order_by("reviewer__username"))


def _find_batch(request: ProjectRequest, batch_id: int) -> Batch:
    return get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)


def _find_audit(request: ProjectRequest, batch_id: int, audit_id: int) -> Audit:
    return get_object_or_404(Audit.objects.select_related("batch"), pk=audit_id, batch=_find_batch(request, batch_id))
