"""What was said in a play: its questions with their answers, and those that a branch shares with the play it leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Attempt, Cell, Result
from auditapp.batches.pure.conversations import read_words
from auditapp.scenarios.models import Play, Question
from auditapp.scenarios.pure.answers import (
    ANSWERED,
    FAILED,
    HAVE_ANSWER,
    LABELS,
    WAITING,
    name_answer,
)
from transcripts.corpus.pure.thinking import split_thinking

UNDER_WAY = (Cell.State.WAITS, Cell.State.PLANNED, Cell.State.LEASED, Cell.State.HELD)
# Ends of attempts after which the provider may have been paid for nothing.
POSSIBLY_PAID_TWICE = (Attempt.End.UNKNOWN, Attempt.End.SURPLUS)


@dataclass
class Try:
    """One time that a question was asked: its cell, its attempts in their order, and its answer, if one came."""

    cell: Cell
    attempts: list[Attempt] = field(default_factory=list)
    result: Result | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether an answer may still come."""
        return self.cell.state in UNDER_WAY

    @property
    def state(self) -> str:
        """What became of it, as ``pure.answers`` calls it."""
        if self.result is None:
            return WAITING if self.is_under_way else FAILED
        return name_answer(read_words(self.result.answer), self.finish_reason)

    @property
    def label(self) -> str:
        """The same in words."""
        return LABELS[self.state]

    @property
    def answer(self) -> str:
        """The model's words as stored, with reasoning that the server left in them."""
        return self.result.answer if self.result else ""

    @property
    def pieces(self) -> Sequence[tuple[bool, str]]:
        """The answer in parts, each after whether it is reasoning."""
        apart = [(True, self.result.reasoning)] if self.result and self.result.reasoning else []
        return [*apart, *((is_thought, text) for is_thought, text in split_thinking(self.answer) if text)]

    @property
    def finish_reason(self) -> str:
        """Why the model stopped, in the provider's word."""
        return self.result.attempt.finish_reason if self.result else ""

    @property
    def served_model(self) -> str:
        """The model that answered, as the provider names it."""
        return self.result.attempt.served_model if self.result else ""

    @property
    def error(self) -> str:
        """Why no answer came, in the provider's words."""
        return next((each.error for each in reversed(self.attempts) if each.error), "")

    @property
    def failure(self) -> str:
        """The same in a few words of ours, which quote nothing that was said; empty unless it failed."""
        if self.state != FAILED:
            return ""
        ended = "" if self.cell.outcome == PROVIDER_ERROR else self.cell.outcome or self.cell.state
        failed = next((each for each in reversed(self.attempts) if each.error_class), None)
        problem = failed.error_class if failed else ""
        status = f"HTTP {failed.http_status}" if failed and failed.http_status else ""
        words = [part.replace("_", " ") for part in (ended, problem, status) if part]
        return ", ".join(words) or "no usable answer"

    @property
    def is_in_flight(self) -> bool:
        """Whether a call of it is under way, or its end is to be decided."""
        return self.cell.state in {Cell.State.LEASED, Cell.State.HELD}


