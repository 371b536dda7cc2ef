"""How often codes occur in the corpus: corrected estimates, with what they rest on, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from auditapp.annotators.actions.annotators import record_calibration
from auditapp.annotators.forms import FamilyReasonForm
from auditapp.annotators.models import Annotator
from auditapp.evaluation.actions import list_choices
from auditapp.evaluation.queries.influence import Unit, count_influence, list_read_by, name_families
from auditapp.evaluation.views.calibration import Asked, draw_influence, offer_compared, read_asked, send_table
from transcripts.blinding.viewers import get_viewer
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends, print_estimate
from transcripts.refusals import Refused
from transcripts.statistics.figures import FEW
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import offer_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form

if TYPE_CHECKING:
    from auditapp.evaluation.pure.influence import Draws, TurnTable
from django.shortcuts import redirect

from auditapp.evaluation.forms import CompletedForm
from transcripts.rounds.actions import show_completed

OF_MOVES = (
    "This code is a move. Here, labels say whether it was applied, not whether it is enacted. A rate would mix what the model "
    "only describes with what it does."
)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_rates(request: StudyRequest) -> HttpResponse:
    """The rate of every code for which an annotator was chosen."""
    return _render(request, read_asked(request.study, request.GET))


@require_POST
@study_view(Permission.SET_METHOD)
def compute(request: StudyRequest) -> HttpResponse:
    """The rates of a family that is read reflexively: once, for a reason that is kept."""
    asked, form = read_asked(request.study, request.POST), FamilyReasonForm(request.POST)
    if form.is_valid():
        with at_form(form, "reason"):
            if form.cleaned_data["family"] not in asked.families:
                raise Refused("The codebook does not have this family.")
            record_calibration(study=request.study, annotator=None, by=request.user, **form.cleaned_data)
            return _render(request, asked, **form.cleaned_data)
    return _render(request, asked, reason_form=form, status=422)


@require_POST
@study_view(Permission.SEE_ALL_CODINGS)
def download(request: StudyRequest) -> HttpResponse:
    """The rates the page shows, as a file."""
    asked = read_asked(request.study, request.POST)
    rows, _, blinded = _read_rates(request, asked)
    if blinded:
        messages.error(
            request, "The rates are based on labels that are hidden from you. Unblind those interviews first."
        )
        return _render(request, asked, status=409)
    return send_table(request, RATES, rows)


def _read_rates(
    request: StudyRequest, asked: Asked, family: str = ""
) -> tuple[list[dict[str, Any]], dict[str, str], set[int]]:
    """The rates, the same for everybody; reflexive families, of which nothing is shown without a reason; and interviews
    that the viewer would have to unblind first. A person who has not unblinded all of these sees no rate."""
    from auditapp.evaluation.queries.calibration import Corpus
    from transcripts.coding.blind import read_blind

    choices = [row for row in list_choices(request.study) if row.annotator is not None]
    if not choices:
        return [], {}, set()
    corpus = Corpus(request.study, read_blind(request.study))
    rows: list[dict[str, Any]] = []
    hidden: dict[str, str] = {}
    labelled_in: set[int] = set()
    for choice in choices:
        if choice.annotator is None:
            continue
        choice.annotator.study = request.study
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
    from auditapp.evaluation.pure.corrected_rates import (
        check_conditions,
        correct_prevalence,
        correct_rate_by_turn,
        is_outside,
        refuse,
        weigh_accuracy,
    )

    conditions = check_conditions(parts["found"])
    refusal = refuse(conditions)
    if parts["code"] and parts["code"].family.carries_enactment:
        refusal = f"{OF_MOVES} {refusal}".strip()
    corrected_rate = correct_rate_by_turn(parts["sample"])
    sensitivity, specificity = weigh_accuracy(parts["sample"])
    corrected = correct_prevalence(corrected_rate.naive, sensitivity, specificity)
    if refusal:
        # The machine's own share alone would be read as the rate that is refused.
        corrected_rate = corrected_rate._replace(rate=None, naive=None, rectifier=None, error=None, interval=None)
        corrected = None
    return {
        "name": parts["code"].name if parts["code"] else parts["choice"].code_identifier,
        "corrected_rate": corrected_rate,
        "rogan_gladen": corrected,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "rogan_is_outside": is_outside(corrected),
        "conditions": conditions,
        "refusal": refusal,
    }


def _read_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[TableRow]:
    from auditapp.evaluation.pure.corrected_rates import list_served

    for row in rows:
        choice, found, corrected_rate = row["choice"], row["found"], row["corrected_rate"]
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
            "blinding": "blind",
            "rate": corrected_rate.rate,
            **name_ends(corrected_rate.interval, "rate_"),
            "se": corrected_rate.error,
            "naive": corrected_rate.naive,
            "rectifier": corrected_rate.rectifier,
            "labelled_sentences": found.labelled,
            "labels": row["n_labels"],
            "labelled_turns": found.labelled_turns,
            "unlabelled_sentences": corrected_rate.n_unlabelled,
            "interviews": found.interviews,
            "all_interviews": found.all_interviews,
            "served_models": list_served(found.served),
            "not_checked": " ".join(each.found for each in row["conditions"] if not each.can_be_checked),
            "refused": row["refusal"],
            "reason": choice.reason,
        }


RATES = ReportTable(
    "rates",
    "How often codes occur in the corpus: prediction-powered means with 95 % intervals, or the reason why there is none.",
    (
        *(
            *declare(str, "code_id code family annotator"),
            *declare(int, "annotator_number"),
            *declare(str, "annotator_hash"),
        ),
        *(*declare(int, "critic codebook"), *declare(str, "blinding")),
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
        Printed("", lambda row: "outside 0 to 1" if row["corrected_rate"].is_outside else ""),
        Printed("Labelled turns", lambda row: f"{row['labelled_turns']:,}"),
        Printed("Refused because", lambda row: row["refused"]),
    ],
    alignment="llrlrl",
)


def _render(
    request: StudyRequest,
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
        "table_files": reverse("evaluation:rates_file", args=[request.study.slug]),
    }
    return render(request, "evaluation/rates.html", page, status=status)


# Of fewer, a coder could tell from her own figures what a machine said of most sentences on which it is not shown.
MIN_OWN = 10
MIN_CODERS = 2
MAX_LISTED = 200
# What no family is called, for identifiers are not empty.
ALL = ""


@require_safe
@study_view(Permission.VIEW)
def influence(request: StudyRequest) -> HttpResponse:
    """Figures of one annotator, ``?annotator=``; of the latest that has read something unless named."""
    annotators = Annotator.objects.filter(study=request.study).select_related("version", "variant__account")
    choices = list_read_by(annotators)
    asked = request.GET.get("annotator", "")
    chosen = next((each for each in choices if str(each.pk) == asked), next(iter(choices), None))
    page: dict[str, object] = {"choices": choices, "chosen": chosen}
    if chosen is not None:
        chosen.study = request.study
        page |= _build(request, chosen)
    return render(request, "evaluation/influence.html", page)


def _build(request: StudyRequest, annotator: Annotator) -> dict[str, object]:
    from auditapp.evaluation.pure.influence import REDRAWS, SEED

    counted, names = count_influence(annotator, viewer=request.user.pk), name_families(annotator)
    page: dict[str, object] = {
        "min_own": MIN_OWN,
        "min_coders": MIN_CODERS,
        "undrawn": counted["undrawn"],
        "certain": counted["certain"],
        "unsettled": counted["unsettled"],
        "few": FEW,
        "redraws": REDRAWS,
        "seed": SEED,
    }
    if Permission.CODE in request.role.permissions:
        page["own"] = own = _read_own(counted, request.user.pk, names)
        own["chart"] = draw_influence("influence-own", "Your labels, and the annotator’s", own["rows"])
        page["moves"] = _list_moves(annotator, counted, request.user.pk, names)
    if Permission.SEE_ALL_CODINGS in request.role.permissions:
        page["team"] = team = _read_others(counted, request.user.pk, names)
        team["chart"] = draw_influence("influence-team", "The other coders’ labels, and the annotator’s", team["rows"])
    return page


def _read_own(counted: Mapping[str, Any], coder: int, names: Mapping[str, str]) -> dict[str, Any]:
    """A coder's own figures, of arms with enough of her units, and what they are based on."""
    from auditapp.evaluation.pure.influence import add_tables

    own = counted["tables"].get(coder, {})
    shown = {family: each.drop_small_arms(MIN_OWN) for family, each in own.items()}
    return {"rows": _list_rows(shown, names, counted["draws"]), "total": add_tables(own.values()).total}


