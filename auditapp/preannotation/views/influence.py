"""How far suggestions move people: to each coder her own figures, to leads those of all others together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from auditapp.preannotation.measures.influence import (
    Influence,
    Tally,
    add_tallies,
    measure_influence,
    pool_tallies,
)
from auditapp.preannotation.models import Annotator
from auditapp.preannotation.queries.influence import Counted, Unit, count_influence, list_read_by, name_families
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

# Of fewer, a coder could tell from her own figures what a machine said of most sentences on which it is not shown.
LEAST_OWN = 10
LEAST_CODERS = 2
# Our own lines: of fewer, one turn or one look more could turn a figure round.
FEW_TURNS, FEW_LOOKS = 30, 30
MOST_LISTED = 200


Turns = tuple[set[int], set[int]]


class Row(NamedTuple):
    """The figures of a family, or of all that are shown together."""

    name: str
    tally: Tally
    figures: Influence


class Move(NamedTuple):
    """A sentence at which the viewer looked again, and her label before and after."""

    sentence: Sentence
    family: str
    before: str
    after: str
    machine: str


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
    counted, names = count_influence(annotator, viewer=request.user.pk), name_families(annotator)
    page: dict[str, object] = {
        "least_own": LEAST_OWN,
        "least_coders": LEAST_CODERS,
        "undrawn": counted.undrawn,
        "unsettled": counted.unsettled,
    }
    if Permission.CODE in request.role.permissions:
        own = counted.tallies.get(request.user.pk, {})
        page["own"] = _list_rows({name: tally.drop_small_arms(LEAST_OWN) for name, tally in own.items()}, names)
        page["own_all"] = total = add_tallies(own.values())
        counted_in = f"Of {total.shown_n} of your units in the shown arm {total.looked} were looked at."
        if counted.unsettled:
            counted_in = f"You looked at {total.looked} units; {total.shown_n} are counted in the shown arm so far."
        page["own_basis"] = [counted_in, *_warn_of_few(total.looked, [counted.turns.get(request.user.pk)])]
        page["moves"] = _list_moves(annotator, counted, request.user.pk, names)
    if Permission.SEE_ALL_CODINGS in request.role.permissions:
        others = {coder: tallies for coder, tallies in counted.tallies.items() if coder != request.user.pk}
        page["coders"] = len(others)
        pooled = pool_tallies(others.values(), least=LEAST_CODERS)
        page["team"] = _list_rows(pooled, names)
        page["team_basis"] = _tell_pool(add_tallies(pooled.values()), [counted.turns.get(coder) for coder in others])
    return page


def _tell_pool(total: Tally, turns: Iterable[Turns | None]) -> list[str]:
    """What the pooled figures rest on, or why there is none of a look."""
    if not total.looked:
        said = f"Fewer than {LEAST_CODERS} coders looked at suggestions: what a look did would be one person’s and is a dash."
    elif total.shown_n:
        said = f"Of {total.shown_n} units in the shown arm {total.looked} were looked at."
    else:
        said = f"{total.looked} units were looked at."
    return [said, *_warn_of_few(total.looked, turns)]


def _warn_of_few(looked: int, turns: Iterable[Turns | None]) -> list[str]:
    """A warning where too little was looked at or drawn for any figure to tell something."""
    found = [each for each in turns if each is not None]
    arms = (set[int]().union(*(each[0] for each in found)), set[int]().union(*(each[1] for each in found)))
    few = [f"fewer than {FEW_LOOKS} units looked at"] if looked < FEW_LOOKS else []
    if min(map(len, arms)) < FEW_TURNS:
        few.append(f"fewer than {FEW_TURNS} turns in an arm")
    return [f"Too little to tell: {' and '.join(few)}. Do not report these p values."] if few else []


def _list_rows(tallies: Mapping[str, Tally], names: Mapping[str, str]) -> list[Row]:
    """A row for each family that has a figure, and one for all of these together."""
    shown = {family: tally for family in names if (tally := tallies.get(family)) is not None and any(tally)}
    rows = [Row(names[family], tally, measure_influence(tally)) for family, tally in shown.items()]
    if len(rows) > 1:
        total = add_tallies(shown.values())
        rows.append(Row("All of these", total, measure_influence(total)))
    return rows


def _list_moves(
    annotator: Annotator, counted: Counted, coder: int, names: Mapping[str, str]
) -> list[tuple[str, list[Move], int]]:
    """The viewer's own sentences, by what became of her label there: the first of each, and how many there are."""
    own = [unit for unit in counted.looked if unit.coder == coder]
    kinds = {
        "Changed to what it suggests": [unit for unit in own if unit.changed_to],
        "Changed away from what it suggests": [unit for unit in own if unit.changed_away],
        "Kept, against what it suggests": [unit for unit in own if unit.kept_own],
    }
    wanted = {unit.sentence for units in kinds.values() for unit in units[:MOST_LISTED]}
    sentences = Sentence.objects.select_related("turn__interview").in_bulk(wanted)
    codes = dict(Code.objects.filter(version=annotator.version_id).values_list("identifier", "name"))
    return [
        (
            title,
            [_tell_move(unit, sentences[unit.sentence], codes, names) for unit in units[:MOST_LISTED]],
            len(units),
        )
        for title, units in kinds.items()
    ]


def _tell_move(unit: Unit, sentence: Sentence, codes: Mapping[str, str], names: Mapping[str, str]) -> Move:
    def tell(identifiers: Iterable[str]) -> str:
        return ", ".join(sorted(codes.get(each, each) for each in identifiers)) or "none"

    return Move(sentence, names.get(unit.family, unit.family), tell(unit.blind), tell(unit.final), tell(unit.machine))
