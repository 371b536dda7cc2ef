"""What the desk's forms send, whether a browser posts them or the page's own script does.

People type a few of these fields (notes, reasons, memos); the rest is made by the page. So there is no form to show again,
only fields to read, and one sentence to say when one of them is not what the page sends.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.http import QueryDict

from transcripts.coding.values import CHOICE_FIELDS, CodingValues

LARGEST_ID = 2**63 - 1
LONGEST_COUNT = 10
ANSWER = "attribute:"


class WrongField(Exception):
    """A field is missing or not what the page sends: an old page, or somebody else's request."""

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"The field {name} is to be {expected}. Reload the page and try again.")
        self.name = name


class Marked(NamedTuple):
    """A quote as the page sends it, in UTF-16 units of the sentence's text, or the words as somebody typed them."""

    first: int
    last: int
    words: str = ""

    @classmethod
    def read(cls, data: QueryDict) -> Marked | None:
        if data.get("quote_from") or data.get("quote_to"):
            return cls(read_count(data, "quote_from"), read_count(data, "quote_to"))
        words = data.get("quote", "").strip()
        return cls(0, 0, words) if words else None


class PutFields(NamedTuple):
    """A code and the values of its coding, the quote apart. What fits the code is checked by the action."""

    sentence_id: int
    code_id: int
    values: CodingValues
    marked: Marked | None
    range_id: UUID | None
    reason: str
    client_id: UUID

    @classmethod
    def read(cls, data: QueryDict) -> PutFields:
        given: dict[str, Any] = {name: data[name] for name in (*CHOICE_FIELDS, "note") if data.get(name)}
        return cls(
            sentence_id=read_id(data, "sentence"),
            code_id=read_id(data, "code"),
            values=CodingValues(**given, attributes=read_answers(data)),
            marked=Marked.read(data),
            range_id=read_uuid(data, "range") if data.get("range") else None,
            reason=data.get("reason", ""),
            client_id=read_client_id(data),
        )


class AgainFields(NamedTuple):
    """Put a coding again that was taken off or changed: redo, and the undoing of a change."""

    sentence_id: int
    again: UUID
    reason: str
    client_id: UUID

    @classmethod
    def read(cls, data: QueryDict) -> AgainFields:
        reason = data.get("reason", "")
        return cls(read_id(data, "sentence"), read_uuid(data, "again"), reason, read_client_id(data))


class PlaceFields(NamedTuple):
    """An act at a sentence."""

    sentence_id: int
    client_id: UUID

    @classmethod
    def read(cls, data: QueryDict) -> PlaceFields:
        return cls(read_id(data, "sentence"), read_client_id(data))


class MemoFields(NamedTuple):
    """A memo; without a sentence it is on the interview."""

    sentence_id: int | None
    text: str
    kind: str
    client_id: UUID

    @classmethod
    def read(cls, data: QueryDict) -> MemoFields:
        sentence_id = read_id(data, "sentence") if data.get("sentence") else None
        return cls(sentence_id, data.get("text", ""), data.get("kind", ""), read_client_id(data))


def read_client_id(data: QueryDict) -> UUID:
    """The number the page's script gave to an act; a plain form has none, and gets one here."""
    return read_uuid(data, "client_id") if data.get("client_id") else uuid4()


def read_id(data: QueryDict, name: str) -> int:
    """The number of a row. Raises ``WrongField``."""
    value = data.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) < 20 and int(value) <= LARGEST_ID):
        raise WrongField(name, "a number")
    return int(value)


def read_count(data: QueryDict, name: str) -> int:
    """A place in a text. Raises ``WrongField``."""
    value = data.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) < LONGEST_COUNT):
        raise WrongField(name, "a whole number")
    return int(value)


def read_answers(data: QueryDict) -> dict[str, str]:
    """The answers to a code's own questions, each under its key."""
    return {name.removeprefix(ANSWER): data.get(name, "") for name in data if name.startswith(ANSWER)}


def is_uuid(value: str) -> bool:
    """Whether a field names an act or a row."""
    try:
        UUID(value)
    except ValueError:
        return False
    return True


def read_uuid(data: QueryDict, name: str) -> UUID:
    """The client id of an act or a row. Raises ``WrongField``."""
    try:
        return UUID(data.get(name, ""))
    except ValueError:
        raise WrongField(name, "32 hexadecimal digits") from None
