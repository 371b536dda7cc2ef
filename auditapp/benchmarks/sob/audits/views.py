"""Human audit of interpretations: the sample, the marks one by one, and the results.

Reviewers mark without knowing the model, the machine's interpretation or their colleagues'. The machine's is shown once their own
is stored, their colleagues' once they have marked the whole sample.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.audits import views as pages
from auditapp.audits.models import BaseMark
from auditapp.audits.views import OpenResultsForm
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.audits.actions import FORMATTER_SIZE, draw_audit, mark_item
from auditapp.benchmarks.sob.audits.forms import AuditForm, MarkForm
from auditapp.benchmarks.sob.audits.queries import list_frame, read_report
from auditapp.benchmarks.sob.models import Audit, AuditItem
from auditapp.benchmarks.sob.queries import KIND, count_readers, find_cell_range
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission


@require_safe
@study_view(Permission.VIEW)
def list_audits(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The audits of a batch, and the user's progress in each."""
    batch = _find_batch(request, batch_id)
    audits = Audit.objects.filter(batch=batch).with_progress(request.user).order_by("-number")
    return render(request, "sob/audits.html", {"batch": batch, "audits": audits})


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.ASSIGN)
def draw(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Draw a sample."""
    batch = _find_batch(request, batch_id)
    form = AuditForm(request.POST if request.method == "POST" else None, initial={"size": FORMATTER_SIZE})
    sizes = [(scope.label, len(list_frame(batch, scope))) for scope in Audit.Scope]
    draw_from_batch = partial(draw_audit, batch=batch)
    return pages.draw_sample(request, form, draw_from_batch, "sob/audit_new.html", {"batch": batch, "sizes": sizes})


@require_safe
@study_view(Permission.VIEW)
def show_audit(request: StudyRequest, batch_id: int, audit_id: int) -> HttpResponse:
    """The progress of an audit, and its results for people who may see them."""
    return _render_audit(request, _find_audit(request, batch_id, audit_id))


def _render_audit(request: StudyRequest, audit: Audit, opening: OpenResultsForm | None = None) -> HttpResponse:
    state = pages.read_state(request, audit, Permission.CODE)
    sees_results = state["sees_results"]
    arms = list(audit.batch.arms.select_related("variant__account"))
    context = {
        **state,
        **({"opening": opening} if opening else {}),
        "batch": audit.batch,
        "following": audit.list_unmarked(request.user).first(),
        "report": read_report(audit, None if sees_results else request.user) if sees_results or state["own"] else None,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "read_counts": count_readers([arm.pk for arm in arms], find_cell_range(audit.batch)),
    }
    return render(request, "sob/audit.html", context, status=422 if opening else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def mark(request: StudyRequest, batch_id: int, audit_id: int, item_id: int) -> HttpResponse:
    """Mark one answer; after that its interpretation by the machine is shown."""
    audit = _find_audit(request, batch_id, audit_id)
    found = AuditItem.objects.select_related(
        "audit__batch", "judgment__arm", "judgment__text", "judgment__cell__result"
    )
    item = get_object_or_404(found, pk=item_id, audit=audit)

    def describe(own_mark: BaseMark | None) -> dict[str, Any]:
        others = (
            item.marks.active().exclude(reviewer=request.user) if audit.count_own(request.user) >= audit.size else None
        )
        return {
            "batch": audit.batch,
            "attributes": list(item.attributes.items()),
            "others": others.select_related("reviewer").order_by("reviewer__username") if others is not None else [],
            "following": audit.list_unmarked(request.user).first(),
        }

    return pages.mark_item(
        request, item, form_class=MarkForm, store=mark_item, template="sob/mark.html", describe=describe
    )


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SEE_ALL_CODINGS)
def open_results(request: StudyRequest, batch_id: int, audit_id: int) -> HttpResponse:
    """Open the results to a person who could still mark, and record it. GET requests are redirected to the audit."""
    audit = _find_audit(request, batch_id, audit_id)
    if request.method != "POST":
        return redirect(audit)
    return pages.answer_opening(request, audit, partial(_render_audit, request, audit))


def _find_batch(request: StudyRequest, batch_id: int) -> Batch:
    return get_object_or_404(request.study.batches.select_related("study"), pk=batch_id, kind=KIND)


def _find_audit(request: StudyRequest, batch_id: int, audit_id: int) -> Audit:
    audits = Audit.objects.select_related("batch__study")
    audit: Audit = get_object_or_404(audits, pk=audit_id, batch=_find_batch(request, batch_id))
    return audit
