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

MAX_NAME = 100
MAX_OTHERS = 20
MAX_ARMS = 10
_KEYS = {"name", "outcome", "others", "baseline", "variant", "allocation", "assignment", "locked", "notes"}
ASSIGNMENTS = ("randomised", "shadow")


class PlanRefused(ValueError):
    """A plan says too little or contradicts itself; the message is a sentence."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared. ``allocation``: the planned share of each arm, as parts of any size.

    ``outcome`` is the primary one, ``others`` are secondary and told by name. ``assignment``: randomised, or shadow, where both
    arms answer the same requests and only one answer is used. ``locked`` is the day that the file names, as text.
    """

    outcome: str
    baseline: str
    variant: str
    allocation: Mapping[str, float]
    name: str = ""
    others: tuple[str, ...] = ()
    assignment: str = "randomised"
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
    for key in content:
        if key not in _KEYS:
            raise PlanRefused(f"A plan has {', '.join(sorted(_KEYS))}; found {shorten(key)}.")
    texts = {
        key: _read_text(content, key, needed=key in {"outcome", "baseline", "variant"})
        for key in _KEYS - {"others", "allocation"}
    }
    texts["assignment"] = texts["assignment"] or ASSIGNMENTS[0]
    if texts["assignment"] not in ASSIGNMENTS:
        raise PlanRefused(f"The assignment is {' or '.join(ASSIGNMENTS)}; found {shorten(texts['assignment'])}.")
    others = content.get("others", [])
    if not isinstance(others, list) or not all(isinstance(each, str) and each.strip() for each in others):
        raise PlanRefused("“others” is a list of names of outcomes.")
    names = [texts["outcome"], *(each.strip() for each in others)]
    if len(set(names)) < len(names) or len(others) > MAX_OTHERS:
        raise PlanRefused(f"Each outcome is named once, and there are at most {MAX_OTHERS} others.")
    return Plan(
        **texts, others=tuple(names[1:]), allocation=_read_allocation(content, texts["baseline"], texts["variant"])
    )


def _read_text(content: Mapping[str, Any], key: str, *, needed: bool) -> str:
    value = content.get(key, "")
    if not isinstance(value, str):
        raise PlanRefused(f"“{key}” is a text; found {name_json_type(value)}.")
    limit = 5_000 if key == "notes" else MAX_NAME
    if len(value) > limit or "\x00" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise PlanRefused(f"“{key}” is longer than {limit:,} characters, or has one that cannot be stored.")
    if needed and not value.strip():
        raise PlanRefused(f"A plan says its {key}, and this one does not.")
    return value.strip()


def _read_allocation(content: Mapping[str, Any], baseline: str, variant: str) -> dict[str, float]:
    allocation = content.get("allocation")
    if not isinstance(allocation, dict) or not all(
        not isinstance(part, bool) and isinstance(part, int | float) and 0 < part < 1e9 for part in allocation.values()
    ):
        raise PlanRefused("“allocation” is an object with the planned part of each arm, a number above 0.")
    if baseline == variant:
        raise PlanRefused("Baseline and variant are two arms, and here they are one.")
    if len(allocation) > MAX_ARMS or not all(arm.strip() and len(arm) <= MAX_NAME for arm in allocation):
        raise PlanRefused(f"There are at most {MAX_ARMS} arms, each with a name of at most {MAX_NAME} characters.")
    missing = [arm for arm in (baseline, variant) if arm not in allocation]
    if missing:
        raise PlanRefused(f"“allocation” has no part for {shorten(missing[0])}.")
    return dict(allocation)
