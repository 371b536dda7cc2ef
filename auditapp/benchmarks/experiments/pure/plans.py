"""The plan of an experiment: what is compared, in which shares units are assigned, and which outcome decides. Paper 001, Table 4B.

It is locked before units are loaded, so that nobody chooses the outcome that turned out well here. What was known elsewhere by then
nobody can see.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from transcripts.formats.json_fields import WrongField, refuse_field, refuse_others, take_text
from transcripts.formats.json_lines import read_object, shorten
from transcripts.ui.typed_text import find_fault

MAX_NAME = 100
MAX_OTHERS = 20
MAX_ARMS = 10
MAX_NOTES = 5_000
MIN_SHARE = 0.0001
"""Of all units. A smaller arm gives no figure, and its expected number may be too small for a number to hold."""
MAX_NUMBER = 1e15
"""Whole numbers beyond it are not kept exactly."""
_KEYS = {"name", "outcome", "others", "numbers", "baseline", "variant", "allocation", "locked", "notes"}
# What somebody would write who plans another kind of experiment.
_ASSIGNMENT = "assignment"
# What columns of units are called for themselves.
_TAKEN = {"unit", "arm", "group"}


class PlanRefused(ValueError):
    """A plan says too little or contradicts itself; the message is a sentence."""


class Scale(NamedTuple):
    """The lowest and the highest number that an outcome can be."""

    lowest: float
    highest: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared. ``allocation``: the planned share of each arm, as parts of any size.

    Each unit is assigned to one arm, at random. ``outcome`` is the primary one, ``others`` are secondary and told by name.
    ``numbers``: the outcomes that are numbers, each with the ends of its scale, or None where it has none; the others are yes or
    no. ``locked`` is the day that the file names, as text.
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
        """The primary one, and the others."""
        return (self.outcome, *self.others)

    @property
    def sha256(self) -> str:
        """Of all it says, as JSON with sorted keys: two plans with one hash say the same."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """As the database and files hold it. Without numbers nothing is said of them, so that the hash of a plan that has none is
        what it was before plans could have some."""
        content = {**asdict(self), "others": list(self.others), "allocation": dict(self.allocation)}
        del content["numbers"]
        if self.numbers:
            content["numbers"] = {name: scale._asdict() if scale else {} for name, scale in self.numbers.items()}
        return content


def read_plan(data: bytes, *, name: str) -> Plan:
    """The plan of a JSON file; ``name`` is the file's, for errors. Raises ``ReadError`` and ``PlanRefused``."""
    return make_plan(read_object(data, name))


def make_plan(content: Mapping[str, Any]) -> Plan:
    """The plan that a JSON object says. Raises ``PlanRefused``."""
    if _ASSIGNMENT in content:
        raise PlanRefused(
            f"A plan has no “{_ASSIGNMENT}”: each unit is assigned to one arm, at random, so leave it out. Comparisons in which "
            "every arm answers the same requests (shadow) are not taken: each of their units would be in two arms."
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
            raise PlanRefused(f"An outcome is not called {name}: a column of units has that name. Call it otherwise.")
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
    """Whether it is a number that is kept exactly: between minus and plus ``MAX_NUMBER``, neither infinite nor NaN."""
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
        raise PlanRefused("Baseline and variant are two arms, and here they are one.")
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
    # In one order, whatever a file or a database makes of the order of keys.
    further = sorted(allocation.keys() - {baseline, variant})
    return {arm: allocation[arm] for arm in (baseline, variant, *further)}
