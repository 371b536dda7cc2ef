"""What every reader gives and how it refuses: interviews, turns, and errors that name the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from transcripts.formats.problems import ReadError

ROLES = ("interviewer", "model", "system", "tool")
CHANNELS = ("utterance", "reasoning", "tool_call", "tool_result")
KINDS = ("interview", "trajectory")
RELATIONS = ("", "branch", "subagent", "continuation")
"""How a thread hangs on a turn of another: what was said otherwise from there on, a run that the turn started, or what
goes on behind a summary."""
CONSENT_SCOPES = ("coding", "external", "quotation", "reuse")
MAX_BASIS_LENGTH = 2_000
"""Characters of what a consent rests on."""

MAX_FILE_SIZE = 500_000_000
"""Bytes of a file, or of a file in an archive."""
MAX_WHOLE_SIZE = 100_000_000
"""Bytes of a file whose format is read as a whole."""
MAX_TURN_SIZE = 1_000_000
"""Bytes of a turn's text in UTF-8."""
KEPT_OF_RESULT = 100_000
"""Bytes that are kept of a tool's result that is larger than a turn may be."""
MAX_TURNS = 50_000
"""Turns of a conversation."""


@dataclass(frozen=True)
class ReadTurn:
    """What one side said at one point. ``text`` is exactly what the file holds, white space and line breaks included.

    ``role`` is one of `ROLES`, ``channel`` one of `CHANNELS`; ``speaker`` is the name the file gives, for tool traffic
    the name of the tool; ``prompt_kind`` says what kind of question an interviewer's turn is. ``call_id`` joins a result with
    its call. ``details``, what the file tells of the turn, may have: ``at`` (ISO 8601), ``model``, ``step`` (a number),
    ``tokens`` ({"input": 3, "output": 4}), ``is_summary``, ``redacted``, ``prefilled`` (words put into the model's mouth),
    ``error`` (true, or what went wrong), ``error_type`` (its kind, such as timeout), ``truncated`` ({"bytes", "sha256"} of the
    whole text).
    """

    role: str
    channel: str
    speaker: str
    text: str
    prompt_kind: str = ""
    call_id: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class Start(NamedTuple):
    """A turn, by its position, from which a run goes out that another file tells: how, the names by which the file may be
    known (its own, ids), and the warning that it is missing, "" without one."""

    relation: str
    position: int
    names: tuple[str, ...]
    told: str = ""


@dataclass(frozen=True)
class Links:
    """How a thread is tied to threads of other files; see threads.py. ``ids``: what else other files call it; ``starts``: the
    runs that its turns start; ``within``: the session that it is a run of, ``words`` its first ones, by which the call is
    found, and ``told`` the warning that the session is missing."""

    ids: tuple[str, ...] = ()
    starts: tuple[Start, ...] = ()
    within: str = ""
    words: str = ""
    told: str = ""


@dataclass(frozen=True)
class ReadInterview:
    """One thread: a conversation that runs in one line. A text that is "" is not known. ``line`` is where it begins in the
    file, from 1.

    ``kind`` is one of `KINDS`: a trajectory is a run of an agent, whose calls are coded too. A thread with a ``relation`` (one
    of `RELATIONS`) hangs on a turn of another of the same file: ``hangs_on`` is that one's ``external_id`` and the position
    of the turn, from 1. ``run`` says what is known of a run: ``task``, ``sample``, ``epoch``, ``status``, ``agent``, all text, and
    ``scores`` by their names.

    ``consent`` is what the file says of it, by scope (one of `CONSENT_SCOPES`); a scope that is missing is not known.
    ``links`` tie it to threads of other files that are imported with it.
    """

    external_id: str
    title: str
    turns: tuple[ReadTurn, ...]
    model_label: str = ""
    vendor: str = ""
    surface: str = ""
    period: str = ""
    interviewer: str = ""
    tier: str = ""
    inclusion: str = ""
    inclusion_reason: str = ""
    opening_prompt: str = ""
    language: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    consent: dict[str, bool] = field(default_factory=dict)
    consent_basis: str = ""
    line: int = 1
    kind: str = "interview"
    relation: str = ""
    hangs_on: tuple[str, int] | None = None
    run: dict[str, Any] = field(default_factory=dict)
    links: Links = Links()


