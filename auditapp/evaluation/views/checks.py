"""What checks of an annotator found, figure by figure, and the launch of one; the answers of a figure, as far as this
person may see what machines said of single sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.annotators.models import CHECK_KIND, KIND, Annotator
from auditapp.annotators.pure.checking import (
    SMALL_N,
    Rate,
    build_reask_report,
    build_report,
    find_degenerate,
    judge_check,
)
from auditapp.annotators.queries.turn_answers import (
    count_rates,
    count_unanswered,
    find_annotator,
    list_checks,
    list_turn_answers,
    name_codes,
    read_check,
    read_check_report,
)
from auditapp.annotators.withholding import list_all_withheld
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import Batch
from auditapp.batches.views.launch import run_wizard
from auditapp.evaluation.actions import launch_check, plan_check
from auditapp.evaluation.forms import CheckForm
from auditapp.evaluation.queries.check_answers import (
    OF_ANSWERS,
    OF_REASK,
    OF_SENTENCES,
    SCOPES,
    list_answer_entries,
    list_control_rows,
    list_reask_entries,
    list_sentence_entries,
    read_interviews,
    read_places,
    read_reask,
)
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.codebook.models import Code
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission

# Every check is read whole for its verdicts, and of a turn answer what it was asked about.
MAX_CHECKS, MAX_READINGS = 10, 5

PER_PAGE = 25


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_of_annotator(request: StudyRequest, annotator_id: int) -> HttpResponse:
    """The checks of an annotator with their verdicts, and its batches for the desk."""
    annotator = _get_annotator(request, annotator_id)
    checks, turn_answers = list_checks(annotator), list_turn_answers(annotator)
    names = {code: found.name for code, found in name_codes(annotator).items()}
    context = {
        "annotator": annotator,
        "checks": [_sum_up(batch, names) for batch in checks[:MAX_CHECKS]],
        "names": names,
        "turn_answers": [_sum_up_turn_answer(batch) for batch in turn_answers[:MAX_READINGS]],
        "not_listed": max(0, len(checks) - MAX_CHECKS) + max(0, len(turn_answers) - MAX_READINGS),
        "has_fake": annotator.variant is not None and annotator.variant.is_fake,
    }
    return render(request, "evaluation/checks.html", context)


def _get_annotator(request: StudyRequest, annotator_id: int) -> Annotator:
    annotators = Annotator.objects.select_related("variant__account", "version__study")
    return get_object_or_404(annotators, pk=annotator_id, study=request.study)


def _sum_up(batch: Batch, names: Mapping[str, str]) -> dict[str, object]:
    report = read_check_report(batch)
    verdicts = judge_check(report, names) if report["answers"] else []
    return {"batch": batch, "report": report, "verdicts": verdicts}


def _sum_up_turn_answer(batch: Batch) -> dict[str, object]:
    pairs, controls, codes, _ = read_reask(batch)
    return {"batch": batch, "reask": build_reask_report(pairs, controls, codes), "alarms": _list_alarms(batch)}


def _list_alarms(batch: Batch) -> list[Rate]:
    """Of a batch that has ended: before that, a code may be rare only because little was read."""
    return [] if batch.is_open else find_degenerate(count_rates(batch))


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_check(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The figures of one check; of a batch for the desk, what was lost where it was asked again."""
    batch = get_batch(request, batch_id)
    annotator = find_annotator(batch)
    context: dict[str, object] = {
        "batch": batch,
        "annotator": annotator,
        "unanswered": count_unanswered(batch),
        "has_fake": annotator is not None and annotator.variant is not None and annotator.variant.is_fake,
        "small_n": SMALL_N,
    }
    names = name_codes(annotator) if annotator else {}
    if batch.kind == KIND:
        return render(request, "evaluation/reask.html", context | _show_reask(batch, names))
    answers, codes, definitions = read_check(batch)
    report = build_report(answers, codes=codes, definitions=definitions)
    context |= {
        "report": report,
        "verdicts": judge_check(report, {code: each.name for code, each in names.items()}) if answers else [],
        # What a change means is said in the template.
        "comparisons": [{"figure": name, "rows": report[name]} for name in ("order", "generic", "stability")],
        "definitions": definitions,
        "names": names,
    }
    return render(request, "evaluation/check.html", context)


def get_batch(request: StudyRequest, batch_id: int) -> Batch:
    """A batch of this study that asks an annotator about turns, or 404."""
    batch = get_object_or_404(Batch, pk=batch_id, study=request.study)
    if batch.kind not in {CHECK_KIND, KIND}:
        raise Http404("No such check.")
    return batch


