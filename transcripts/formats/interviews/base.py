"""The results and errors of every reader: interviews, turns, and errors that name the place.

Also the reading of what a JSON object says about an interview besides its turns: named fields, metadata, and times.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

ROLES = ("interviewer", "model", "system", "tool")
CHANNELS = ("utterance", "reasoning", "tool_call", "tool_result")
KINDS = ("interview", "trajectory")
RELATIONS = ("", "branch", "subagent", "continuation")
"""How a thread continues from a turn of another: as a branch, as a run that the turn started, or after a summary."""
CONSENT_SCOPES = ("coding", "external", "quotation", "reuse")
MAX_BASIS_LENGTH = 2_000
"""The greatest length of the basis of a consent."""

MAX_FILE_SIZE = 500_000_000
"""Bytes of a file, or of a file in an archive."""
MAX_WHOLE_SIZE = 100_000_000
"""Bytes of a file whose format is read as a whole."""
MAX_TURN_SIZE = 1_000_000
"""Bytes of a turn's text in UTF-8."""
KEPT_OF_RESULT = 100_000
"""The number of bytes that are kept of a tool's result which is too large for a turn."""
MAX_TURNS = 50_000
"""Turns of a conversation."""


@dataclass(frozen=True)
class ReadTurn:
    """What one side said at one point. ``text`` is exactly as in the file, including white space and line breaks.

    ``role`` is one of `ROLES`, ``channel`` one of `CHANNELS`; ``speaker`` is the name the file gives, for tool traffic the name
    of the tool; ``prompt_kind`` says what kind of question an interviewer's turn is. ``call_id`` joins a result with its call.
    ``details``, what the file says about the turn, may have: ``at`` (ISO 8601), ``model``, ``step`` (a number), ``tokens``
    ({"input": 3, "output": 4}), ``is_summary``, ``redacted``, ``prefilled`` (words put into the model's mouth), ``error``
    (true, or what went wrong), ``error_type`` (its kind, such as timeout), ``truncated`` ({"bytes", "sha256"} of the whole
    text).
    """

    role: str
    channel: str
    speaker: str
    text: str
    prompt_kind: str = ""
    call_id: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class Start(NamedTuple):
    """A turn, by its position, that starts a run stored in another file: the relation, the names by which that file may be known
    (its file name, ids), and the warning if it is missing, or ""."""

    relation: str
    position: int
    names: tuple[str, ...]
    told: str = ""


@dataclass(frozen=True)
class Links:
    """The connections of a thread with threads of other files; see threads.py. ``ids``: other names that files use for it;
    ``starts``: the runs that its turns start; ``within``: the session to which the run belongs, ``words``: its first words, by
    which the call is found, and ``told``: the warning if the session is missing."""

    ids: tuple[str, ...] = ()
    starts: tuple[Start, ...] = ()
    within: str = ""
    words: str = ""
    told: str = ""


@dataclass(frozen=True)
class ReadInterview:
    """One thread: a conversation as one sequence of turns. A text that is "" is not known. ``line`` is where it begins in the
    file, from 1.

    ``kind`` is one of `KINDS`: a trajectory is a run of an agent, whose calls are coded too. A thread with a ``relation`` (one
    of `RELATIONS`) continues from a turn of another thread in the same file: ``hangs_on`` is that thread's ``external_id`` and
    the position of the turn, from 1. ``run`` has the facts about a run: ``task``, ``sample``, ``epoch``, ``status``, ``agent``,
    all text, and ``scores`` by their names.

    ``consent`` is what the file says about consent, by scope (one of `CONSENT_SCOPES`); a missing scope is not known. ``links``
    connect it with threads of other files that are imported with it.
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
    the counted ones among them, each with its count. ``reason`` says how the format was recognised. ``read_as_text`` are names
    that begin lines as speakers do but were read as text, each with the number of its lines."""

    format: str
    interviews: list[ReadInterview]
    warnings: list[str]
    left_out: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    read_as_text: Mapping[str, int] = field(default_factory=dict)


class Naming(NamedTuple):
    """A person's decisions about names: which names that were read as text are speakers, and which speakers are text."""

    speakers: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


NOTHING_SAID = Naming()

# The formats that the end of a file's name indicates; all of these are zip archives.
_PROMISED = {
    ".docx": "a Word document",
    ".odt": "an OpenDocument text",
    ".eval": "a log of Inspect",
    ".qdpx": "a REFI-QDA project",
    ".zip": "a zip archive",
}


