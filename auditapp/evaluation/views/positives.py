"""Critics and audits of an annotator's positives: the launch of a critic and what critics rejected; the samples of audits, one item
after the other, and their results.

Reviewers see the code and the sentence in its turn, never the machine's reason before their own mark. Marking needs the
permission to adjudicate: the marks decide how accurate an annotator is found, and roles that change nothing only read the
results.

A coder sees rejections in interviews that she has unblinded. Elsewhere a count would show what machines said about sentences
that she has still to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.annotators.models import Annotator, CriticAnswer
from auditapp.annotators.pure.answers import describe_never_rejected
from auditapp.annotators.queries.annotators import list_judge_results, warn_of_critic_family, warn_of_family
from auditapp.annotators.queries.boundary_edits import read_passages
from auditapp.annotators.withholding import list_withheld_answers
from auditapp.audits import views as pages
from auditapp.audits.models import BaseMark
from auditapp.audits.views import OpenResultsForm
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.views.launch import run_wizard
from auditapp.evaluation.actions import draw_positive_audit, launch_critic, mark_positive, plan_critic
from auditapp.evaluation.forms import CriticForm, DrawForm, MarkForm, RejectionChoice
from auditapp.evaluation.models import AuditedSuggestion, PositiveAudit, PositiveMark
from auditapp.evaluation.pure.positives import SCOPES, select_items, settle_items
from auditapp.evaluation.queries.positives import (
    count_rejections,
    find_tested_interviews,
    find_verdicts,
    list_active_marks,
    list_critic_answers,
    list_criticised,
    list_interviews,
    map_items,
    read_report,
)
from auditapp.llm.models import ModelVariant
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import UnblindingForm, offer_unblinding
from transcripts.codebook.models import Code
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission

ITEMS_PER_PAGE = 20
SCOPE_WORDS = {
    "drawn": "drawn",
    "marked": "marked",
    "applies": "the code applies",
    "does_not": "the code does not apply",
    "unclear": "cannot be said",
    "contested": "contested",
    "decided": "answered yes or no",
}


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_audits(request: StudyRequest) -> HttpResponse:
    """The audits of a study, newest first, and the user's progress in each."""
    audits = PositiveAudit.objects.filter(annotator__study=request.study).with_progress(request.user)
    audits = audits.select_related("annotator__variant__account").order_by("-pk")
    return render(request, "evaluation/audits.html", {"audits": audits})


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.ADJUDICATE)
def draw(request: StudyRequest) -> HttpResponse:
    """Draw a sample."""
    form = DrawForm(request.POST if request.method == "POST" else None, study=request.study)
    return pages.draw_sample(request, form, draw_positive_audit, "evaluation/draw_audit.html")


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_audit(request: StudyRequest, audit_id: int) -> HttpResponse:
    """The progress of an audit, and its results for people who may see them."""
    return _render_audit(request, _find_audit(request, audit_id))


def _render_audit(request: StudyRequest, audit: PositiveAudit, opening: OpenResultsForm | None = None) -> HttpResponse:
    state = pages.read_state(request, audit, Permission.ADJUDICATE)
    interviews = list_interviews(audit)
    hidden = get_viewer(request).blinded(interviews)
    context = {
        **state,
        **({"opening": opening} if opening else {}),
        "hidden_items": audit.items.filter(suggestion__sentence__turn__interview__in=hidden).count(),
        "report": read_report(audit) if state["sees_results"] else None,
        "names": _name_codes(audit),
        "following": _find_next(request, audit, hidden) if state["may_mark"] else None,
        "unblinding": _offer_unblinding(request, audit, interviews),
    }
    return render(request, "evaluation/audit.html", context, status=422 if opening else 200)


def _offer_unblinding(request: StudyRequest, audit: PositiveAudit, interviews: set[int]) -> UnblindingForm | None:
    """A form for the hidden interviews of the sample, for people who may mark."""
    if Permission.ADJUDICATE not in request.role.permissions:
        return None
    return offer_unblinding(request, interviews, where="audit of positives", back=audit.get_absolute_url())


def _name_codes(audit: PositiveAudit) -> dict[str, str]:
    return dict(Code.objects.filter(version=audit.annotator.version_id).values_list("identifier", "name"))


