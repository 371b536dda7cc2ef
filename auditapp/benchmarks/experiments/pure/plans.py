"""The plan of an experiment: what is compared, in which shares units are assigned, and which outcome decides. Paper 001, Table 4B.

It is locked before units are loaded, so that nobody can choose the outcome that turned out well in the study. Whether outcomes were
already known elsewhere cannot be checked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from transcripts.formats.json_lines import (
    WrongField,
    list_choices,
    read_each,
    read_object,
    refuse_field,
    refuse_others,
    shorten,
    take_text,
)
from transcripts.formats.problems import quote
from transcripts.formats.tabular import StrictTable
from transcripts.ui.typed_text import find_fault

MAX_NAME = 100
MAX_OTHERS = 20
MAX_ARMS = 10
MAX_NOTES = 5_000
MIN_SHARE = 0.0001
"""As a share of all units. A smaller arm gives no usable figure, and its expected count may be too small to be represented as
a number."""
MAX_NUMBER = 1e15
"""Whole numbers beyond it are not kept exactly."""
_KEYS = {"name", "outcome", "others", "numbers", "baseline", "variant", "allocation", "locked", "notes"}
# A key that a plan of another kind of experiment would have.
_ASSIGNMENT = "assignment"
# Names of columns of units, which no outcome can have.
_TAKEN = {"unit", "arm", "group"}


class PlanRefused(ValueError):
    """A plan is incomplete or contradicts itself; the message is a sentence."""


class Scale(NamedTuple):
    """The lowest and the highest number that an outcome can be."""

    lowest: float
    highest: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared. ``allocation``: the planned share of each arm, as parts of any size.

    Each unit is assigned to one arm at random. ``outcome`` names the primary outcome, ``others`` the secondary ones. ``numbers``:
    the numeric outcomes, each with the ends of its scale, or None if it has no scale; all other outcomes are yes or no. ``locked``
    is the day that the file names, as text.
    """

    outcome: str
    baseline: str
    variant: str
    allocation: Mapping[str, float]
    name: str = ""
    others: tuple[str, ...] = ()
    numbers: Mapping[str, Scale | None] = field(default_factory=dict)
    locked: str = ""
    notes: str = ""

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of all outcomes, the primary one first."""
        return (self.outcome, *self.others)

    @property
    def sha256(self) -> str:
        """The hash of the whole content as JSON with sorted keys; two plans with the same hash have the same content."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The plan as it is stored in the database and in files. The key "numbers" is left out if there are none, so that the hash
        of such a plan is the same as before plans could have numbers."""
        content = {**asdict(self), "others": list(self.others), "allocation": dict(self.allocation)}
        del content["numbers"]
        if self.numbers:
            content["numbers"] = {name: scale._asdict() if scale else {} for name, scale in self.numbers.items()}
        return content


def read_plan(data: bytes, *, name: str) -> Plan:
    """The plan of a JSON file; ``name`` is the file's, for errors. Raises ``ReadError`` and ``PlanRefused``."""
    return make_plan(read_object(data, name))


def make_plan(content: Mapping[str, Any]) -> Plan:
    """The plan in a JSON object. Raises ``PlanRefused``."""
    if _ASSIGNMENT in content:
        raise PlanRefused(
            f"A plan has no “{_ASSIGNMENT}”: each unit is assigned to one arm, at random, so leave it out. Comparisons in which "
            "every arm answers the same requests (shadow) are not accepted, because each of their units would be in two arms."
        )
    try:
        return _make_plan(content)
    except WrongField as error:
        raise PlanRefused(str(error)) from None


def _make_plan(content: Mapping[str, Any]) -> Plan:
    refuse_others(content, _KEYS)
    texts = {
        key: _read_text(content, key, needed=key in {"outcome", "baseline", "variant"})
        for key in _KEYS - {"others", "numbers", "allocation"}
    }
    others = content.get("others", [])
    if not isinstance(others, list) or not all(isinstance(each, str) and each.strip() for each in others):
        raise refuse_field(content, ["others"], "a list of names of outcomes")
    names = [texts["outcome"], *(each.strip() for each in others)]
    if len(set(names)) < len(names) or len(others) > MAX_OTHERS:
        raise PlanRefused(f"Each outcome is named once, and there are at most {MAX_OTHERS} others.")
    for name in names:
        _check_name(name)
        if name in _TAKEN or (name == "outcome" and name in names[1:]):
            raise PlanRefused(
                f"An outcome cannot be called {name}, because a column of units has that name. Choose another name."
            )
    return Plan(
        **texts,
        others=tuple(names[1:]),
        numbers=_read_numbers(content, names),
        allocation=_read_allocation(content, texts["baseline"], texts["variant"]),
    )


