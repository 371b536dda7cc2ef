"""What an annotator that needs no provider says of one sentence. Knows nothing of Django."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


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
