"""What a batch does with its inputs: each feature registers a kind, so that the engine knows none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from auditapp.batches.models import Arm, Batch


class Answered(NamedTuple):
    """The end of one cell, as the engine hands it to the kind.

    ``answer`` is the model's words; ``None`` when the provider never gave a usable answer (``error`` says why).
    """

    cell_id: int
    arm_id: int
    input_id: int
    answer: str | None
    finish_reason: str
    error: str


class BatchKind(Protocol):
    """A feature's part in the engine. Prompts are written and answers stored by a worker, never by a web request."""

    name: str

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        """The user message for each input. A missing input means that it cannot be asked: its cell fails."""

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        """Store what was understood and return the outcome per cell id (at most 30 characters each).

        Runs inside the transaction that also stores the results; may be called again for a cell after a crash only
        when the first call was rolled back.
        """

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Forget what was stored for failed cells, because they will be asked again.

        Runs inside the action's transaction. Only what says "no answer came" may be there to forget.
        """


_kinds: dict[str, BatchKind] = {}


def register_kind(kind: BatchKind) -> None:
    """Make a kind known under its name. Called once, in the feature's ``AppConfig.ready``."""
    _kinds[kind.name] = kind


def get_kind(name: str) -> BatchKind:
    """The kind registered under ``name``."""
    try:
        return _kinds[name]
    except KeyError:
        raise LookupError(f"No feature handles batches of kind {name!r}; there are {sorted(_kinds)}.") from None