def refuse_by_ending(name: str) -> None:
    """Raise `ReadError` for bytes that are not text if the file's name indicates a format that they do not have."""
    ending = next((each for each in _PROMISED if name.lower().endswith(each)), None)
    if ending:
        what = _PROMISED[ending]
        advice = "open it in the program that wrote it, save it again, or choose another file"
        raise ReadError(name, None, f"bytes that are not {what}", f"{what}, as its name ends in {ending} ({advice})")


class Source:
    """The text of a file for a reader: as a whole, or in pieces, which ``read_pieces`` returns each time it is called.

    ``objects`` is set if only some of a file's JSON objects, each with its line, are to be read. ``lenient`` says that NaN and
    Infinity in its JSON are null, as in logs that Python programs write; ``naming`` has a person's decisions about who speaks.
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
    """A format: its name for people, and the function that reads it or raises `ReadError`.

    If it is ``divisible``, each JSON object can be read separately, because objects do not depend on each other. In a ``log``,
    which a program wrote for itself, NaN and Infinity are null. If it ``joins``, its threads may continue from those of other
    files.
    """

    label: str
    read: Callable[[Source], ReadFile]
    divisible: bool = False
    log: bool = False
    joins: bool = False

    def __str__(self) -> str:
        return self.label


NAMED_DETAILS = {
    "title": "title",
    "model": "model_label",
    "model_label": "model_label",
    "vendor": "vendor",
    "surface": "surface",
    "period": "period",
    "date": "period",
    "interviewer": "interviewer",
    "tier": "tier",
    "inclusion": "inclusion",
    "inclusion_reason": "inclusion_reason",
    "opening_prompt": "opening_prompt",
    "language": "language",
}
"""Keys of a line and the field of `ReadInterview` that each fills. All are text; null and absence mean not known."""
# Larger numbers are milliseconds, and still larger ones microseconds.
_SECONDS, _MILLISECONDS = 1e11, 1e14
_WARNINGS_SHOWN = 20


def read_objects(
    format: str, source: Source, read: Callable[[JsonLine, Source, Counter[str]], Iterable[ReadInterview]]
) -> ReadFile:
    """The interviews that ``read`` makes from each JSON object of a file, counting what is left out. Raises `ReadError`."""
    left_out: Counter[str] = Counter()
    interviews = [interview for line in read_json_objects(source) for interview in read(line, source, left_out)]
    left_out = +left_out
    return ReadFile(format, interviews, list_left_out(left_out), left_out)


def read_named(line: JsonLine, source: Source, *, apart: frozenset[str], external_id: str = "") -> dict[str, Any]:
    """The fields that `read_details` reads, with an id and a title.

    The id is ``external_id``, else the id of the line, else the file's name and the number of the line. It is also the title of an
    interview without one.
    """
    number, content = line
    external_id = external_id or read_id(content) or f"{source.stem}-{number}"
    details = read_details(line, name=source.name, apart=apart)
    title = details.get("title", "")
    return {**details, "external_id": external_id, "title": title if title.strip() else external_id}


def read_details(line: JsonLine, *, name: str, apart: frozenset[str]) -> dict[str, Any]:
    """Fields of `ReadInterview` from every key of the line that is not in ``apart``, and its consent.

    Metadata that are not text are kept as JSON; null is left out.
    """
    number, content = line
    fields: dict[str, str] = {}
    metadata: dict[str, str] = {}
    for key, value in content.items():
        if key in apart or value is None:
            continue
        target = NAMED_DETAILS.get(key)
        if target is None:
            metadata[key] = write_plain(value)
        elif not isinstance(value, str):
            raise ReadError(name, number, f"{name_json_type(value)} as {shorten(key)}", "text or null")
        elif target in fields and fields[target] != value:
            raise ReadError(name, number, f"two different values for the {target.replace('_', ' ')}", "one")
        else:
            fields[target] = value
    scopes, basis = _read_consent(line, name=name)
    return {**fields, "metadata": metadata, "consent": scopes, "consent_basis": basis, "line": number}


def _read_consent(line: JsonLine, *, name: str) -> tuple[dict[str, bool], str]:
    """The line's "consent" by scope, and its basis. Refused unless it is exactly right: a consent must not be guessed."""
    number, content = line
    given = content.get("consent")
    if given is None:
        return {}, ""
    if not isinstance(given, dict):
        expected = f'an object such as {{"external": true, "basis": "…"}} with {", ".join(CONSENT_SCOPES)}'
        raise ReadError(name, number, f'{name_json_type(given)} as "consent"', expected)
    scopes = {key: value for key, value in given.items() if key != "basis" and value is not None}
    for key, value in scopes.items():
        if key not in CONSENT_SCOPES:
            raise ReadError(
                name, number, f'{shorten(key)} in "consent"', f"one of {', '.join(CONSENT_SCOPES)}, or basis"
            )
        if not isinstance(value, bool):
            raise ReadError(name, number, f'{name_json_type(value)} as {shorten(key)} in "consent"', "true or false")
    basis = given.get("basis")
    if basis is not None and not isinstance(basis, str):
        raise ReadError(name, number, f'{name_json_type(basis)} as the basis in "consent"', "text")
    if basis and len(basis) > MAX_BASIS_LENGTH:
        raise ReadError(name, number, f"a basis of {len(basis):,} characters", f"at most {MAX_BASIS_LENGTH:,}")
    return scopes, (basis or "").strip()


