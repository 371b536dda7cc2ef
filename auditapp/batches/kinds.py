"""The kinds of batches. Each feature registers its own kind, so that the engine imports none of them.

The ends of cells are passed to the kind of their batch."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.pure.conversations import Conversation, Exchange
from auditapp.llm.models import Capabilities
from auditapp.llm.pure.json_answers import strip_limits
from transcripts.blinding.viewers import Viewer
from transcripts.hooks import load_registrations

logger = logging.getLogger(__name__)

# Outcomes that the engine gives itself: the kind could not store the answer, or the output limit left no room for one.
NOT_STORABLE, NO_ROOM = "not_storable", "no_room"


class Answered(NamedTuple):
    """The end of one cell, as the engine passes it to the kind.

    ``answer`` is the model's text; ``None`` if the provider never gave a usable answer (``error`` says why; it is
    ``earlier_failed`` if an earlier cell of the conversation has no answer).
    """

    cell_id: int
    arm_id: int
    input_id: int
    answer: str | None
    finish_reason: str
    error: str


# What a kind says in a call: a user message under the arm's instructions, or a conversation with its own.
Said = str | Conversation


# A link from a cell to its input or its outcome: its text, which never quotes an input, and its address.
Link = tuple[str, str]


class Visibility(NamedTuple):
    """What a person may see of the calls of a batch.

    ``is_whole``: everything. Otherwise she sees no sums by model, task or outcome, and only calls whose input is among ``inputs``
    (a query of keys; ``None``: no call at all). A call of a conversation shows those before it, so ``inputs`` contains only whole
    conversations. ``sentence`` says why and what to do; ``interviews`` are those to unblind in order to see the rest.
    ``allows_requests``: whether the requests may be exported as a file. ``hides_calls``: sums are shown, but nobody sees single
    calls. ``names_conditions``: the calls name the conditions of masked interviews, so a person who opens them confirms that she
    will not code these interviews.
    """

    is_whole: bool
    inputs: QuerySet[Any] | None = None
    sentence: str = ""
    interviews: frozenset[int] = frozenset()
    allows_requests: bool = False
    hides_calls: bool = False
    names_conditions: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether the person may see no call at all."""
        return self.hides_calls or (not self.is_whole and self.inputs is None)

    def shows(self, cell: Cell) -> bool:
        """Whether the person may see the calls of this cell. One query at most."""
        if self.is_closed:
            return False
        return self.is_whole or (self.inputs is not None and self.inputs.filter(pk=cell.input_id).exists())


EVERYTHING = Visibility(is_whole=True, allows_requests=True)


# Of an arm's settings: the form of the schema that its answers are held to, a value of ``Capabilities.AnswerSchema``. Pinned at
# the launch, so that all its calls are made in the same way.
ANSWER_SCHEMA = "answer_schema"
# The arms of a batch, each with its outcomes and how many cells have them.
ArmOutcomes = Sequence[tuple[Arm, Mapping[str, int]]]


