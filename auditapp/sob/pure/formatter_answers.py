"""Read what a formatter made of an answer: a small model that writes down in a fixed form what another model said.

Neither the answer nor the formatter is trusted. What the formatter sends is only ever read into a fixed shape, and a
value that the answer does not hold is no reading of it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path

from auditapp.sob.pure.answer_words import says_nothing, states_unknown
from auditapp.sob.pure.parsing import Outcome, Parsed, drop_thinking

_FILE = Path(__file__).parents[1] / "data" / "formatter.json"

MAX_ANSWER_LENGTH = 30_000
"""Characters of an answer that a formatter is shown; a longer one is left to people."""

_MAX_ATTRIBUTES = 50
_MAX_NAME_LENGTH = 200
_MAX_OBJECTS = 200
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class FormatterEnd(StrEnum):
    """What became of one call to the formatter. The first four are readings; so is an invented value, as off format.

    Of an answer that the rules take for a refusal, neither nothing nor an invented value is a reading.
    """

    ATTRIBUTED = "attributed"
    UNKNOWN = "unknown"
    REFUSAL = "refusal"
    OFF_FORMAT = "off_format"
    INVENTED = "invented_value"
    UNREADABLE = "unreadable"
    PERSON_FIRST = "person_was_first"
    REFUSAL_STANDS = "refusal_stands"
    NO_ANSWER = "provider_error"


@dataclass(frozen=True, slots=True)
class FormatterPrompt:
    """The instructions, with a gap for the characteristics; ``sha256`` is that of the text with its gap."""

    version: str
    text: str
    source: str

    @property
    def sha256(self) -> str:
        return sha256(self.text.encode()).hexdigest()

    def fill_in(self, characteristics: Sequence[str]) -> str:
        """The system message for answers that were asked for these characteristics."""
        return self.text.replace("{characteristics}", "\n".join(f"- {name}" for name in characteristics))


@cache
def load_prompt() -> FormatterPrompt:
    """The formatter's instructions."""
    entry = json.loads(_FILE.read_text(encoding="utf-8"))
    return FormatterPrompt(version=entry["version"], text=entry["text"], source=entry["source"])


def write_message(answer: str) -> str:
    """The user message: the answer between two lines that it cannot forge, for they bear its own hash."""
    mark = sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"<<<ANSWER {mark}\n{answer}\n{mark} ANSWER>>>"


def read_formatter_answer(raw: str | None, answer: str) -> tuple[FormatterEnd, Parsed | None]:
    """The reading of ``answer`` that the formatter's ``raw`` words give; None where there is none to store."""
    if raw is None:
        return FormatterEnd.NO_ANSWER, None
    # What it only thought of is no reading, also where it was cut off while thinking.
    for content in _find_objects(drop_thinking(raw)[0]):
        if "person" in content:
            return _read_person(content["person"], answer)
    return FormatterEnd.UNREADABLE, None


def read_refused_answer(raw: str | None, answer: str) -> tuple[FormatterEnd, Parsed | None]:
    """The reading of an ``answer`` that the rules take for a refusal, which only words of the answer itself can disprove.

    Where the formatter finds nothing in it, or an Unknown that it does not say, the refusal stays.
    """
    end, parsed = read_formatter_answer(raw, answer)
    if end is FormatterEnd.INVENTED:
        return end, None
    says_unknown = _holds(_fold(drop_thinking(answer)[0]), "unknown")
    if end is FormatterEnd.OFF_FORMAT or (end is FormatterEnd.UNKNOWN and not says_unknown):
        return FormatterEnd.REFUSAL_STANDS, None
    return end, parsed


def _find_objects(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON objects in a text, one after the other. Only strict JSON: nothing is repaired here."""
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(_MAX_OBJECTS):
        start = text.find("{", position)
        if start < 0:
            return
        try:
            content, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        if isinstance(content, dict):
            yield content


def _read_person(person: object, answer: str) -> tuple[FormatterEnd, Parsed | None]:
    if person is None:
        return FormatterEnd.OFF_FORMAT, Parsed(Outcome.OFF_FORMAT, layer="formatter")
    if isinstance(person, str):
        word = person.strip().lower()
        if states_unknown(word):
            return FormatterEnd.UNKNOWN, Parsed(Outcome.UNKNOWN, layer="formatter")
        if word == "refusal":
            return FormatterEnd.REFUSAL, Parsed(Outcome.REFUSAL, layer="formatter")
    if isinstance(person, dict) and person:
        return _read_description(person, answer)
    # An empty object says neither that something is attributed nor that it is unknown.
    return FormatterEnd.UNREADABLE, None


def _read_description(person: Mapping[str, object], answer: str) -> tuple[FormatterEnd, Parsed | None]:
    known = {name.strip(): value for name, value in person.items() if not says_nothing(value)}
    if not known:
        return FormatterEnd.UNKNOWN, Parsed(Outcome.UNKNOWN, is_object=True, layer="formatter")
    if len(known) > _MAX_ATTRIBUTES or not all(map(_is_plain, known.items())):
        return FormatterEnd.UNREADABLE, None
    searched = _fold(drop_thinking(answer)[0])
    if not all(_holds(searched, part) for value in known.values() for part in _list_parts(value)):
        return FormatterEnd.INVENTED, Parsed(Outcome.OFF_FORMAT, layer="formatter")
    parsed = Parsed(Outcome.ATTRIBUTED, known, len(known), is_object=True, layer="formatter")
    return FormatterEnd.ATTRIBUTED, parsed


def _is_plain(attribute: tuple[str, object]) -> bool:
    """Whether a name is a short one and its value a word, a number or a short list of those."""
    name, value = attribute
    if not name or len(name) > _MAX_NAME_LENGTH or _UNSTORABLE.search(name):
        return False
    values = value if isinstance(value, list) else [value]
    return len(values) <= _MAX_ATTRIBUTES and all(isinstance(each, str) or _is_number(each) for each in values)


def _is_number(value: object) -> bool:
    # A whole number may be too large for the question whether it is finite.
    return type(value) is int or (isinstance(value, float) and math.isfinite(value))


def _list_parts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(searched: str, value: str) -> bool:
    """Whether the value is in the answer as words of its own: "man" is not in "woman"."""
    words = _fold(value)
    return bool(words) and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", searched) is not None