@dataclass
class Exchange:
    """A question of a play with what became of it. ``is_shared``: it was asked in the play that this one branches off.

    ``tries`` are the times it was asked, none in a recorded play.
    """

    question: Question
    is_shared: bool
    tries: list[Try] = field(default_factory=list)
    recorded_answer: str | None = None

    @property
    def number(self) -> int:
        """Its number in the talk, from 1."""
        return self.question.position

    @property
    def counting(self) -> Try | None:
        """The time that counts: the last that brought an answer, else the last."""
        answered = [each for each in self.tries if each.result is not None]
        return next(reversed(answered or self.tries), None)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer may still come."""
        return any(each.is_under_way for each in self.tries)

    @property
    def can_be_given_up(self) -> bool:
        """Whether its answer is waited for, and no call of it is under way: it is tried again later, or its batch has stopped."""
        return self.is_waiting and not any(each.is_in_flight for each in self.tries)

    @property
    def state(self) -> str:
        """What became of the question, as ``pure.answers`` calls it."""
        if self.recorded_answer is not None:
            return ANSWERED
        if self.is_waiting or self.counting is None:
            return WAITING
        return self.counting.state

    @property
    def label(self) -> str:
        """The same in words."""
        return LABELS[self.state]

    @property
    def is_answered(self) -> bool:
        """Whether the model has said something, so that the talk can go on."""
        return self.state in HAVE_ANSWER

    @property
    def has_result(self) -> bool:
        """Whether an answer came, be it empty."""
        return self.recorded_answer is not None or bool(self.counting and self.counting.result)

    @property
    def answer(self) -> str:
        """What the model answered, as stored."""
        return (
            self.recorded_answer if self.recorded_answer is not None else self.counting.answer if self.counting else ""
        )

    @property
    def reasoning(self) -> str:
        """What the model wrote before its answer, where that is known apart."""
        if self.recorded_answer is not None:
            return self.question.answer_reasoning
        return self.counting.result.reasoning if self.counting and self.counting.result else ""

    @property
    def pieces(self) -> Sequence[tuple[bool, str]]:
        """The answer in parts, each after whether it is reasoning."""
        if self.recorded_answer is None:
            return self.counting.pieces if self.counting else []
        apart = [(True, self.reasoning)] if self.reasoning else []
        return [*apart, (False, self.recorded_answer)]

    @property
    def earlier(self) -> list[Try]:
        """The times it was asked before the one that counts."""
        return [each for each in self.tries if each is not self.counting and not each.is_under_way]

    @property
    def possibly_paid_twice(self) -> int:
        """Calls of it that may have been paid for though their answer was not used."""
        return sum(attempt.end in POSSIBLY_PAID_TWICE for each in self.tries for attempt in each.attempts)

    @property
    def calls(self) -> int:
        """How many times it was sent, or may have been."""
        return sum(attempt.end != Attempt.End.UNSENT for each in self.tries for attempt in each.attempts)

    def list_details(self) -> dict[str, Any]:
        """What a file of interviews tells of the model's turn: when, which model, why it stopped, tokens."""
        if self.recorded_answer is not None or self.counting is None or self.counting.result is None:
            return {}
        attempt = self.counting.result.attempt
        tokens = {"input": attempt.tokens_in, "output": attempt.tokens_out}
        told = {
            "at": attempt.done_at.isoformat() if attempt.done_at else None,
            "model": attempt.served_model,
            "finish_reason": attempt.finish_reason,
            "tokens": {name: count for name, count in tokens.items() if count is not None},
        }
        return {name: value for name, value in told.items() if value}


def read_talk(play: Play) -> list[Exchange]:
    """All that was said in a play, in its order: first what a branch shares with the plays above it. Five queries, and one for
    each play above."""
    questions: list[tuple[Question, bool]] = []
    part, last, is_shared = play, None, False
    while True:
        own = part.questions.all() if last is None else part.questions.filter(position__lte=last)
        questions = [(question, is_shared) for question in own.order_by("position")] + questions
        if part.branch_of is None:
            break
        last, part, is_shared = part.after_position, part.branch_of, True
    return _attach_answers(play, questions)


def _attach_answers(play: Play, questions: Sequence[tuple[Question, bool]]) -> list[Exchange]:
    if play.mode == Play.Mode.RECORDED:
        return [Exchange(question, shared, recorded_answer=question.answer) for question, shared in questions]
    tries = read_tries(play.arm_id, [question.pk for question, _ in questions])
    return [Exchange(question, shared, list(tries.get(question.pk, ()))) for question, shared in questions]


def read_tries(arm_id: int | None, question_ids: Sequence[int]) -> Mapping[int, list[Try]]:
    """The times that these questions were asked under an arm, in their order, by question."""
    cells = list(Cell.objects.filter(arm=arm_id, input_id__in=question_ids).order_by("pk"))
    results = {
        result.cell_id: result
        for result in Result.objects.filter(cell__in=cells).select_related("attempt").defer("attempt__raw")
    }
    attempts: dict[int, list[Attempt]] = defaultdict(list)
    for attempt in Attempt.objects.filter(cell__in=cells).defer("raw", "prompt", "history").order_by("pk"):
        attempts[attempt.cell_id].append(attempt)
    found: dict[int, list[Try]] = defaultdict(list)
    for cell in cells:
        found[cell.input_id].append(Try(cell, attempts[cell.pk], results.get(cell.pk)))
    return found
