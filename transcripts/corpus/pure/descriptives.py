"""Counts that describe interviews, as in Tables A2 and A3 of "From Bias Mitigation to Bias Negotiation" (2026).

The paper names the measures and leaves their rules open. Ours:

- a question is a turn of the interviewer, whatever it says;
- a word is a longest run of characters without white space, after Markdown markers are removed: those that segmentation
  leaves out (of lists, headings, quotes, rules, fences), the bars of a table, and runs of emphasis marks alone. Scripts
  without spaces have few words by this rule;
- only what was said counts: no reasoning, no tool traffic, no system prompt;
- the average response is the model's words divided by the questions, undefined without a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from transcripts.corpus.pure.markdown_lines import Kind, find_lines

_EMPHASIS = "*_~`"
_SPOKEN = "utterance"


class SpokenTurn(Protocol):
    """Anything with the role, the channel and the text of a turn."""

    @property
    def role(self) -> str: ...
    @property
    def channel(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class InterviewCounts:
    """One interview, a row of Table A2."""

    questions: int
    author_words: int
    model_words: int

    @property
    def average_response(self) -> float | None:
        """The model's words for each question; None without a question."""
        return self.model_words / self.questions if self.questions else None


@dataclass(frozen=True)
class Spread:
    """A measure over interviews; the mean gives every interview the same weight."""

    minimum: float
    maximum: float
    mean: float


@dataclass(frozen=True)
class Summary:
    """Several interviews, Table A3. A measure that no interview has is None.

    ``average_response`` is over the interviews with a question: smallest, largest, and the unweighted mean of the
    interviews' averages. ``pooled_average`` is all words of the model in these interviews divided by all questions,
    so long interviews weigh more; the two differ, and a page that shows one says which.
    """

    interviews: int
    questions: Spread | None
    author_words: Spread | None
    model_words: Spread | None
    average_response: Spread | None
    pooled_average: float | None


def count_words(text: str) -> int:
    """Words of ``text`` by the rule above."""
    return sum(_count_line(text[start:end], kind) for start, end, kind in find_lines(text))


def _count_line(content: str, kind: Kind) -> int:
    if kind is Kind.TABLE_ROW:
        content = content.replace("|", " ")
    words = content.split()
    if any(mark in content for mark in _EMPHASIS):
        return sum(1 for word in words if word.strip(_EMPHASIS))
    return len(words)


def describe(turns: Iterable[SpokenTurn]) -> InterviewCounts:
    """Questions and words of one interview."""
    questions = author_words = model_words = 0
    for turn in turns:
        if turn.channel != _SPOKEN:
            continue
        if turn.role == "interviewer":
            questions += 1
            author_words += count_words(turn.text)
        elif turn.role == "model":
            model_words += count_words(turn.text)
    return InterviewCounts(questions, author_words, model_words)


def summarise(interviews: Sequence[InterviewCounts]) -> Summary:
    """Smallest, largest and unweighted mean of each measure, and the pooled average of responses."""
    asked = [counts for counts in interviews if counts.questions]
    questions = sum(counts.questions for counts in asked)
    return Summary(
        interviews=len(interviews),
        questions=_measure_spread([counts.questions for counts in interviews]),
        author_words=_measure_spread([counts.author_words for counts in interviews]),
        model_words=_measure_spread([counts.model_words for counts in interviews]),
        average_response=_measure_spread([counts.model_words / counts.questions for counts in asked]),
        pooled_average=sum(counts.model_words for counts in asked) / questions if questions else None,
    )


def _measure_spread(values: Sequence[float]) -> Spread | None:
    return Spread(min(values), max(values), fmean(values)) if values else None