def _read_text(content: Mapping[str, Any], key: str, *, needed: bool) -> str:
    value = take_text(content, key, default=None if needed else "")
    if fault := find_fault(value, max_length=MAX_NOTES if key == "notes" else MAX_NAME):
        raise PlanRefused(f"“{key}”: {fault}")
    return value.strip()


def _read_numbers(content: Mapping[str, Any], outcomes: Sequence[str]) -> dict[str, Scale | None]:
    numbers = content.get("numbers", {})
    if not isinstance(numbers, dict):
        expected = "an object with the outcomes that are numbers, each with {} or with its lowest and highest"
        raise refuse_field(content, ["numbers"], expected)
    scales = {name.strip(): _read_scale(name, ends) for name, ends in numbers.items()}
    for name in scales:
        if name not in outcomes:
            raise PlanRefused(f"“numbers” has {shorten(name)}, which is no outcome of the plan.")
    return {name: scales[name] for name in outcomes if name in scales}


def _read_scale(name: str, ends: object) -> Scale | None:
    if ends == {}:
        return None
    is_scale = isinstance(ends, dict) and ends.keys() == set(Scale._fields) and all(map(is_number, ends.values()))
    if not isinstance(ends, dict) or not is_scale or not ends["lowest"] < ends["highest"]:
        raise PlanRefused(
            f"The scale of {shorten(name)} is {{}} or has a “lowest” and a “highest”, two numbers, the second above the first."
        )
    return Scale(**ends)


def is_number(value: object) -> bool:
    """Whether it is a number that is stored exactly: between minus and plus ``MAX_NUMBER``, neither infinite nor NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _check_name(name: str) -> None:
    if fault := find_fault(name, max_length=MAX_NAME, needed="A name is empty."):
        raise PlanRefused(f"A name in the plan: {fault}")


def _read_allocation(content: Mapping[str, Any], baseline: str, variant: str) -> dict[str, float]:
    allocation = content.get("allocation")
    if not isinstance(allocation, dict) or not all(
        not isinstance(part, bool) and isinstance(part, int | float) and 0 < part < 1e9 for part in allocation.values()
    ):
        raise refuse_field(content, ["allocation"], "an object with the planned part of each arm, a number above 0")
    if baseline == variant:
        raise PlanRefused("Baseline and variant must be two different arms, but here they are the same.")
    if len(allocation) > MAX_ARMS:
        raise PlanRefused(f"There are at most {MAX_ARMS} arms; this plan has {len(allocation)}.")
    for arm in allocation:
        _check_name(arm.strip())
    if min(allocation.values(), default=1) < MIN_SHARE * sum(allocation.values()):
        raise PlanRefused(
            f"The planned part of an arm is at least {MIN_SHARE:.2%} of all, so that there is something to compare."
        )
    missing = [arm for arm in (baseline, variant) if arm not in allocation]
    if missing:
        raise PlanRefused(f"“allocation” has no part for {shorten(missing[0])}.")
    # In a fixed order, because files and databases may change the order of keys.
    further = sorted(allocation.keys() - {baseline, variant})
    return {arm: allocation[arm] for arm in (baseline, variant, *further)}


MAX_UNITS = 200_000
MAX_GROUPS = 100
MAX_VALUE = 200
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
    """One assigned unit. ``outcomes``: every outcome of the plan by name, None if it is not known."""

    unit: str
    arm: str
    group: str
    outcomes: Mapping[str, Outcome]


def read_units(lines: Iterable[bytes], plan: Plan, *, name: str) -> Iterator[Unit]:
    """The units of a CSV with the columns unit, arm, and optionally group, outcome (the primary one, whose column may have its name
    instead) and the other outcomes by name; further columns are ignored. Reads row by row; ``name`` is the file's.

    An outcome is 1, yes or true, or 0, no or false. An outcome that is numeric in the plan is a number with a decimal point. A cell
    is empty if the outcome is not known. Raises ``ReadError`` for a unit that occurs twice, in the same arm or in two, for an arm
    that the plan does not have, for any other word as an outcome, and for a number outside its scale.
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
        if len(value) > MAX_VALUE:
            raise WrongField(f"{len(value):,} characters in the column {column}", f"at most {MAX_VALUE}")
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
    # Adding 0 removes the sign of a negative zero, which a database does not keep.
    number = float(word) + 0.0
    if not is_number(number):
        raise WrongField(found, f"a number of at most {MAX_NUMBER:,.0f}")
    scale = plan.numbers[name]
    if scale and not scale.lowest <= number <= scale.highest:
        raise WrongField(found, f"a number on its scale, from {scale.lowest} to {scale.highest}")
    return number
