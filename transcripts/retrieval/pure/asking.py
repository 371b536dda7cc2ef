"""What is asked of a study: the one form in which pages, links and queries hand a search on. Knows nothing of Django."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlencode

OWN = "me"
EVERYBODY = "all"


class Speaker(StrEnum):
    """Who said a sentence, in the parts that are searched apart."""

    MODEL = "model"
    INTERVIEWER = "interviewer"
    REASONING = "reasoning"
    SYSTEM = "system"
    TOOLS = "tools"


class State(StrEnum):
    """How far the work at a sentence is."""

    UNCODED = "uncoded"
    DECIDED = "decided"
    STALE = "stale"
    MEMO = "memo"
    DISAGREED = "disagreed"


class Together(StrEnum):
    """Where all the codes asked for have to be applied; without it, one of them is enough."""

    SENTENCE = "sentence"
    TURN = "turn"


@dataclass(frozen=True)
class Search:
    """One search; what is empty does not narrow it.

    ``coder`` is ``me``, ``all`` or a user name. ``answer`` is what a coding answers to a question of its code, as
    ``write_answer`` writes it.
    """

    words: str = ""
    codes: tuple[str, ...] = ()
    together: str = ""
    family: str = ""
    level: str = ""
    enactment: str = ""
    grounding: str = ""
    prompted: str = ""
    coder: str = OWN
    role: str = ""
    model: str | None = None
    interview: int | None = None
    turn: int | None = None
    state: str = ""
    answer: str = ""

    @property
    def asks_for_codings(self) -> bool:
        """Whether a sentence has to bear a coding. A family alone only says where a state is looked for."""
        asked = bool(self.codes or self.level or self.enactment or self.grounding or self.prompted or self.answer)
        return asked or (bool(self.family) and self.state not in {State.STALE, State.DISAGREED})

    def as_query(self) -> str:
        """The search as a query string."""
        asked: list[tuple[str, object]] = [("code", code) for code in self.codes]
        names = (
            "words",
            "together",
            "family",
            "level",
            "enactment",
            "grounding",
            "prompted",
            "answer",
            "role",
            "state",
        )
        asked += [(name, getattr(self, name)) for name in names]
        asked += [("interview", self.interview), ("turn", self.turn)]
        asked.append(("coder", "" if self.coder == OWN else self.coder))
        query = [(name, value) for name, value in asked if value not in {"", None}]
        # A model of no name is one to ask for, too.
        return urlencode(query + ([("model", self.model or UNNAMED)] if self.model is not None else []))


def write_answer(code: str, key: str, answer: str | None) -> str:
    """A question of a code and an answer to it, as in "theme.compassion:direction=about self".

    Any answer is ``None``, as in "theme.compassion:direction"; no answer is "", as in "theme.compassion:direction=".
    """
    return f"{code}:{key}" if answer is None else f"{code}:{key}={answer}"


def split_answer(written: str) -> tuple[str, str, str | None]:
    """The code, the key and the answer that ``write_answer`` wrote."""
    question, given, answer = written.partition("=")
    code, _, key = question.rpartition(":")
    return code, key, answer if given else None


NOT_STATED = "-"
"""Asks for codings of moves that state no enactment: stored before it was required."""
UNNAMED = "-"
"""How an address names the interviews whose model is not known."""
