"""A kind that converses, and chains of it: what the tests of chained calls stand on. Inputs are numbers: the tens are the session,
the ones the question, from 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from auditapp.batches import kinds
from auditapp.batches.kinds import Answered, Said
from auditapp.batches.launching import LaunchOptions, PlannedArm, launch_batch
from auditapp.batches.models import Arm, Attempt, Batch, Cell
from auditapp.batches.pure.chaining import Conversation, Exchange
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ChatRequest
from tests.auditapp.batches.counting import make_variant
from transcripts.audit_trail import trail
from transcripts.studies.models import Study

ASKED_BACK = "May I ask you something?"


class Talks:
    """A kind with one text for each question; the engine adds what was said before."""

    name = "talks"

    def __init__(self) -> None:
        self.told: list[Answered] = []
        self.reopened: list[int] = []

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, Said]:
        return {number: f"Question {number}" for number in input_ids}

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        self.told.extend(answers)
        return {each.cell_id: "said" if each.answer is not None else "silent" for each in answers}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        self.reopened.extend(cell_ids)


class Scripts(Talks):
    """A kind whose sessions have instructions of their own, and whose question depends on how the answer before it ends."""

    name = "scripts"

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, Said]:
        return {number: self.say(number, "Question") for number in input_ids}

    def write_conversations(
        self, arm: Arm, cells: Sequence[Cell], exchanges: Mapping[int, Sequence[Exchange]]
    ) -> Mapping[int, Said]:
        said = {}
        for cell in cells:
            before = exchanges.get(cell.pk, ())
            is_asked = bool(before) and before[-1][1].endswith("?")
            said[cell.pk] = self.say(cell.input_id, "Answer" if is_asked else "Question", repeat=cell.repeat)
        return said

    @staticmethod
    def say(number: int, word: str, repeat: int = 1) -> Conversation:
        return Conversation(f"Session {number // 10}.", (), f"{word} {number}, repeat {repeat}")


def number_inputs(sessions: int, questions: int) -> tuple[list[int], dict[int, int]]:
    """The inputs of so many sessions, and which of them continues which."""
    inputs = [10 * session + question for session in range(1, sessions + 1) for question in range(1, questions + 1)]
    return inputs, {number: number - 1 for number in inputs if number % 10 > 1}


def launch_talks(
    study: Study,
    *variants: ModelVariant,
    sessions: int = 1,
    questions: int = 3,
    kind: str = "talks",
    stays_open: bool = False,
    **options: Any,
) -> Batch:
    """A batch of so many sessions with so many questions each, for each model."""
    inputs, after = number_inputs(sessions, questions)
    return launch_batch(
        study=study,
        kind=kind,
        title="Talks",
        arms=[PlannedArm(each, "session", "You are asked.") for each in variants or (make_variant(),)],
        input_ids=inputs,
        by=options.pop("by", trail.SYSTEM),
        options=LaunchOptions(**options),
        after=after,
        stays_open=stays_open,
    )


def answer_request(request: ChatRequest) -> ChatAnswer:
    """An answer that names what was asked and how much was said before, with reasoning beside it."""
    content = f"To “{request.user}” after {len(request.history)}."
    return ChatAnswer(
        CallOutcome.ANSWERED,
        content=content,
        reasoning="Hidden thoughts.",
        raw="{}",
        http_status=200,
        tokens_in=10,
        tokens_out=5,
    )


def read_states(batch: Batch) -> dict[int, str]:
    """The state of each cell by its input; of one that failed, its outcome."""
    rows = Cell.objects.filter(batch=batch).order_by("pk").values_list("input_id", "state", "outcome")
    return {number: outcome if state == "failed" else state for number, state, outcome in rows}


def read_histories(batch: Batch) -> dict[int, Any]:
    """The history of each cell's latest attempt, by input."""
    rows = Attempt.objects.filter(cell__batch=batch).order_by("pk").values_list("cell__input_id", "history")
    return dict(rows)


def register() -> None:
    """Let this process work on talks and scripts."""
    for kind in (Talks(), Scripts()):
        kinds.register_kind(kind)


def launch_by_label(label: str, *, sessions: int, questions: int, concurrency: int, cap_usd: str = "") -> int:
    """A batch of talks with a model of the first study of this instance, for a process of its own; its number."""
    batch = launch_talks(
        Study.objects.order_by("pk")[0],
        ModelVariant.objects.get(label=label),
        sessions=sessions,
        questions=questions,
        concurrency=concurrency,
        cap_usd=Decimal(cap_usd) if cap_usd else None,
    )
    return batch.pk