def _read_others(counted: Mapping[str, Any], viewer: int, names: Mapping[str, str]) -> dict[str, Any]:
    """The other coders together, each figure of two or more of them."""
    from auditapp.evaluation.pure.influence import add_tables, pool_tables

    others = [tables for coder, tables in counted["tables"].items() if coder != viewer]
    pooled = pool_tables(others, minimum=MIN_CODERS)
    total = add_tables(pooled.values()).total
    return {"coders": len(others), "rows": _list_rows(pooled, names, counted["draws"]), "total": total}


def _list_rows(tables: Mapping[str, TurnTable], names: Mapping[str, str], draws: Draws) -> list[dict[str, object]]:
    """A row for each family that has a figure, and one for all of these together: counts of units, figures by turns, and in how
    many turns the units of either arm are. Of few turns nothing is tested."""
    from auditapp.evaluation.pure.influence import measure_by_turn, sum_families

    shown = {family: table for family in names if (table := tables.get(family)) is not None and any(table.total)}
    if len(shown) > 1:
        shown[ALL] = sum_families(shown.values())
    by_turn = measure_by_turn(shown, draws)
    for family, table in shown.items():
        if min(table.count_turns()) < FEW:
            by_turn[family]["p_difference"] = None
        if table.count_looked() < FEW:
            by_turn[family]["p_direction"] = None
    return [
        {
            "name": names.get(family, "All of these"),
            "tally": table.total,
            "turns": table.count_turns(),
            "by_turn": by_turn[family],
        }
        for family, table in shown.items()
    ]


