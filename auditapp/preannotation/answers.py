"""Reading an annotator's answer. Nothing is taken that was not asked for: unknown codes and foreign sentences are kept
aside with the reason. Plain Python, no database."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from auditapp.llm.providers.base import make_storable

LONGEST_RATIONALE = 2_000
MOST_REJECTED = 200
LONGEST_SEARCH = 20_000
THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


class Proposal(NamedTuple):
    """A code for a sentence, both of which were asked about."""

    sentence: int
    code: str
    rationale: str


class Rejected(NamedTuple):
    """An item that is not applied, with the reason."""

    sentence: object
    code: object
    reason: str


class Reading(NamedTuple):
    """An answer understood: ``problem`` is empty unless the answer as a whole is of no use."""

    proposals: list[Proposal]
    rejected: list[Rejected]
    problem: str


class Item(BaseModel):
    """One element of the answer, with the types that count."""

    model_config = ConfigDict(extra="ignore", strict=True)

    sentence: int
    code: str
    rationale: str = ""


def read_answer(answer: str, *, sentences: Collection[int], codes: Collection[str]) -> Reading:
    """Take from ``answer`` what names one of ``sentences`` and one of ``codes``; keep the rest aside.

    The first JSON object with a list "codings" counts, whatever stands around it; thinking blocks are dropped first.
    """
    items = find_items(THINKING.sub("", answer))
    if isinstance(items, str):
        return Reading([], [], items)
    proposals: list[Proposal] = []
    rejected: list[Rejected] = []
    taken: set[tuple[int, str]] = set()
    for raw in items:
        try:
            item = Item.model_validate(raw)
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors()[0]["loc"]) or "item"
            rejected.append(Rejected(_peek(raw, "sentence"), _peek(raw, "code"), f"malformed: {place}"))
            continue
        reason = _find_fault(item, sentences, codes, taken)
        if reason:
            rejected.append(Rejected(item.sentence, make_storable(item.code[:100]), reason))
            continue
        taken.add((item.sentence, item.code))
        rationale = make_storable(item.rationale[:LONGEST_RATIONALE])
        proposals.append(Proposal(item.sentence, item.code, rationale))
    return Reading(proposals, rejected[:MOST_REJECTED], "")


def _find_fault(item: Item, sentences: Collection[int], codes: Collection[str], taken: set[tuple[int, str]]) -> str:
    if item.sentence not in sentences:
        return "sentence was not asked about"
    if item.code not in codes:
        return "unknown code"
    if (item.sentence, item.code) in taken:
        return "named twice"
    return ""


def find_items(text: str) -> list[object] | str:
    """The list of codings in ``text``, or a sentence that says why there is none."""
    if not text.strip():
        return "empty answer"
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    start = text.find("{")
    while start >= 0:
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and isinstance(found.get("codings"), list):
            return list(found["codings"])
        start = text.find("{", start + 1)
        if start > LONGEST_SEARCH:
            break
    return "no JSON object with a list of codings"


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _peek(raw: object, key: str) -> object:
    value = raw.get(key) if isinstance(raw, dict) else raw
    if value is None or (isinstance(value, int) and abs(value) < 2**53):
        return value
    return make_storable(str(value)[:100])
