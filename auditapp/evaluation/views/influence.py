"""How far suggestions move people: to each coder her own figures, to leads those of all others together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.annotators.models import Annotator
from auditapp.evaluation.queries.influence import Unit, count_influence, list_read_by, name_families
from auditapp.evaluation.views.charts import draw_influence
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence
from transcripts.statistics.figures import FEW
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission

if TYPE_CHECKING:
    from auditapp.evaluation.pure.turn_tables import Draws, TurnTable
from django.contrib import messages
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from auditapp.evaluation.forms import FinishedForm
from transcripts.rounds.actions import show_finished

# Of fewer, a coder could tell from her own figures what a machine said of most sentences on which it is not shown.
MIN_OWN = 10
MIN_CODERS = 2
MAX_LISTED = 200
# What no family is called, for identifiers are not empty.
ALL = ""


@require_safe
@project_view(Permission.VIEW)
def influence(request: ProjectRequest) -> HttpResponse:
    """Figures of one annotator, ``?annotator=``; of the latest that has read something unless named."""
    annotators = Annotator.objects.filter(project=request.project).select_related("version", "variant__account")
    choices = list_read_by(annotators)
    asked = request.GET.get("annotator", "")
    chosen = next((each for each in choices if str(each.pk) == asked), next(iter(choices), None))
    page: dict[str, object] = {"choices": choices, "chosen": chosen}
    if chosen is not None:
        chosen.project = request.project
        page |= _build(request, chosen)
    return render(request, "evaluation/influence.html", page)


def _build(request: ProjectRequest, annotator: Annotator) -> dict[str, object]:
    from auditapp.evaluation.pure.influence_by_turn import REDRAWS, SEED

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
    from auditapp.evaluation.pure.turn_tables import add_tables

    own = counted["tables"].get(coder, {})
    shown = {family: each.drop_small_arms(MIN_OWN) for family, each in own.items()}
    return {"rows": _list_rows(shown, names, counted["draws"]), "total": add_tables(own.values()).total}


def _read_others(counted: Mapping[str, Any], viewer: int, names: Mapping[str, str]) -> dict[str, Any]:
    """The other coders together, each figure of two or more of them."""
    from auditapp.evaluation.pure.turn_tables import add_tables, pool_tables

    others = [tables for coder, tables in counted["tables"].items() if coder != viewer]
    pooled = pool_tables(others, minimum=MIN_CODERS)
    total = add_tables(pooled.values()).total
    return {"coders": len(others), "rows": _list_rows(pooled, names, counted["draws"]), "total": total}


def _list_rows(tables: Mapping[str, TurnTable], names: Mapping[str, str], draws: Draws) -> list[dict[str, object]]:
    """A row for each family that has a figure, and one for all of these together: counts of units, figures by turns, and in how
    many turns the units of either arm are. Of few turns nothing is tested."""
    from auditapp.evaluation.pure.influence_by_turn import measure_by_turn
    from auditapp.evaluation.pure.turn_tables import sum_families

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
@project_view(Permission.CODE)
def open_finished(request: ProjectRequest) -> HttpResponse:
    """Count what she has finished in her own figures; after that she cannot take it back."""
    form = FinishedForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    elif number := show_finished(project=request.project, by=request.user):
        messages.success(request, f"Your figures count {number} more interview{'' if number == 1 else 's'} now.")
    query = f"?annotator={form.cleaned_data['annotator']}" if form.cleaned_data.get("annotator") else ""
    return redirect(reverse("evaluation:influence", args=[request.project.slug]) + query)
