"""An interview as the desk shows it: sentences as rows, in turns, in exchanges of a question and its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from transcripts.coding.annotations import SentenceAnnotations
from transcripts.corpus.models import Turn

LONG_QUESTION = 240
SHORT_QUESTION = 60
MANY_SENTENCES = 100


class Row(NamedTuple):
    """A sentence as a row of the desk. ``is_closed``: the viewer has said that nothing more is to be coded here.
    ``start`` is its place in the text of its turn.

    A tuple, for the template unpacks some thousand of these and a look-up by attribute costs it five times as much.
    """

    id: int
    number: str
    kind: str
    text: str
    is_closed: bool
    marks: SentenceAnnotations | None
    start: int


@dataclass(slots=True)
class TurnBlock:
    """One turn: its sentences, or its text where nothing of it is coded (what a tool gave back).

    ``is_answer``: what a coder has to get through.
    """

    id: int
    role: str
    channel: str
    speaker: str
    prompt_kind: str
    text: str
    is_answer: bool
    call_id: str
    details: dict[str, Any]
    rows: list[Row]
    marks: SentenceAnnotations = field(default_factory=SentenceAnnotations)
    is_hidden: bool = False

    @property
    def is_question(self) -> bool:
        """Said by the interviewer: what may have prompted what follows."""
        return self.role == Turn.Role.INTERVIEWER and self.channel == Turn.Channel.UTTERANCE

    @property
    def is_markdown(self) -> bool:
        """Whether it is words of a person or a model, whose Markdown shows, and not traffic of tools."""
        return self.channel in {Turn.Channel.UTTERANCE, Turn.Channel.REASONING} and self.role != Turn.Role.TOOL

    @property
    def prompt_words(self) -> str:
        """How it was asked, in words."""
        return self.prompt_kind.replace("_", " ")

    @property
    def has_many(self) -> bool:
        """Whether the browser is to lay out only those of its sentences that are in sight."""
        return len(self.rows) > MANY_SENTENCES

    @property
    def is_folded(self) -> bool:
        """Reasoning and tool traffic stay closed, so that they do not colour the reading of what was said."""
        return self.channel != Turn.Channel.UTTERANCE

    @property
    def heading(self) -> str:
        """Role, and channel where it is not plain speech."""
        role = Turn.Role(self.role).label
        return (
            role if self.channel == Turn.Channel.UTTERANCE else f"{role} · {Turn.Channel(self.channel).label.lower()}"
        )


@dataclass(slots=True)
class Exchange:
    """A question and what answers it; ``decided`` of ``total`` counts the model's sentences."""

    number: int
    question: list[TurnBlock] = field(default_factory=list)
    answers: list[TurnBlock] = field(default_factory=list)
    decided: int = 0
    total: int = 0
    is_hidden: bool = False

    @property
    def is_long(self) -> bool:
        return sum(len(turn.text) for turn in self.question) > LONG_QUESTION

    @property
    def may_scroll(self) -> bool:
        """Whether the question may not fit its place in a narrow window, so that the keyboard must reach it."""
        return sum(len(turn.text) for turn in self.question) > SHORT_QUESTION

    @property
    def kinds(self) -> str:
        """How the question was put."""
        return " · ".join(dict.fromkeys(turn.prompt_words for turn in self.question if turn.prompt_kind))

    @property
    def reasoning(self) -> list[TurnBlock]:
        """What the model thought before it answered, where that is known."""
        return [turn for turn in self.answers if turn.channel == Turn.Channel.REASONING and turn.rows]

    @property
    def turns(self) -> list[TurnBlock]:
        return [*self.question, *self.answers]

    def __contains__(self, row: Row | None) -> bool:
        return any(row is other for turn in self.turns for other in turn.rows)
