"""Choose an annotator for each code, beside its figures."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from auditapp.annotators.models import Annotator, CodeChoice
from auditapp.annotators.queries.annotators import find_criticised
from auditapp.evaluation.actions.choices import choose_annotator
from auditapp.evaluation.forms import ChoiceForm, ThresholdForm
from auditapp.evaluation.queries.calibration_rows import CodeRow
from auditapp.evaluation.views.calibration import measure
from auditapp.evaluation.views.comparing import Asked, compare, offer_compared, read_asked
from transcripts.blinding.viewers import get_viewer
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.statistics.figures import FEW
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form

MAX_CANDIDATES = 8

# An annotator as made, or without what a critic reversed, with its key in the form and its figures by code.
Candidate = dict[str, Any]


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def choose(request: ProjectRequest) -> HttpResponse:
    """See every code by every annotator, and choose one for a code, with a reason."""
    asked = read_asked(request.project, request.GET)
    candidates = _list_candidates(request, asked)
    named = [(each["key"], each["name"]) for each in candidates]
    data, initial = request.POST if request.method == "POST" else None, {"code": request.GET.get("code", "")}
    form = ChoiceForm(data, candidates=named, initial=initial)
    if form.is_valid():
        chosen: Candidate = next((each for each in candidates if each["key"] == form.cleaned_data["candidate"]), {})
        with at_form(form):
            choose_annotator(
                project=request.project,
                code_identifier=form.cleaned_data["code"],
                annotator=chosen.get("annotator"),
                with_critic=chosen.get("with_critic", False),
                reason=form.cleaned_data["reason"],
                by=request.user,
            )
            messages.success(request, "Chosen.")
            return redirect("evaluation:choose", request.project.slug)
    return _render(request, asked, candidates, form)


def _list_candidates(request: ProjectRequest, asked: Asked) -> list[Candidate]:
    """The newest annotators and those chosen, with figures of the interviews this person may see."""
    from transcripts.coding.blind import read_blind

    chosen = set(_read_choices(request).values_list("annotator", "with_critic"))
    criticised = find_criticised(request.project.pk)
    wanted = [(each, False) for each in asked.annotators]
    wanted += [(each, True) for each in asked.annotators if each.pk in criticised]
    current = [pair for pair in wanted if (pair[0].pk, pair[1]) in chosen]
    wanted = [*current, *(pair for pair in wanted if pair not in current)][: max(MAX_CANDIDATES, len(current))]
    readings = read_blind(request.project) if wanted else None
    candidates = []
    for annotator, with_critic in wanted:
        annotator.project = request.project
        compared = compare(get_viewer(request), annotator, with_critic=with_critic, readings=readings)
        rows = {row.code.identifier: row for row in measure(asked, compared, resamples=0)["rows"]}
        candidates.append(
            {
                "annotator": annotator,
                "with_critic": with_critic,
                "compared": compared,
                "rows": rows,
                "key": f"{annotator.pk}{'-critic' if with_critic else ''}",
                "name": f"{annotator}{' with critic' if with_critic else ''} · v{annotator.version.number}",
            }
        )
    return candidates


def _render(request: ProjectRequest, asked: Asked, candidates: list[Candidate], form: ChoiceForm) -> HttpResponse:
    threshold = ThresholdForm(request.GET)
    lines = _list_lines(request, asked, candidates, threshold.chosen)
    named = form["code"].value()
    hidden = {pk for each in candidates for pk in each["compared"].interviews}
    page = {
        "asked": asked,
        "form": form,
        "candidates": candidates,
        "left_out": max(0, len(asked.annotators) - len({each["annotator"].pk for each in candidates})),
        "lines": lines,
        "chosen_line": next((line for line in lines if line["code"].identifier == named), None),
        "threshold_form": threshold,
        "threshold": threshold.chosen,
        "few": FEW,
        "unblinding": offer_compared(request, asked, hidden, "choose"),
    }
    status = 422 if form.errors or not threshold.is_valid() else 200
    return render(request, "evaluation/choose.html", page, status=status)


def _list_lines(
    request: ProjectRequest, asked: Asked, candidates: list[Candidate], threshold: float
) -> list[dict[str, Any]]:
    codes = Code.objects.filter(version=current_version(request.project), family__unit=CodeFamily.Unit.SENTENCE)
    choices = {row.code_identifier: row for row in _read_choices(request).select_related("annotator__version")}
    lines = []
    for code in codes.select_related("family").order_by("family__position", "position"):
        figures = [(each, each["rows"].get(code.identifier)) for each in candidates]
        choice = choices.get(code.identifier)
        rests_on = None
        if choice is not None:
            key = f"{choice.annotator_id}{'-critic' if choice.with_critic else ''}"
            rests_on = next((row for each, row in figures if each["key"] == key), None)
        hidden = asked.is_reflexive(code.family.identifier)
        lines.append(
            {
                "code": code,
                "is_reflexive": hidden,
                "figures": figures,
                "choice": choice,
                "rests_on": rests_on,
                "advice": _advise(figures, threshold),
            }
        )
    return lines


def _advise(figures: list[tuple[Candidate, CodeRow | None]], threshold: float) -> str:
    """What to try where every annotator of the code is below the threshold: the key of a sentence in
    ``evaluation/_advice.html``."""
    read = [row for _, row in figures if row is not None]
    known = [(each, row) for each, row in figures if row is not None and not row.is_scarce]
    if read and not known:
        return "too_few"
    if not known or not all(row.is_below(threshold) for _, row in known):
        return ""
    is_asked_alone = any(each["annotator"].mode == Annotator.Mode.CODE for each, _ in known)
    return "below_alone" if is_asked_alone else "below"


def _read_choices(request: ProjectRequest) -> QuerySet[CodeChoice]:
    return CodeChoice.objects.filter(project=request.project, superseded_at__isnull=True)
