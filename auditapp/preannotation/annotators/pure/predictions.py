"""What an annotator that needs no provider says of one sentence. Knows nothing of Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class OfflineReader(Protocol):
    """Reads sentences, one by one, each for itself. ``codes`` are those it reads for; of others it says nothing."""

    @property
    def codes(self) -> tuple[str, ...]: ...

    def read(self, texts: Sequence[str]) -> list[list[Prediction]]: ...


RULES_READER = "rules-1"


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
