"""The kinds of batches. Each feature registers its own, so that the engine imports none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from django.db.models import QuerySet

from auditapp.batches.models import Arm, Batch, Cell
from transcripts.accounts.models import User
from transcripts.projects.registrations import load_registrations
from transcripts.projects.roles import Role


class Answered(NamedTuple):
    """The end of one cell, as the engine passes it to the kind.

    ``answer`` is the model's text; ``None`` when the provider never gave a usable answer (``error`` says why).
    """

    cell_id: int
    arm_id: int
    input_id: int
    answer: str | None
    finish_reason: str
    error: str


class BatchKind(Protocol):
    """What a feature does for the engine. A worker writes prompts and stores answers, never a web request."""

    name: str

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        """The user message for each input. An input that is missing cannot be asked: its cell fails."""

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        """Parse and store the answers; return the outcome of each cell (at most 30 characters).

        Runs inside the transaction that also stores the results. It is called again for a cell only when that
        transaction was rolled back.
        """

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Delete what was stored for failed cells, because they will be asked again.

        Runs inside the action's transaction. Nothing but "no answer came" can be stored for them.
        """


class Link(NamedTuple):
    """A link from a cell to its input or its outcome. ``words`` is the link's text; it never quotes an input."""

    words: str
    path: str


class Sight(NamedTuple):
    """How far somebody may look into a batch.

    ``is_whole``: all of it. Otherwise no sum by model, task or outcome, and of single calls those whose input is among
    ``inputs`` (a query of keys; ``None``: no call at all). ``sentence`` says why and what to do, ``opening`` is the address
    where she can open the rest, if she can. ``allows_requests``: whether what is asked may go out as a file.
    """

    is_whole: bool
    inputs: QuerySet[Any] | None = None
    sentence: str = ""
    opening: str = ""
    allows_requests: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether no call at all may be looked into."""
        return not self.is_whole and self.inputs is None

    def shows(self, cell: Cell) -> bool:
        """Whether the calls of this cell may be looked into. One query at most."""
        return self.is_whole or (self.inputs is not None and self.inputs.filter(pk=cell.input_id).exists())


WHOLE = Sight(is_whole=True, allows_requests=True)


class Sights(NamedTuple):
    """How a kind keeps back what calls tell: ``find`` says it of one batch, ``is_open_to`` of a role and every batch alike,
    without a question to the database, for lists."""

    find: Callable[[Batch, User, Role], Sight]
    is_open_to: Callable[[Role], bool]


_kinds: dict[str, BatchKind] = {}
_sights: dict[str, Sights] = {}
_links: dict[str, Callable[[Cell], Sequence[Link]]] = {}
_ended: dict[str, Callable[[Batch], None]] = {}


def register_kind(kind: BatchKind) -> None:
    """Register a kind under its name. Called once, in the app's ``registrations``."""
    _kinds[kind.name] = kind


def register_links(kind: str, read_links: Callable[[Cell], Sequence[Link]]) -> None:
    """Register the links of a kind's cells, for the pages of attempts. A kind may have none."""
    _links[kind] = read_links


def register_ended(kind: str, act: Callable[[Batch], None]) -> None:
    """Say what happens when a batch of a kind is done or cancelled; ``act`` runs inside the transaction that ends it."""
    _ended[kind] = act


def announce_end(batch: Batch) -> None:
    """Tell the feature that a batch has ended; reads batch.project where the feature does."""
    load_registrations()
    if batch.kind in _ended:
        _ended[batch.kind](batch)


def read_links(cell: Cell) -> Sequence[Link]:
    """The links of a cell. Reads cell.batch.project."""
    load_registrations()
    return _links[cell.batch.kind](cell) if cell.batch.kind in _links else ()


def register_sights(kind: str, sights: Sights) -> None:
    """Say how far people may look into the batches of a kind. Of a kind that says nothing everything is open."""
    _sights[kind] = sights


def find_sight(batch: Batch, user: User, role: Role) -> Sight:
    """How far ``user`` may look into ``batch``; reads batch.project."""
    load_registrations()
    return _sights[batch.kind].find(batch, user, role) if batch.kind in _sights else WHOLE


def is_open_to(batch: Batch, role: Role) -> bool:
    """Whether those of this role see all of the batch whatever they opened. Asks the database nothing."""
    load_registrations()
    return _sights[batch.kind].is_open_to(role) if batch.kind in _sights else True


def get_kind(name: str) -> BatchKind:
    """The kind registered under ``name``."""
    load_registrations()
    try:
        return _kinds[name]
    except KeyError:
        raise LookupError(f"No feature handles batches of kind {name!r}; there are {sorted(_kinds)}.") from None
