"""The plan of an experiment: what is compared, in which shares units are assigned, and which outcome decides. Paper 001, Table 4B.

It is locked before outcomes come in, so that nobody chooses the outcome that turned out well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from transcripts.corpus.pure.readers.base import ReadError
from transcripts.corpus.pure.readers.json_lines import name_json_type, read_line, shorten
from transcripts.ui.typed_text import find_fault

MAX_NAME = 100
MAX_OTHERS = 20
MAX_ARMS = 10
MAX_NOTES = 5_000
MIN_SHARE = 0.0001
"""Of all units. A smaller arm gives no figure, and its expected number may be too small for a number to hold."""
_KEYS = {"name", "outcome", "others", "baseline", "variant", "allocation", "locked", "notes"}
# What somebody would write who plans another kind of experiment.
_ASSIGNMENT = "assignment"
# What columns of units are called for themselves.
_TAKEN = {"unit", "arm", "group"}


class PlanRefused(ValueError):
    """A plan says too little or contradicts itself; the message is a sentence."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared. ``allocation``: the planned share of each arm, as parts of any size.

    Each unit is assigned to one arm, at random. ``outcome`` is the primary one, ``others`` are secondary and told by name.
    ``locked`` is the day that the file names, as text.
    """

    outcome: str
    baseline: str
    variant: str
    allocation: Mapping[str, float]
    name: str = ""
    others: tuple[str, ...] = ()
    locked: str = ""
    notes: str = ""

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The primary one, and the others."""
        return (self.outcome, *self.others)

    @property
    def sha256(self) -> str:
        """Of all it says, as JSON with sorted keys: two plans with one hash say the same."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """As the database and files hold it."""
        return {**asdict(self), "others": list(self.others), "allocation": dict(self.allocation)}


def read_plan(data: bytes, *, name: str) -> Plan:
    """The plan of a JSON file; ``name`` is the file's, for errors. Raises ``ReadError`` and ``PlanRefused``."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReadError(name, None, "a byte that is not UTF-8", "a file in UTF-8") from None
    return make_plan(read_line(text, 1, name))


def make_plan(content: Mapping[str, Any]) -> Plan:
    """The plan that a JSON object says. Raises ``PlanRefused``."""
    if _ASSIGNMENT in content:
        raise PlanRefused(
            f"A plan has no “{_ASSIGNMENT}”: each unit is assigned to one arm, at random, so leave it out. Comparisons in which "
            "every arm answers the same requests (shadow) are not taken: each of their units would be in two arms."
        )
    for key in content:
        if key not in _KEYS:
            raise PlanRefused(f"A plan has {', '.join(sorted(_KEYS))}; found {shorten(key)}.")
    texts = {
        key: _read_text(content, key, needed=key in {"outcome", "baseline", "variant"})
        for key in _KEYS - {"others", "allocation"}
    }
    others = content.get("others", [])
    if not isinstance(others, list) or not all(isinstance(each, str) and each.strip() for each in others):
        raise PlanRefused("“others” is a list of names of outcomes.")
    names = [texts["outcome"], *(each.strip() for each in others)]
    if len(set(names)) < len(names) or len(others) > MAX_OTHERS:
        raise PlanRefused(f"Each outcome is named once, and there are at most {MAX_OTHERS} others.")
    for name in names:
        _check_name(name)
        if name in _TAKEN or (name == "outcome" and name in names[1:]):
            raise PlanRefused(f"An outcome is not called {name}: a column of units has that name. Call it otherwise.")
    return Plan(
        **texts, others=tuple(names[1:]), allocation=_read_allocation(content, texts["baseline"], texts["variant"])
    )


def _read_text(content: Mapping[str, Any], key: str, *, needed: bool) -> str:
    value = content.get(key, "")
    if not isinstance(value, str):
        raise PlanRefused(f"“{key}” is a text; found {name_json_type(value)}.")
    if needed and not value.strip():
        raise PlanRefused(f"A plan says its {key}, and this one does not.")
    if fault := find_fault(value, max_length=MAX_NOTES if key == "notes" else MAX_NAME):
        raise PlanRefused(f"“{key}”: {fault}")
    return value.strip()


def _check_name(name: str) -> None:
    if fault := find_fault(name, max_length=MAX_NAME, needed="A name is empty."):
        raise PlanRefused(f"A name in the plan: {fault}")


def _read_allocation(content: Mapping[str, Any], baseline: str, variant: str) -> dict[str, float]:
    allocation = content.get("allocation")
    if not isinstance(allocation, dict) or not all(
        not isinstance(part, bool) and isinstance(part, int | float) and 0 < part < 1e9 for part in allocation.values()
    ):
        raise PlanRefused("“allocation” is an object with the planned part of each arm, a number above 0.")
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
