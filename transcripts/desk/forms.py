"""Reads the fields of the desk's forms, posted by a browser or by the page's own script.

People type only a few of these fields (notes, reasons, memos); the page fills in the rest. So there is no form to show again: a
field that the page would not send is refused with one sentence.

Positions inside a text are stored in code points, while a browser counts UTF-16 units.

Both count a letter with combining marks as several; they differ for characters outside the first 65,536 (emoji, rare
ideographs), which a browser counts twice.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.http import QueryDict

from transcripts.coding.values import CHOICE_FIELDS, CodingValues
from transcripts.corpus.pure.boundaries import Extent
from transcripts.ui.typed_text import find_number

MAX_COUNT = 999_999_999
ANSWER = "attribute:"


class WrongField(Exception):
    """A field is missing or malformed: the page is out of date, or did not send this request."""

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"The field {name} must be {expected}. Reload the page and try again.")
        self.name = name


def read_values(data: QueryDict) -> CodingValues:
    """The values of a coding, without its quote. The action checks whether they fit the code."""
    given: dict[str, Any] = {name: data[name] for name in (*CHOICE_FIELDS, "note") if data.get(name)}
    return CodingValues(**given, attributes=read_answers(data))


def read_quote(data: QueryDict) -> tuple[int, int] | str | None:
    """The quote, if any: two offsets in UTF-16 units of the sentence's text, or the typed words."""
    if data.get("quote_from") or data.get("quote_to"):
        return read_count(data, "quote_from"), read_count(data, "quote_to")
    return data.get("quote", "").strip() or None


def read_idempotency_key(data: QueryDict) -> UUID:
    """The idempotency key that the page's script sends with a change; for a plain form, a new one."""
    return read_uuid(data, "idempotency_key") if data.get("idempotency_key") else uuid4()


def read_id(data: QueryDict, name: str) -> int:
    """The id of a row. Raises ``WrongField``."""
    number = find_number(data.get(name, ""))
    if number is None:
        raise WrongField(name, "a number")
    return number


def read_count(data: QueryDict, name: str) -> int:
    """An offset in a text. Raises ``WrongField``."""
    count = find_number(data.get(name, ""), most=MAX_COUNT)
    if count is None:
        raise WrongField(name, "a whole number")
    return count


def read_answers(data: QueryDict) -> dict[str, str]:
    """The answers to a code's own questions, each under its key."""
    return {name.removeprefix(ANSWER): data.get(name, "") for name in data if name.startswith(ANSWER)}


def is_uuid(value: str) -> bool:
    """Whether a field is an idempotency key."""
    try:
        UUID(value)
    except ValueError:
        return False
    return True


def read_uuid(data: QueryDict, name: str) -> UUID:
    """The idempotency key of a change or a row. Raises ``WrongField``."""
    try:
        return UUID(data.get(name, ""))
    except ValueError:
        raise WrongField(name, "32 hexadecimal digits") from None


UNIT_BYTES = 2


class WrongSpan(ValueError):
    """The marked words are not valid; the message is for the person who marked them."""


def find_points(text: str, units: int) -> int:
    """Convert a position from UTF-16 units to code points. Raises ``WrongSpan``."""
    if "\r\n" in text:
        return _find_points_past_breaks(text, units)
    if text.isascii():
        if units > len(text):
            raise WrongSpan("The quote ends after its sentence. Mark the words again.")
        return units
    data = text.encode("utf-16-le", "surrogatepass")
    if units * UNIT_BYTES > len(data):
        raise WrongSpan("The quote ends after its sentence. Mark the words again.")
    try:
        return len(data[: units * UNIT_BYTES].decode("utf-16-le"))
    except UnicodeDecodeError:
        raise WrongSpan("The quote splits a character. Mark the words again.") from None


def _find_points_past_breaks(text: str, units: int) -> int:
    """The same for a text with two-character line breaks, which a page counts as one; they occur after a merge of sentences."""
    rest = points = find_points(text.replace("\r\n", "\n"), units)
    for line in text.split("\r\n"):
        if rest <= len(line):
            break
        rest -= len(line) + 1
        points += 1
    return points


def find_span(text: str, first: int, last: int) -> Extent:
    """The span that a browser marked in ``text`` from ``first`` up to ``last``, in code points. Raises ``WrongSpan``."""
    span = Extent(find_points(text, first), find_points(text, last))
    if span.start >= span.end:
        raise WrongSpan("The quote is empty. Mark at least one character.")
    return span


def find_words(text: str, words: str) -> Extent:
    """The span of ``words`` in ``text``, where they must occur exactly once. Raises ``WrongSpan``."""
    words = words.strip()
    start = text.find(words) if words else -1
    if start < 0:
        raise WrongSpan("These words are not in the sentence. Copy them exactly.")
    if text.find(words, start + 1) >= 0:
        raise WrongSpan("These words occur more than once in the sentence. Include the word before or after them.")
    return Extent(start, start + len(words))
