"""What the desk's forms send, whether a browser posts them or the page's own script does.

People type two of these fields, the note and the memo; the rest is made by the page. So there is no form to show again,
only fields to read, and one sentence to say when one of them is not what the page sends.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID, uuid4

from django.http import QueryDict

LARGEST_ID = 2**63 - 1


class WrongField(Exception):
    """A field is missing or not what the page sends: an old page, or somebody else's request."""

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"The field {name} is to be {expected}. Reload the page and try again.")
        self.name = name


class PutFields(NamedTuple):
    """A code and how it is put. What fits the code is checked by the action."""

    sentence_id: int
    code_id: int
    level: str
    enactment: str
    note: str
    client_id: UUID

    @classmethod
    def read(cls, data: QueryDict) -> PutFields:
        return cls(
            sentence_id=read_id(data, "sentence"),
            code_id=read_id(data, "code"),
            level=data.get("level") or "semantic",
            enactment=data.get("enactment", ""),
            note=data.get("note", ""),
            client_id=read_client_id(data),
        )


class AgainFields(NamedTuple):
    """Put a coding again that was taken off or changed: redo, and the undoing of a change."""

    sentence_id: int
    again: UUID
    client_id: UUID

    @classmethod
    def read(cls, data: QueryDict) -> AgainFields:
        return cls(read_id(data, "sentence"), read_uuid(data, "again"), read_client_id(data))


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
    client_id: UUID

    @classmethod
    def read(cls, data: QueryDict) -> MemoFields:
        sentence_id = read_id(data, "sentence") if data.get("sentence") else None
        return cls(sentence_id, data.get("text", ""), read_client_id(data))


def read_client_id(data: QueryDict) -> UUID:
    """The number the page's script gave to an act; a plain form has none, and gets one here."""
    return read_uuid(data, "client_id") if data.get("client_id") else uuid4()


def read_id(data: QueryDict, name: str) -> int:
    """The number of a row. Raises ``WrongField``."""
    value = data.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) < 20 and int(value) <= LARGEST_ID):
        raise WrongField(name, "a number")
    return int(value)


def read_uuid(data: QueryDict, name: str) -> UUID:
    """The client id of an act or a row. Raises ``WrongField``."""
    try:
        return UUID(data.get(name, ""))
    except ValueError:
        raise WrongField(name, "32 hexadecimal digits") from None