def write_plain(value: object) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def find_object(held: Any, key: str) -> JsonObject:
    """The object that ``held`` has under this key; an empty one if it has none or is not an object."""
    found = held.get(key) if isinstance(held, dict) else None
    return found if isinstance(found, dict) else {}


def find_list(held: Any, key: str) -> list[Any]:
    """The list that ``held`` has under this key; an empty one if it has none or is not an object."""
    found = held.get(key) if isinstance(held, dict) else None
    return found if isinstance(found, list) else []


def find_text(held: Any, key: str) -> str:
    """The text that ``held`` has under this key; "" if it has none or is not an object."""
    found = held.get(key) if isinstance(held, dict) else None
    return found if isinstance(found, str) else ""


def read_id(content: JsonObject) -> str | None:
    """The id, a text or a whole number; None without a usable one."""
    value: Any = content.get("id")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def leave_out_silent(interviews: Iterable[ReadInterview], left_out: Counter[str]) -> list[ReadInterview]:
    """The conversations that have messages: an account's export also contains conversations that were only begun."""
    kept = []
    for interview in interviews:
        if any(turn.text.strip() for turn in interview.turns):
            kept.append(interview)
        else:
            left_out["A conversation without any messages was left out."] += 1
    return kept


def list_left_out(left_out: Counter[str]) -> list[str]:
    """Warnings on what was left out, the most frequent first, each with how often it happened."""
    warnings = [say_times(sentence, count) for sentence, count in left_out.most_common(_WARNINGS_SHOWN)]
    more = len(left_out) - _WARNINGS_SHOWN
    if more > 0:
        were = "was" if more == 1 else "were"
        warnings.append(f"{more:,} more kind{'s' if more > 1 else ''} of content {were} left out.")
    return warnings


def say_times(sentence: str, count: int) -> str:
    """A sentence with the number of times it applies, if more than once."""
    return sentence if count == 1 else f"{sentence} ({count:,} times)"


def read_time(given: object) -> str:
    """The time as ISO 8601, in UTC if the file counts from 1970; "" if it is not a time."""
    if isinstance(given, bool) or given is None:
        return ""
    if isinstance(given, str):
        if not given.isdigit():
            return given[:40] if _is_iso(given) else ""
        given = int(given[:25])
    if not isinstance(given, int | float) or not given:
        return ""
    seconds = given if given < _SECONDS else given / 1e3 if given < _MILLISECONDS else given / 1e9
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""


def describe_turn(at: object, model: object = "") -> dict[str, Any]:
    """The time and the model as details of a turn, if they are known."""
    time = read_time(at)
    return {
        **({"at": time} if time else {}),
        **({"model": model[:200]} if isinstance(model, str) and model else {}),
    }


def read_day(given: object) -> str:
    """The day of a time, such as 2026-03-01; "" if it is not a time."""
    return read_time(given)[:10]


def write_clock(seconds: float) -> str:
    """A time in a recording, such as 00:01:02.500."""
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}.{thousandths:03}"


def note_clock(turns: Iterable[ReadTurn], left_out: Counter[str]) -> None:
    """Count turns whose time is earlier than that of the last turn before them that has one."""
    before: datetime.datetime | None = None
    for turn in turns:
        at = turn.details.get("at")
        now = datetime.datetime.fromisoformat(at) if isinstance(at, str) and _is_iso(at) else None
        if now is None:
            continue
        # Times without a zone cannot be compared with those that have one.
        if before is not None and (now.tzinfo is None) == (before.tzinfo is None) and now < before:
            left_out[
                "The time of a turn is earlier than that of the one before it; the order of the file was kept."
            ] += 1
        before = now


def _is_iso(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= len("2026-01-01")
