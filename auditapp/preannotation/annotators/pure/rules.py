"""The reader that goes by the keyword rules of a codebook. Knows nothing of Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditapp.preannotation.annotators.pure.predictions import Prediction
from transcripts.codebook.pure.keyword_rules import compile_rules

READER = "rules-1"


class RulesReader:
    """Proposes a code where one of its rules holds, names the rule, and shows where its first term stands."""

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        self.codes = tuple(code for code, lines in rules.items() if lines)
        self._matcher = compile_rules(rules)

    def read(self, texts: Sequence[str]) -> list[list[Prediction]]:
        """What holds of each sentence."""
        return [
            [
                Prediction(match.code, f"Rule: {match.rule}", match.start, match.end)
                for match in self._matcher.find(text)
            ]
            for text in texts
        ]
