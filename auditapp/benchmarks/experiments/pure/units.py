"""Units of an experiment from a CSV: to which arm each was assigned, and what came out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditapp.benchmarks.experiments.pure.plans import MAX_NUMBER, Plan, is_number
from transcripts.formats.json_fields import WrongField, list_choices, read_each
from transcripts.formats.problems import quote
from transcripts.formats.strict_table import StrictTable

MAX_UNITS = 200_000
MAX_GROUPS = 100
MAX_NAME = 200
UNIT, ARM, GROUP, OUTCOME = "unit", "arm", "group", "outcome"
FEWER_GROUPS = (
    f"at most {MAX_GROUPS}. A group is something that many units share, such as a region; leave the column out where each unit has "
    "its own"
)
_YES, _NO = {"1", "yes", "true"}, {"0", "no", "false"}
_NONE = {"", "na", "n/a"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?")
Outcome = bool | float | None
"""Yes or no, or a number, as the plan says of each; None where it is not known."""


class Unit(NamedTuple):
    """One unit that was assigned. ``outcomes``: by name, None where it is not known; every outcome of the plan is there."""

    unit: str
    arm: str
    group: str
    outcomes: Mapping[str, Outcome]


def read_units(lines: Iterable[bytes], plan: Plan, *, name: str) -> Iterator[Unit]:
    """The units of a CSV with the columns unit, arm, and where there are any, group, outcome (the primary one, which may stand
    under its name instead) and the others by name; further columns are passed over. Read row by row; ``name`` is the file's.

    An outcome is 1, yes or true, or 0, no or false; one that the plan calls a number is a number, with a point. It is empty where
    it is not known. Raises ``ReadError`` for a unit that is there twice, whether in one arm or in two, an arm that the plan
    does not have, any other word as an outcome, and a number outside its scale.
    """
    table = StrictTable(lines, name=name, needed=(UNIT, ARM))
    places = {column: place for place, column in enumerate(table.headings)}
    if OUTCOME in places and places.setdefault(plan.outcome, places[OUTCOME]) != places[OUTCOME]:
        raise table.refuse(None, f"the primary outcome in two columns, “{OUTCOME}” and “{plan.outcome}”", "one of them")
    seen: dict[str, tuple[str, int]] = {}
    groups: set[str] = set()

    def read(cells: list[str]) -> Unit:
        return _read_unit({column: cells[place].strip() for column, place in places.items()}, plan)

    for line, unit in read_each(table, name, read):
        if unit.unit in seen:
            arm, before = seen[unit.unit]
            where = "in the same arm" if arm == unit.arm else f"in {arm} and in {unit.arm}"
            raise table.refuse(line, f"the unit of line {before} again, {where}", "each unit once")
        if len(seen) >= MAX_UNITS:
            raise table.refuse(line, f"more than {MAX_UNITS:,} units", "at most as many; divide the file")
        seen[unit.unit] = unit.arm, line
        groups.add(unit.group)
        if len(groups) > MAX_GROUPS:
            raise table.refuse(line, f"more than {MAX_GROUPS} groups", FEWER_GROUPS)
        yield unit
    if not seen:
        raise table.refuse(None, "headings and no unit", "a row for each unit below the headings")


def _read_unit(cells: Mapping[str, str], plan: Plan) -> Unit:
    unit, arm, group = cells[UNIT], cells[ARM], cells.get(GROUP, "")
    for column, value in ((UNIT, unit), (GROUP, group)):
        if len(value) > MAX_NAME:
            raise WrongField(f"{len(value):,} characters in the column {column}", f"at most {MAX_NAME}")
    if not unit:
        raise WrongField("no unit", "what the unit is called")
    if arm not in plan.allocation:
        raise WrongField(f"the arm {quote(arm)}, which is not in the plan", list_choices(plan.allocation))
    return Unit(unit, arm, group, {name: _read_outcome(cells.get(name, ""), name, plan) for name in plan.outcomes})


def _read_outcome(text: str, name: str, plan: Plan) -> Outcome:
    word = text.lower()
    if word in _NONE:
        return None
    if name in plan.numbers:
        return _read_number(word, name, plan)
    if word not in _YES | _NO:
        raise WrongField(f"{quote(text)} as the outcome “{name}”", "1 or 0, yes or no, or nothing")
    return word in _YES


def _read_number(word: str, name: str, plan: Plan) -> float:
    found = f"{quote(word)} as the outcome “{name}”"
    if not _NUMBER.fullmatch(word):
        raise WrongField(found, "a number with a point, such as 3.5, or nothing")
    # What is nought has no sign, as a database has it.
    number = float(word) + 0.0
    if not is_number(number):
        raise WrongField(found, f"a number of at most {MAX_NUMBER:,.0f}")
    scale = plan.numbers[name]
    if scale and not scale.lowest <= number <= scale.highest:
        raise WrongField(found, f"a number on its scale, from {scale.lowest} to {scale.highest}")
    return number