@dataclass(frozen=True)
class ReadFile:
    """A whole file that was read without an error. ``warnings`` are sentences on what was assumed or left out; ``left_out`` has
    those of them that are counted, each with how often it happened. ``reason`` says what the format was recognised by.
    ``read_as_text`` are names that begin lines as speakers do and were taken for text, each with the number of its lines."""

    format: str
    interviews: list[ReadInterview]
    warnings: list[str]
    left_out: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    read_as_text: Mapping[str, int] = field(default_factory=dict)


class Naming(NamedTuple):
    """What a person said of names: which of those that were read as text speak, and which of the speakers are text."""

    speakers: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


NOTHING_SAID = Naming()

# What the end of a file's name promises, and all of these are zip archives.
_PROMISED = {
    ".docx": "a Word document",
    ".odt": "an OpenDocument text",
    ".eval": "a log of Inspect",
    ".qdpx": "a REFI-QDA project",
    ".zip": "a zip archive",
}


def refuse_by_ending(name: str) -> None:
    """Raise `ReadError` for bytes that are no text, where the file's name promises something else that they are not."""
    ending = next((each for each in _PROMISED if name.lower().endswith(each)), None)
    if ending:
        what = _PROMISED[ending]
        advice = "open it in the program that wrote it, save it again, or choose another file"
        raise ReadError(name, None, f"bytes that are not {what}", f"{what}, as its name ends in {ending} ({advice})")


class Source:
    """The text of a file for a reader: as a whole, or in pieces that ``read_pieces`` gives as often as it is called.

    ``objects`` are set where only some of a file's JSON objects, each with its line, are to be read. ``lenient`` says that NaN
    and Infinity in its JSON are null, as in the logs that Python programs write; ``naming`` who speaks in it and who does not,
    where a person said so.
    """

    def __init__(
        self,
        name: str,
        text: str | Callable[[], Iterator[str]],
        objects: Sequence[tuple[int, dict[str, Any]]] | None = None,
        *,
        lenient: bool = False,
        naming: Naming = NOTHING_SAID,
    ) -> None:
        self.name = name
        self.objects = objects
        self.lenient = lenient
        self.naming = naming
        self._text = text

    def read_pieces(self) -> Iterator[str]:
        """The text, piece by piece. Raises `ReadError`."""
        return iter([self._text]) if isinstance(self._text, str) else self._text()

    @cached_property
    def text(self) -> str:
        """The whole text. Raises `ReadError`."""
        if isinstance(self._text, str):
            return self._text
        pieces, length = [], 0
        for piece in self.read_pieces():
            pieces.append(piece)
            length += len(piece)
            if length > MAX_WHOLE_SIZE:
                found = f"text of more than {MAX_WHOLE_SIZE:,} characters in a format that is read as a whole"
                raise ReadError(self.name, None, found, "a smaller file (divide it)")
        return "".join(pieces)

    @property
    def stem(self) -> str:
        """The file's name without its last extension."""
        stem, dot, _ = self.name.rpartition(".")
        return stem if dot and stem else self.name


@dataclass(frozen=True)
class Reader:
    """A format: the words a person chooses it by, and the function that reads it or raises `ReadError`.

    Of a format that is ``divisible`` each JSON object is read by itself: what an object holds does not depend on the others.
    In a ``log``, which a program wrote for itself, NaN and Infinity are null. A format that ``joins`` has threads that may hang
    on those of other files.
    """

    label: str
    read: Callable[[Source], ReadFile]
    divisible: bool = False
    log: bool = False
    joins: bool = False

    def __str__(self) -> str:
        return self.label
