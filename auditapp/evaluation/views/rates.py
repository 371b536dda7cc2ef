"""How often codes occur in the corpus: rectified estimates, with what they rest on, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from auditapp.annotators.actions.annotators import record_calibration
from auditapp.annotators.forms import FamilyReasonForm
from auditapp.evaluation.actions.choices import list_choices
from auditapp.evaluation.views.calibration import send_table
from auditapp.evaluation.views.comparing import Asked, offer_compared, read_asked
from transcripts.blinding.viewers import get_viewer
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends, print_estimate
from transcripts.refusals import Refused
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.downloads import offer_table
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form

OF_MOVES = (
    "This code is a move. Labels say here whether it was applied, not whether it is enacted, and a rate would add what the model "
    "only describes to what it does."
)


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_rates(request: ProjectRequest) -> HttpResponse:
    """The rate of every code for which an annotator was chosen."""
    return _render(request, read_asked(request.project, request.GET))


@require_POST
@project_view(Permission.SET_METHOD)
def compute(request: ProjectRequest) -> HttpResponse:
    """The rates of a family that is read reflexively: once, for a reason that is kept."""
    asked, form = read_asked(request.project, request.POST), FamilyReasonForm(request.POST)
    if form.is_valid():
        with at_form(form, "reason"):
            if form.cleaned_data["family"] not in asked.families:
                raise Refused("The codebook has no such family.")
            record_calibration(project=request.project, annotator=None, by=request.user, **form.cleaned_data)
            return _render(request, asked, **form.cleaned_data)
    return _render(request, asked, reason_form=form, status=422)


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def download(request: ProjectRequest) -> HttpResponse:
    """The rates the page shows, as a file."""
    asked = read_asked(request.project, request.POST)
    rows, _, blinded = _read_rates(request, asked)
    if blinded:
        messages.error(
            request, "Labels that the rates are based on are hidden from you. Unblind those interviews first."
        )
        return _render(request, asked, status=409)
    return send_table(request, RATES, rows)


def _read_rates(
    request: ProjectRequest, asked: Asked, family: str = ""
) -> tuple[list[dict[str, Any]], dict[str, str], set[int]]:
    """The rates, the same for everybody; reflexive families, of which nothing is shown without a reason; and interviews
    that the viewer would have to unblind first. A person who has not unblinded all of these sees no rate."""
    from auditapp.evaluation.queries.rates import Corpus
    from transcripts.coding.blind import read_blind

    choices = [row for row in list_choices(request.project) if row.annotator is not None]
    if not choices:
        return [], {}, set()
    corpus = Corpus(request.project, read_blind(request.project))
    rows: list[dict[str, Any]] = []
    hidden: dict[str, str] = {}
    labelled_in: set[int] = set()
    for choice in choices:
        if choice.annotator is None:
            continue
        choice.annotator.project = request.project
        parts = corpus.read_parts(choice, choice.annotator)
        own_family = parts["family"]
        if asked.is_reflexive(own_family) and own_family != family:
            hidden[own_family] = asked.name_family(own_family)
            continue
        labelled_in |= parts["labelled_in"]
        rows.append(parts | _measure_rate(parts))
    blinded = get_viewer(request).blinded(labelled_in)
    return [] if blinded else rows, hidden, blinded


def _measure_rate(parts: dict[str, Any]) -> dict[str, Any]:
    """The rate of a code. ``refusal`` says why there is none; the conditions are listed either way."""
    from auditapp.evaluation.pure.rectifying import (
        check_conditions,
        correct_prevalence,
        is_outside,
        rectify_by_turn,
        refuse,
        weigh_accuracy,
    )

    conditions = check_conditions(parts["found"])
    refusal = refuse(conditions)
    if parts["code"] and parts["code"].family.carries_enactment:
        refusal = f"{OF_MOVES} {refusal}".strip()
    rectified = rectify_by_turn(parts["sample"])
    sensitivity, specificity = weigh_accuracy(parts["sample"])
    corrected = correct_prevalence(rectified.naive, sensitivity, specificity)
    if refusal:
        # The machine's own share alone would be read as the rate that is refused.
        rectified = rectified._replace(rate=None, naive=None, rectifier=None, error=None, interval=None)
        corrected = None
    return {
        "name": parts["code"].name if parts["code"] else parts["choice"].code_identifier,
        "rectified": rectified,
        "rogan_gladen": corrected,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "rogan_is_outside": is_outside(corrected),
        "conditions": conditions,
        "refusal": refusal,
    }


def _read_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[TableRow]:
    from auditapp.evaluation.pure.rectifying import list_served

    for row in rows:
        choice, found, rectified = row["choice"], row["found"], row["rectified"]
        annotator = choice.annotator
        yield {
            **row,
            "code_id": choice.code_identifier,
            "code": row["name"],
            "annotator": annotator and annotator.name,
            "annotator_number": annotator and annotator.number,
            "annotator_hash": annotator and annotator.hash,
            "critic": int(choice.with_critic),
            "codebook": annotator and annotator.version.number,
            "layer": "blind",
            "rate": rectified.rate,
            **name_ends(rectified.interval, "rate_"),
            "se": rectified.error,
            "naive": rectified.naive,
            "rectifier": rectified.rectifier,
            "labelled_sentences": found.labelled,
            "labels": row["n_labels"],
            "labelled_turns": found.labelled_turns,
            "unlabelled_sentences": rectified.n_unlabelled,
            "interviews": found.interviews,
            "all_interviews": found.all_interviews,
            "served_models": list_served(found.served),
            "not_checked": " ".join(each.found for each in row["conditions"] if not each.can_be_checked),
            "refused": row["refusal"],
            "reason": choice.reason,
        }


RATES = ReportTable(
    "rates",
    "How often codes occur in the corpus: prediction-powered means with 95 % intervals, or why there is none.",
    (
        *(
            *declare(str, "code_id code family annotator"),
            *declare(int, "annotator_number"),
            *declare(str, "annotator_hash"),
        ),
        *(*declare(int, "critic codebook"), *declare(str, "layer")),
        *declare(float, "rate rate_low rate_high se naive rectifier rogan_gladen sensitivity specificity"),
        *declare(
            int, "labelled_sentences labels labelled_turns unlabelled_sentences interviews all_interviews set_aside"
        ),
        *declare(str, "served_models not_checked refused reason"),
    ),
    _read_rows,
    printed=[
        Printed("Code", lambda row: row["code"]),
        Printed("Family", lambda row: row["family"]),
        print_estimate("Rate", "rate"),
        Printed("", lambda row: "outside 0 to 1" if row["rectified"].is_outside else ""),
        Printed("Labelled turns", lambda row: f"{row['labelled_turns']:,}"),
        Printed("Refused because", lambda row: row["refused"]),
    ],
    alignment="llrlrl",
)


def _render(
    request: ProjectRequest,
    asked: Asked,
    *,
    family: str = "",
    reason: str = "",
    reason_form: FamilyReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    rows, hidden, blinded = _read_rates(request, asked, family)
    page = {
        "asked": asked,
        "rows": rows,
        "hidden": list(hidden.items()),
        "unblinding": offer_compared(request, asked, blinded, "rates"),
        "reason": reason,
        "reason_form": reason_form or FamilyReasonForm(),
        "computed_at": timezone.now(),
        "offered_tables": [offer_table(RATES, "Rates")],
        "table_files": reverse("evaluation:rates_file", args=[request.project.slug]),
    }
    return render(request, "evaluation/rates.html", page, status=status)