class BatchKind(ABC):
    """What a feature does for the engine: a subclass for each kind of batch. Prompts are written and answers are stored by workers,
    never in a web request.

    ``name`` is stored with every batch of the kind. ``unreadable`` are outcomes that mean that nothing could be read: if a pilot
    has no other outcomes, a person has to decide.
    """

    name: str
    unreadable: Collection[str] = ()

    @abstractmethod
    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, Said]:
        """The user message for each input, or a conversation instead. An input that is missing from the result cannot be asked:
        its cell fails.

        The engine adds what was said earlier in a cell's conversation: ``history`` is only what the first cell begins with. The
        review of a launch also calls this, before there are cells or answers: if ``write_conversations`` returns something else,
        this is the longest text that may be sent.
        """

    @abstractmethod
    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        """Parse and store the answers; return the outcome of each cell (at most 30 characters).

        Runs inside the transaction that also stores the results. It is called again for a cell only if that transaction was
        rolled back.
        """

    def reopen(self, cell_ids: Sequence[int]) -> None:  # noqa: B027 - most kinds have nothing to delete
        """Delete what was stored for failed cells, because they will be asked again.

        Runs inside the action's transaction. For these cells, only the absence of an answer can have been stored.
        """

    def write_conversations(
        self, arm: Arm, cells: Sequence[Cell], exchanges: Mapping[int, Sequence[Exchange]]
    ) -> Mapping[int, Said]:
        """The messages of each cell, by the cell's key; a cell that is missing from the result fails. Defined by a kind whose
        messages depend on the repeat, or on what the model answered before.

        ``exchanges`` has the conversation before each cell that has a previous call, oldest first: each question exactly as sent,
        with the words of the stored answer. The engine sends it as the history of that cell, whatever the returned conversation
        contains.
        """
        messages = self.write_prompts(arm, list(dict.fromkeys(cell.input_id for cell in cells)))
        return {cell.pk: messages[cell.input_id] for cell in cells if cell.input_id in messages}

    def write_schema(self, arm: Arm, prompt: str) -> dict[str, Any] | None:
        """The JSON schema of the answer to a user message; ``None``: it is never constrained, whatever the arm says."""
        return None

    def find_visibility(self, batch: Batch, viewer: Viewer) -> Visibility:
        """What the viewer may see of a batch; reads batch.study."""
        return EVERYTHING

    def list_interviews(self, batch: Batch, *, input_id: int | None = None) -> set[int]:
        """The interviews that the calls of a batch, or of one of its inputs, are about."""
        return set()

    def read_links(self, cell: Cell) -> Sequence[Link]:
        """The links of a cell, for pages of attempts. Reads cell.batch.study."""
        return ()

    def find_alarms(self, outcomes: ArmOutcomes) -> list[str]:
        """Alarms raised by the outcomes, in sentences for the page of a batch. Only people who see the whole batch see them. Reads
        arm.variant."""
        return []


_kinds: dict[str, BatchKind] = {}


def register_kind(kind: BatchKind) -> None:
    """Register a kind under its name. Called once, in the app's ``registrations``."""
    _kinds[kind.name] = kind


def get_kind(name: str) -> BatchKind:
    """The kind registered under ``name``."""
    load_registrations()
    try:
        return _kinds[name]
    except KeyError:
        raise LookupError(f"No feature handles batches of kind {name!r}. The kinds are {sorted(_kinds)}.") from None


def write_answer_schema(arm: Arm, prompt: str) -> dict[str, Any] | None:
    """The JSON schema that the answer to ``prompt`` must follow; ``None`` for none. Reads arm.batch if the arm asks for one."""
    form = arm.settings.get(ANSWER_SCHEMA)
    schema = get_kind(arm.batch.kind).write_schema(arm, prompt) if form else None
    return strip_limits(schema) if schema and form == Capabilities.AnswerSchema.PLAIN else schema


def sum_by_model(outcomes: ArmOutcomes) -> dict[str, Counter[str]]:
    """The outcomes of all arms of a model together, by its label. Reads arm.variant."""
    found: dict[str, Counter[str]] = {}
    for arm, counts in outcomes:
        found.setdefault(arm.variant.label, Counter()).update(counts)
    return found


def alarm_by_model(outcomes: ArmOutcomes, find: Callable[[Mapping[str, int]], list[str]]) -> list[str]:
    """The alarms of each model of a batch, over all its codes. Reads arm.variant."""
    return [f"{label}: {alarm}" for label, counts in sum_by_model(outcomes).items() for alarm in find(counts)]


def is_always_visible(batch: Batch, viewer: Viewer) -> bool:
    """Whether the viewer sees the whole batch, whatever she has unblinded. For lists; makes no query."""
    if type(get_kind(batch.kind)).find_visibility is BatchKind.find_visibility:
        return True
    return viewer.sees_all and not viewer.codes


def hand_over(batch: Batch, handed: Sequence[Answered]) -> dict[int, str]:
    """Let the kind store the answers. Returns the outcomes by cell. An answer that the kind cannot store must not stop the other
    answers or the engine: its cell keeps the result and counts as not storable."""
    kind = get_kind(batch.kind)
    try:
        with transaction.atomic():
            return dict(kind.store_answers(batch, handed))
    except Exception:
        logger.exception("Batch %s: a group of %d answers could not be stored together", batch.pk, len(handed))
    outcomes: dict[int, str] = {}
    for each in handed:
        try:
            with transaction.atomic():
                outcomes.update(kind.store_answers(batch, [each]))
        except Exception:
            logger.exception("Batch %s: the answer of cell %s could not be stored", batch.pk, each.cell_id)
            outcomes[each.cell_id] = NOT_STORABLE
    return outcomes
