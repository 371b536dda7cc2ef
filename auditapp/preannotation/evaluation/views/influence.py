"""How far suggestions move people: to each coder her own figures, to leads those of all others together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from auditapp.preannotation.evaluation.pure.influence import measure_influence
from auditapp.preannotation.evaluation.queries.influence import (
    Counted,
    Unit,
    count_influence,
    list_read_by,
    name_families,
)
from auditapp.preannotation.models import Annotator
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

if TYPE_CHECKING:
    from auditapp.preannotation.evaluation.pure.turn_tables import Draws, TurnTable

# Of fewer, a coder could tell from her own figures what a machine said of most sentences on which it is not shown.
MIN_OWN = 10
MIN_CODERS = 2
# Our own lines: of fewer, one turn or one look more could turn a figure round.
FEW_TURNS, FEW_LOOKS = 30, 30
MAX_LISTED = 200
# What no family is called, for identifiers are not empty.
ALL = ""


@require_safe
@never_cache
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
    return render(request, "preannotation/influence.html", page)


def _build(request: ProjectRequest, annotator: Annotator) -> dict[str, object]:
    from auditapp.preannotation.evaluation.pure.redrawing import REDRAWS, SEED

    counted, names = count_influence(annotator, viewer=request.user.pk), name_families(annotator)
    page: dict[str, object] = {
        "least_own": MIN_OWN,
        "least_coders": MIN_CODERS,
        "undrawn": counted.undrawn,
        "certain": counted.certain,
        "unsettled": counted.unsettled,
        "redraws": REDRAWS,
        "seed": SEED,
    }
    if Permission.CODE in request.role.permissions:
        page |= _tell_own(counted, request.user.pk, names)
        page["moves"] = _list_moves(annotator, counted, request.user.pk, names)
    if Permission.SEE_ALL_CODINGS in request.role.permissions:
        page |= _tell_others(counted, request.user.pk, names)
    return page


def _tell_own(counted: Counted, coder: int, names: Mapping[str, str]) -> dict[str, object]:
    """A coder's own figures, of arms with enough of her units, and what they rest on."""
    from auditapp.preannotation.evaluation.pure.turn_tables import add_tables

    own = counted.tables.get(coder, {})
    table = add_tables(own.values())
    total = table.total
    said = f"Of {total.shown_n} of your units in the shown arm {total.looked} were looked at."
    if counted.unsettled:
        said = f"You looked at {total.looked} units; {total.shown_n} are counted in the shown arm so far."
    shown = {family: each.drop_small_arms(MIN_OWN) for family, each in own.items()}
    return {
        "own": _list_rows(shown, names, counted.draws),
        "own_all": total,
        "own_basis": [said, *_warn_of_few(table)],
    }


def _tell_others(counted: Counted, viewer: int, names: Mapping[str, str]) -> dict[str, object]:
    """The other coders together, each figure of two or more of them."""
    from auditapp.preannotation.evaluation.pure.turn_tables import add_tables, pool_tables

    others = [tables for coder, tables in counted.tables.items() if coder != viewer]
    pooled = pool_tables(others, least=MIN_CODERS)
    return {
        "coders": len(others),
        "team": _list_rows(pooled, names, counted.draws),
        "team_basis": _tell_pool(add_tables(pooled.values())),
    }


def _tell_pool(table: TurnTable) -> list[str]:
    """What the pooled figures rest on, or why there is none of a look."""
    total = table.total
    if not total.looked:
        said = f"Fewer than {MIN_CODERS} coders looked at suggestions: what a look did would be one person’s and is a dash."
    elif total.shown_n:
        said = f"Of {total.shown_n} units in the shown arm {total.looked} were looked at."
    else:
        said = f"{total.looked} units were looked at."
    return [said, *_warn_of_few(table)]


def _warn_of_few(table: TurnTable) -> list[str]:
    """A warning where too little was looked at or drawn for any figure to tell something."""
    few = [f"fewer than {FEW_LOOKS} units looked at"] if table.total.looked < FEW_LOOKS else []
    if min(table.count_turns()) < FEW_TURNS:
        few.append(f"fewer than {FEW_TURNS} turns in an arm")
    return [f"Too little to tell: {' and '.join(few)}. Do not report these p values."] if few else []


def _list_rows(tables: Mapping[str, TurnTable], names: Mapping[str, str], draws: Draws) -> list[dict[str, object]]:
    """A row for each family that has a figure, and one for all of these together: figures by units and by turns, and in how
    many turns the units of either arm are."""
    from auditapp.preannotation.evaluation.pure.influence_by_turn import measure_by_turn
    from auditapp.preannotation.evaluation.pure.turn_tables import sum_families

    shown = {family: table for family in names if (table := tables.get(family)) is not None and any(table.total)}
    if len(shown) > 1:
        shown[ALL] = sum_families(shown.values())
    by_turn = measure_by_turn(shown, draws)
    return [
        {
            "name": names.get(family, "All of these"),
            "tally": table.total,
            "figures": measure_influence(table.total),
            "turns": table.count_turns(),
            "by_turn": by_turn[family],
        }
        for family, table in shown.items()
    ]


def _list_moves(
    annotator: Annotator, counted: Counted, coder: int, names: Mapping[str, str]
) -> list[tuple[str, list[dict[str, object]], int]]:
    """The viewer's own sentences, by what became of her label there: the first of each, and how many there are."""
    own = [unit for unit in counted.looked if unit.coder == coder]
    kinds = {
        "Changed to what it suggests": [unit for unit in own if unit.changed_to],
        "Changed away from what it suggests": [unit for unit in own if unit.changed_away],
        "Kept, against what it suggests": [unit for unit in own if unit.kept_own],
    }
    wanted = {unit.sentence for units in kinds.values() for unit in units[:MAX_LISTED]}
    sentences = Sentence.objects.select_related("turn__interview").in_bulk(wanted)
    codes = dict(Code.objects.filter(version=annotator.version_id).values_list("identifier", "name"))
    return [
        (
            title,
            [_tell_move(unit, sentences[unit.sentence], codes, names) for unit in units[:MAX_LISTED]],
            len(units),
        )
        for title, units in kinds.items()
    ]


def _tell_move(unit: Unit, sentence: Sentence, codes: Mapping[str, str], names: Mapping[str, str]) -> dict[str, object]:
    def tell(identifiers: Iterable[str]) -> str:
        return ", ".join(sorted(codes.get(each, each) for each in identifiers)) or "none"

    return {
        "sentence": sentence,
        "family": names.get(unit.family, unit.family),
        "before": tell(unit.blind),
        "after": tell(unit.final),
        "machine": tell(unit.machine),
    }
