"""What an annotator that needs no provider is made of, as it is kept with it, and what it says of one sentence. Knows nothing of
Django.

Rules: ``{"reader", "rules": {code: [line]}}``. Learnt: ``{"reader", "seed", "minimum", "set": {"hash", "families":
{family: {"decided", "codes": {code: {"yes", "tied"}}}}}, "taught": {"sentences", "interviews", "spared", "refused"},
"codes": {code: counts}}``, where numbers of sentences are written as ranges (``"4-9 12"``). ``refused`` counts the decided
sentences of interviews that say no, and is left out where there are none. ``reader`` names the way of reading. The set is there
whole, so that the same is learnt from it again however the study goes on; ``codes`` is what it came to, and is filled in when it
is first learnt, with ``judged_with``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from transcripts.codebook.pure.keyword_rules import compile_rules

Recipe = Mapping[str, Any]


def list_read_codes(recipe: Recipe) -> list[str]:
    """The codes it reads for. Of any other code it says nothing, which is not "no"."""
    if "rules" in recipe:
        return [code for code, lines in recipe["rules"].items() if lines]
    return [code for code, found in recipe.get("codes", {}).items() if found.get("threshold") is not None]


def list_taught(recipe: Recipe) -> set[int]:
    """The numbers of the sentences it learnt from: no test of it."""
    families = recipe.get("set", {}).get("families", {}).values()
    return {number for family in families for number in read_ranges(family["decided"])}


def write_ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in ascending order, those that follow each other as one range."""
    ordered = sorted(set(numbers))
    if not ordered:
        return ""
    breaks = [place for place, (one, following) in enumerate(pairwise(ordered), 1) if following != one + 1]
    starts, ends = [0, *breaks], [*breaks, len(ordered)]
    return " ".join(
        str(ordered[start]) if end == start + 1 else f"{ordered[start]}-{ordered[end - 1]}"
        for start, end in zip(starts, ends, strict=True)
    )


def read_ranges(written: str) -> list[int]:
    """The numbers of such a text."""
    found: list[int] = []
    for part in written.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def hash_content(content: object) -> str:
    """SHA-256 of anything JSON can hold, however its keys are ordered."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Prediction(NamedTuple):
    """A code proposed for a sentence, why, and the words it rests on, in code points of the sentence.

    ``score`` is a probability by the reader's own reckoning; rules have none.
    """

    code: str
    rationale: str
    start: int | None = None
    end: int | None = None
    score: float | None = None


def keep_once(
    predictions: Sequence[Sequence[Prediction]],
    turns: Sequence[int],
    *,
    once: Collection[str],
    taken: Collection[tuple[int, str]] = (),
) -> list[list[Prediction]]:
    """What is proposed for each sentence, with the codes in ``once`` proposed for one sentence of a turn.

    ``turns`` has the turn of each sentence, in the order of the text; turn and code in ``taken`` have a proposal already. The
    sentence with the highest score keeps the code; without scores, or of several alike, the first one.
    """
    best: dict[tuple[int, str], tuple[float, int]] = {}
    for place, (turn, found) in enumerate(zip(turns, predictions, strict=True)):
        for each in found:
            if each.code in once and (turn, each.code) not in taken:
                ranked = (-(each.score or 0.0), place)
                best[turn, each.code] = min(best.get((turn, each.code), ranked), ranked)
    chosen = {(place, code) for (_, code), (_, place) in best.items()}
    return [
        [each for each in found if each.code not in once or (place, each.code) in chosen]
        for place, found in enumerate(predictions)
    ]


class OfflineReader(Protocol):
    """Reads sentences, one by one, each for itself. ``codes`` are those it reads for; of others it says nothing."""

    @property
    def codes(self) -> tuple[str, ...]: ...

    def read(self, texts: Sequence[str]) -> list[list[Prediction]]: ...


RULES_READER = "rules-2"


class RulesReader:
    """Proposes a code where one of its rules holds, names the rule, and shows where its first term is."""

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        self.codes = tuple(code for code, lines in rules.items() if lines)
        self._matcher = compile_rules(rules)

    def read(self, texts: Sequence[str]) -> list[list[Prediction]]:
        """What holds of each sentence."""
        return [
            [Prediction(code, f"Rule: {rule}", start, end) for code, rule, start, end in self._matcher.find(text)]
            for text in texts
        ]
