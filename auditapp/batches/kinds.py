"""What a batch does with its inputs: each feature registers a kind, so that the engine knows none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from auditapp.batches.models import Arm, Batch, Cell


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


class Link(NamedTuple):
    """A way from a cell to what it was about or what became of it; ``words`` say where it leads, without a text."""

    words: str
    path: str


_kinds: dict[str, BatchKind] = {}
_links: dict[str, Callable[[Cell], Sequence[Link]]] = {}


def register_kind(kind: BatchKind) -> None:
    """Make a kind known under its name. Called once, in the feature's ``AppConfig.ready``."""
    _kinds[kind.name] = kind


def register_links(kind: str, read_links: Callable[[Cell], Sequence[Link]]) -> None:
    """Say where the cells of a kind lead, for the pages of the ledger. A kind may have none."""
    _links[kind] = read_links


def read_links(cell: Cell) -> Sequence[Link]:
    """Where a cell leads; reads cell.batch.project."""
    return _links[cell.batch.kind](cell) if cell.batch.kind in _links else ()


def get_kind(name: str) -> BatchKind:
    """The kind registered under ``name``."""
    try:
        return _kinds[name]
    except KeyError:
        raise LookupError(f"No feature handles batches of kind {name!r}; there are {sorted(_kinds)}.") from None