@require_POST
@study_view(Permission.ADJUDICATE)
def open_results(request: StudyRequest, audit_id: int) -> HttpResponse:
    """Open the results before having marked everything, and record it."""
    audit = _find_audit(request, audit_id)
    return pages.answer_opening(request, audit, partial(_render_audit, request, audit))


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.ADJUDICATE)
def mark(request: StudyRequest, audit_id: int, item_id: int) -> HttpResponse:
    """Mark one item; after that the machine's reason is shown."""
    audit = _find_audit(request, audit_id)
    found = AuditedSuggestion.objects.select_related(
        "audit__annotator__study", "suggestion__code__family", "suggestion__sentence__turn__interview"
    )
    item = get_object_or_404(found, pk=item_id, audit=audit)
    interviews = list_interviews(audit)
    hidden = get_viewer(request).blinded(interviews)
    if item.suggestion.sentence.turn.interview_id in hidden:
        status = 409 if request.method == "POST" else 200
        context = {"audit": audit, "unblinding": _offer_unblinding(request, audit, interviews)}
        return render(request, "evaluation/mark_closed.html", context, status=status)

    def describe(own_mark: BaseMark | None) -> dict[str, Any]:
        suggestion = item.suggestion
        return {
            "item_passage": read_passages([suggestion])[suggestion.pk],
            "critic": find_verdicts([suggestion.pk]).get(suggestion.pk) if own_mark else None,
            "following": _find_next(request, audit, hidden),
        }

    return pages.mark_item(
        request, item, form_class=MarkForm, store=mark_positive, template="evaluation/mark.html", describe=describe
    )


def _find_next(request: StudyRequest, audit: PositiveAudit, hidden: set[int]) -> AuditedSuggestion | None:
    """The first item in random order that the user has not marked and may see."""
    unmarked = audit.list_unmarked(request.user)
    return unmarked.exclude(suggestion__sentence__turn__interview__in=hidden).first()


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_items(request: StudyRequest, audit_id: int) -> HttpResponse:
    """The items that a count of the results counts. People who do not see the results yet get the audit's page, which says when
    they will."""
    audit = _find_audit(request, audit_id)
    if not pages.read_state(request, audit, Permission.ADJUDICATE)["sees_results"]:
        return _render_audit(request, audit)
    code, reviewer, scope = (request.GET.get(name, "") for name in ("code", "reader", "verdict"))
    scope = scope if scope in SCOPES else "marked"
    active = list_active_marks(audit)
    keys = select_items(map_items(audit), settle_items(active, reviewer=reviewer or None), code=code, scope=scope)
    interviews = list_interviews(audit)
    found = AuditedSuggestion.objects.filter(pk__in=keys).order_by("position")
    found = found.select_related("suggestion__code", "suggestion__sentence__turn__interview")
    shown = found.exclude(suggestion__sentence__turn__interview__in=get_viewer(request).blinded(interviews))
    page = Paginator(shown, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "audit": audit,
        "code": _name_codes(audit).get(code, ""),
        "words": SCOPE_WORDS[scope],
        "reviewer": reviewer if any(mark.reviewer == reviewer for mark in active) else "",
        "page": page,
        "shown": _show_items(request, list(page)),
        "hidden_items": len(keys) - page.paginator.count,
        "unblinding": _offer_unblinding(request, audit, interviews),
        "may_mark": Permission.ADJUDICATE in request.role.permissions,
    }
    return render(request, "evaluation/audit_items.html", context)


def _show_items(request: StudyRequest, items: list[AuditedSuggestion]) -> list[dict[str, object]]:
    passages = read_passages([item.suggestion for item in items])
    marks: dict[int, list[PositiveMark]] = {}
    rows = PositiveMark.objects.filter(item__in=items).active().select_related("reviewer")
    for each in rows.order_by("reviewer__username"):
        marks.setdefault(each.item_id, []).append(each)
    return [
        {
            "item": item,
            "passage": passages[item.suggestion_id],
            "marks": marks.get(item.pk, []),
            "is_own": any(each.reviewer_id == request.user.pk for each in marks.get(item.pk, [])),
        }
        for item in items
    ]


def _find_audit(request: StudyRequest, audit_id: int) -> PositiveAudit:
    audits = PositiveAudit.objects.select_related(
        "annotator__study", "annotator__variant__account", "annotator__version"
    )
    audit: PositiveAudit = get_object_or_404(audits, pk=audit_id, annotator__study=request.study)
    return audit


