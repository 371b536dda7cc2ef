"""The threads of a study and what people did on them, as every figure of negotiation is computed from: of a file or a database.

A file is the export ``trajectories``: JSON lines, each with ``record``. Turns are known by their positions in their thread,
codes by their identifiers, people by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from transcripts.codebook.pure.checking import FEATURE_FAMILY, is_feature


class Thread(NamedTuple):
    """``condition``: under which it was held, "" where nobody says. ``relevant`` and ``irrelevant``: the features that its case
    sheet lists; both are empty where it has none. ``intents``: what the interviewer meant her turns to be, by their positions.
    ``kind``: interview or trajectory; ``model``: its label. Both are "" where nobody says."""

    id: str
    condition: str = ""
    relevant: tuple[str, ...] = ()
    irrelevant: tuple[str, ...] = ()
    intents: tuple[tuple[int, str], ...] = ()
    kind: str = ""
    model: str = ""


class Turn(NamedTuple):
    """``role``, ``channel`` and ``is_answer`` as ``corpus.Turn`` has them; ``is_answer`` is None where nobody says.
    ``sentences``: how many there are to be decided, 0 where nobody says."""

    thread: str
    position: int
    role: str
    channel: str
    sentences: int = 0
    is_answer: bool | None = None


class Coding(NamedTuple):
    """``start``: of the quote, or else of the sentence, in code points of the turn. ``family``: the code's family, where it is
    said; `find_family` knows those of the built-in codebook by the code."""

    id: str
    thread: str
    turn: int
    start: int
    coder: str
    code: str
    enactment: str = ""
    attributes: Mapping[str, str] = {}
    family: str = ""


class Link(NamedTuple):
    """What a coding acts on (``code``), rests on or revises (``turn`` of the sentence)."""

    coding: str
    kind: str
    code: str = ""
    turn: int | None = None


class Pair(NamedTuple):
    """Threads ``a`` and ``b``, of which the outcome is expected to differ ("change") or not ("no_change")."""

    name: str
    a: str
    b: str
    expect: str


class Score(NamedTuple):
    """A value of ``None`` is not applicable, or unclear. ``turn`` and ``feature`` are of a determination."""

    thread: str
    stance: str
    criterion: str
    coder: str
    value: int | None
    turn: int | None = None
    feature: str = ""


class Decided(NamedTuple):
    """That somebody has decided a sentence of a turn, or ``sentences`` of them. ``families``: for which families of codes; all,
    where it is empty."""

    thread: str
    turn: int
    coder: str
    families: tuple[str, ...] = ()
    sentences: int = 1


@dataclass
class Records:
    """Everything, in the order in which it was read. ``stances``: what is known of each, by its label."""

    threads: list[Thread] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    codings: list[Coding] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    stances: dict[str, Mapping[str, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


CRITERIA: Sequence[str] = ("features", "moves", "consistency", "answerability")
"""What a thread is scored on, from 0 to ``MAX_VALUE``."""
MAX_VALUE = 3
STATUSES: Sequence[str] = ("silently assumed", "hypothesised", "elicited", "supported", "revised", "dropped")
"""With which status a turn leaves a feature; the choices of the question ``status``."""

MOVES, CHALLENGES, RESPONSES, FAILURES = "moves", "challenges", "responses", "failure_modes"
FEATURES = FEATURE_FAMILY
FAMILIES_OF_NEGOTIATION = frozenset({MOVES, FEATURES, CHALLENGES, RESPONSES})
"""What is coded of a negotiation, turn by turn."""
_FAMILIES = {"move": MOVES, "feature": FEATURES, "challenge": CHALLENGES, "response": RESPONSES, "failure": FAILURES}


def find_family(coding: Coding) -> str:
    """The family of the coding's code: as it says, or else by the first part of the code; "" where that is not known.

    A feature that stands in another family counts among the features.
    """
    if is_feature(coding.code, coding.family):
        return FEATURES
    return coding.family or _FAMILIES.get(coding.code.partition(".")[0], "")
