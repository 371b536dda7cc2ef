"""The items behind a count of an audit's results, each masked until opened, for whoever may see those results."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from auditapp.preannotation.evaluation.pure.auditing import SCOPES, select_items, settle_items
from auditapp.preannotation.evaluation.queries import audits as audit_queries
from auditapp.preannotation.evaluation.views.audits import (
    find_audit,
    may_see_results,
    name_codes,
    offer_sample,
    render_audit,
)
from auditapp.preannotation.models import AuditedSuggestion
from auditapp.preannotation.suggestions.queries.passages import read_passages
from transcripts.blinding.viewers import get_viewer
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

ITEMS_PER_PAGE = 20
WORDS = {
    "drawn": "drawn",
    "marked": "marked",
    "applies": "the code applies",
    "does_not": "the code does not apply",
    "unclear": "cannot be said",
    "contested": "contested",
    "decided": "a yes or a no was said",
}


@require_safe
@never_cache
@project_view(Permission.SEE_ALL_CODINGS)
def list_items(request: ProjectRequest, audit_id: int) -> HttpResponse:
    """The items of a code by what was said of them. Who may not see results yet gets the audit's page, which says when."""
    audit = find_audit(request, audit_id)
    if not may_see_results(request, audit):
        return render_audit(request, audit)
    names = name_codes(audit)
    code, reader, scope = (request.GET.get(name, "") for name in ("code", "reader", "verdict"))
    scope = scope if scope in SCOPES else "marked"
    ends = settle_items(audit_queries.list_marks(audit).standing, reader=reader)
    keys = select_items(audit_queries.list_items(audit), ends, code=code, scope=scope)
    interviews = audit_queries.list_interviews(audit)
    closed = get_viewer(request).blinded(interviews)
    found = audit_queries.find_items(keys)
    open_ones = found.exclude(suggestion__sentence__turn__interview__in=closed)
    page = Paginator(open_ones, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "audit": audit,
        "code": names.get(code, ""),
        "words": WORDS[scope],
        "reader": reader if reader in {each["reader"] for each in audit_queries.list_progress(audit)} else "",
        "page": page,
        "shown": _show(request, list(page)),
        "closed_items": len(keys) - page.paginator.count,
        "unblinding": offer_sample(request, audit, interviews),
        "may_mark": Permission.ADJUDICATE in request.role.permissions,
    }
    return render(request, "preannotation/audit_items.html", context)


def _show(request: ProjectRequest, items: list[AuditedSuggestion]) -> list[dict[str, object]]:
    passages = read_passages([item.suggestion for item in items])
    marks = audit_queries.find_standing_marks(items)
    return [
        {
            "item": item,
            "passage": passages[item.suggestion_id],
            "marks": own,
            "own": any(mark.reader_id == request.user.pk for mark in own),
        }
        for item, own in ((item, marks.get(item.pk, [])) for item in items)
    ]