READINGS_PER_PAGE = 20


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def launch(request: StudyRequest) -> HttpResponse:
    """Check suggestions with a critic, in two steps."""
    initial = {name: request.GET[name] for name in ("annotator",) if name in request.GET}
    form = CriticForm(request.POST or None, study=request.study, initial=initial)

    return run_wizard(
        request,
        form,
        template="evaluation/critic.html",
        plan=lambda: _plan(request, form),
        launch=lambda: launch_critic(by=request.user, **_read_choice(form), options=form.options()),
    )


def _plan(request: StudyRequest, form: CriticForm) -> LaunchPlan:
    """What a launch would ask, with what its review says of annotator and critic."""
    chosen = _read_choice(form)
    planned, checked_before = plan_critic(**chosen)
    form.settle_pilot(planned.arms, planned.input_ids)
    annotator, critic = chosen["annotator"], chosen["critic"]
    warnings = [
        *warn_of_critic_family(annotator, critic),
        *warn_of_family(request.study, critic, planned.interview_ids),
        *list_judge_results(request.study, critic),
    ]
    if planned.parameters["not_consented"]:
        warnings.append({"code": "suggestions_without_consent", "count": planned.parameters["not_consented"]})
    return replace(
        planned,
        warnings=warnings,
        warning_template="annotators/_warning.html",
        facts={
            "annotator": annotator,
            "suggestions": len(planned.input_ids),
            "codes": len(planned.arms),
            "answer_schema": planned.parameters[ANSWER_SCHEMA],
            "checked_before": checked_before,
        },
        facts_template="evaluation/_critic_facts.html",
        names=dict(annotator.version.codes.values_list("identifier", "name")),
    )


def _read_choice(form: CriticForm) -> dict[str, Any]:
    chosen = form.cleaned_data
    return {
        "annotator": chosen["annotator"],
        "critic": chosen["model"],
        "codes": chosen["codes"] or None,
        "again": chosen["again"],
        "without_schema": chosen["without_schema"],
    }


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_rejections(request: StudyRequest) -> HttpResponse:
    """How often each critic rejected each code of an annotator, and the sentences of a count, as far as opened."""
    annotators = list_criticised(request.study)
    form = RejectionChoice(request.GET, annotators=annotators)
    form.is_valid()
    chosen = form.cleaned_data.get("annotator")
    annotator = next((each for each in annotators if chosen is None or each.pk == chosen.pk), None)
    code, seen = form.cleaned_data.get("code", ""), get_viewer(request).visible_interviews
    context = {
        "form": form,
        "annotators": annotators,
        "annotator": annotator,
        "critics": [
            _sum_up(critic, rows) for critic, rows in (count_rejections(annotator, seen=seen) if annotator else [])
        ],
        "behind": _list_behind(request, annotator, form, seen) if annotator and code else None,
        "unblinding": offer_unblinding(
            request, find_tested_interviews(annotator) if annotator else set(), where="rejections"
        ),
    }
    return render(request, "evaluation/rejections.html", context)


def _sum_up(critic: ModelVariant, rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """A critic's verdicts over all codes, with an alarm if it never said no."""
    tested, taken = sum(row["n"] for row in rows), sum(row["rejected"] for row in rows)
    alarm = describe_never_rejected(tested, taken)
    return {"critic": critic, "rows": rows, "n": tested, "rejected": taken, "alarm": alarm}


def _list_behind(
    request: StudyRequest, annotator: Annotator, form: RejectionChoice, seen: frozenset[int] | None
) -> dict[str, object]:
    """The verdicts of a count, each with its passage, and how many of them nobody may see: ``withheld``."""
    code = form.cleaned_data["code"]
    verdict = form.cleaned_data.get("verdict") or CriticAnswer.Verdict.REJECTED
    found = list_critic_answers(annotator, code=code, verdict=verdict, seen=seen)
    withheld = list_withheld_answers(request.study)
    open_ones = [each for each in found if each.suggestion.sentence.turn_id not in withheld]
    page = Paginator(open_ones, READINGS_PER_PAGE).get_page(request.GET.get("page"))
    passages = read_passages([each.suggestion for each in page])
    return {
        "code": code,
        "verdict": verdict,
        "page": page,
        "shown": [{"answer": each, "passage": passages[each.suggestion_id]} for each in page],
        "withheld": len(found) - len(open_ones),
    }
