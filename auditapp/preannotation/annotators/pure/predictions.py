"""What an annotator that needs no provider says of one sentence. Knows nothing of Django."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from transcripts.codebook.pure.keyword_rules import compile_rules


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