def _show_reask(batch: Batch, names: Mapping[str, Code]) -> dict[str, object]:
    pairs, controls, codes, without = read_reask(batch)
    rates = count_rates(batch)
    return {
        "report": build_reask_report(pairs, controls, codes),
        "without": without,
        "alarms": _list_alarms(batch),
        "has_rates": any(n for _, n in rates.values()),
        "names": names,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def launch(request: StudyRequest, annotator_id: int) -> HttpResponse:
    """Have an annotator checked, in two steps."""
    annotator = _get_annotator(request, annotator_id)
    form = CheckForm(request.POST or None, annotator=annotator)

    def plan() -> LaunchPlan:
        planned = plan_check(study=request.study, annotator=annotator, **form.chosen())
        facts = {**planned.parameters, "annotator": annotator, "questions": len(planned.arms)}
        return replace(planned, facts=facts, facts_template="evaluation/_check_facts.html")

    def send() -> Batch:
        return launch_check(
            study=request.study, annotator=annotator, by=request.user, **form.chosen(), options=form.options()
        )

    return run_wizard(
        request,
        form,
        template="evaluation/launch_check.html",
        plan=plan,
        launch=send,
    )


def _read_asked(data: QueryDict, batch: Batch) -> tuple[str, str, str]:
    """What the page is asked for: a figure, a code where the figure has one, and which of its sentences."""
    figures = OF_REASK if batch.kind == KIND else (*OF_SENTENCES, *OF_ANSWERS)
    figure = data.get("figure", figures[0])
    code = data.get("code", "")
    if figure not in figures:
        raise Http404("No such figure.")
    if figure in OF_SENTENCES:
        annotator = find_annotator(batch)
        known = name_codes(annotator) if annotator else {}
        code = code or next((each for arm in batch.arms.all() for each in arm.settings.get("codes") or []), "")
        if code not in known:
            raise Http404("No such code.")
    scope = data.get("scope", SCOPES[0][0])
    return figure, code, scope if scope in dict(SCOPES) else SCOPES[0][0]


def _find(batch: Batch, figure: str, code: str, scope: str) -> list[Any]:
    """All answers of a figure, whatever this person may see."""
    if batch.kind == KIND:
        pairs, controls, *_ = read_reask(batch)
        return list_control_rows(controls) if figure == "controls" else list_reask_entries(pairs, code, scope)
    answers, _, definitions = read_check(batch)
    if figure in OF_ANSWERS:
        return list_answer_entries(answers, figure)
    return list_sentence_entries(answers, definitions, figure, code, scope)


def find_interviews(request: StudyRequest, turn_ids: Collection[int]) -> dict[int, int]:
    """The interview of each of these turns that may be shown; withheld ones are shown to nobody."""
    return read_interviews(set(turn_ids) - list_all_withheld(request.study))


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_answers(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Sentence by sentence what the answers suggested, with the way to each call."""
    batch = get_batch(request, batch_id)
    figure, code, scope = _read_asked(request.GET, batch)
    found = _find(batch, figure, code, scope)
    is_of_controls, is_of_answers = figure == "controls", figure in OF_ANSWERS
    turns = set() if is_of_controls else {each["turn_id"] for each in found}
    interviews = find_interviews(request, turns)
    blinded = get_viewer(request).blinded(interviews.values())
    open_turns = {turn_id for turn_id, interview_id in interviews.items() if interview_id not in blinded}
    entries = found if is_of_controls else [each for each in found if each["turn_id"] in open_turns]
    page = Paginator(entries, PER_PAGE).get_page(request.GET.get("page"))
    annotator = find_annotator(batch)
    names = name_codes(annotator) if annotator else {}
    is_of_sentences = not is_of_controls and not is_of_answers
    places = read_places([each["sentence_id"] for each in page.object_list]) if is_of_sentences else {}
    context = {
        "batch": batch,
        "annotator": annotator,
        "asked": {"figure": figure, "code": code, "scope": scope},
        "unblinding": offer_unblinding(request, interviews.values(), where="checks"),
        "withheld": len(turns) - len(interviews),
        "behind": 0 if is_of_controls else len(found),
        "page": page,
        "rows": [(each, places.get(each["sentence_id"]) if is_of_sentences else None) for each in page.object_list],
        "scopes": SCOPES,
        "code": names.get(code),
        "names": names,
        "is_of_controls": is_of_controls,
        "is_of_answers": is_of_answers,
    }
    return render(request, "evaluation/check_answers.html", context)