def _list_moves(
    annotator: Annotator, counted: Mapping[str, Any], coder: int, names: Mapping[str, str]
) -> list[tuple[str, list[dict[str, object]], int]]:
    """The viewer's own sentences, by what became of her label there: the first of each, and how many there are."""
    own: list[Unit] = [unit for unit in counted["looked"] if unit.coder == coder]
    kinds = {kind: [unit for unit in own if getattr(unit, kind)] for kind in ("changed_to", "changed_away", "kept_own")}
    wanted = {unit.sentence for units in kinds.values() for unit in units[:MAX_LISTED]}
    sentences = Sentence.objects.select_related("turn__interview").in_bulk(wanted)
    codes = dict(Code.objects.filter(version=annotator.version_id).values_list("identifier", "name"))

    def name(identifiers: Iterable[str]) -> list[str]:
        return sorted(codes.get(each, each) for each in identifiers)

    return [
        (
            kind,
            [
                {
                    "sentence": sentences[unit.sentence],
                    "family": names.get(unit.family, unit.family),
                    "before": name(unit.blind),
                    "after": name(unit.final),
                    "machine": name(unit.machine),
                }
                for unit in units[:MAX_LISTED]
            ],
            len(units),
        )
        for kind, units in kinds.items()
    ]


@require_POST
@study_view(Permission.CODE)
def open_completed(request: StudyRequest) -> HttpResponse:
    """Count what she has finished in her own figures; after that she cannot take it back."""
    form = CompletedForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    elif number := show_completed(study=request.study, by=request.user):
        messages.success(request, f"Your figures count {number} more interview{'' if number == 1 else 's'} now.")
    query = f"?annotator={form.cleaned_data['annotator']}" if form.cleaned_data.get("annotator") else ""
    return redirect(reverse("evaluation:influence", args=[request.study.slug]) + query)
