"""A critic's launch, and what critics rejected.

A coder sees rejections in interviews that she has unblinded. Elsewhere a count would show what machines said about sentences
that she has still to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.annotators.models import Annotator, CriticAnswer
from auditapp.annotators.pure.answers import describe_never_rejected
from auditapp.annotators.queries.annotators import list_judge_results, warn_of_critic_family, warn_of_family
from auditapp.annotators.queries.boundary_edits import read_passages
from auditapp.annotators.queries.withholding import list_withheld_answers
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.views.launch import run_wizard
from auditapp.evaluation.actions.checks import launch_critic, plan_critic
from auditapp.evaluation.forms import CriticForm, RejectionChoice
from auditapp.evaluation.queries.positives import (
    count_rejections,
    find_tested_interviews,
    list_critic_answers,
    list_criticised,
)
from auditapp.llm.models import ModelVariant
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission

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
    """How often each critic rejected each code of an annotator, and the sentences behind a count, as far as opened."""
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
    """The verdicts behind a count, each with its passage, and how many of them nobody may see: ``withheld``."""
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
