"""The fields of a JSON object, each taken as what it has to be. What is wrong is said in one way, whatever the file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from transcripts.formats.json_lines import name_json_type, shorten
from transcripts.formats.problems import ReadError, show_count
from transcripts.formats.strict_table import is_heading

Row = Mapping[str, Any]
Given = TypeVar("Given")
Read = TypeVar("Read")


class WrongField(ValueError):
    """What an object has, and what it should have; they complete a ``ReadError``, which knows the file and the line."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)

    def __str__(self) -> str:
        return "Found {}; expected {}.".format(*self.args)


def read_each(
    rows: Iterable[tuple[int, Given]], name: str, read: Callable[[Given], Read]
) -> Iterator[tuple[int, Read]]:
    """What ``read`` makes of each row or object of a file, after its line. Raises ``ReadError`` for its ``WrongField``."""
    for line, row in rows:
        try:
            made = read(row)
        except WrongField as error:
            raise ReadError(name, line, *error.args) from None
        yield line, made


def take_text(row: Row, *keys: str, default: str | None = None) -> str:
    """The text under the first of the keys that is there. It may be missing or blank only where there is a ``default``."""
    value = None
    for key in keys:  # not by a function of its own: a file may have millions of fields
        if (value := row.get(key)) is not None:
            break
    if value and isinstance(value, str) and (default is not None or not value.isspace()):
        return value
    if default is not None and value in (None, ""):
        return default
    raise refuse_field(row, keys, "a text")


def take_words(row: Row, key: str, expected: str) -> str | None:
    """A text, which may be empty, or ``None`` where it is null or missing."""
    value = row.get(key)
    if value is None or isinstance(value, str):
        return value
    raise refuse_field(row, [key], expected)


def take_name(row: Row, *keys: str) -> str:
    """What something is known by, a text that is not blank or a whole number, as text."""
    value = next((row[key] for key in keys if row.get(key) is not None), None)
    if is_whole(value) or (isinstance(value, str) and value and not value.isspace()):
        return str(value)
    raise refuse_field(row, keys, "a text or a whole number")


def take_whole(row: Row, *keys: str, lowest: int = 0, default: int | None = None) -> int:
    """The whole number under the first of the keys that is there."""
    value = None
    for key in keys:
        if (value := row.get(key)) is not None:
            break
    if type(value) is int and value >= lowest:
        return value
    if default is not None and value is None:
        return default
    raise refuse_field(row, keys, f"a whole number from {lowest} up")


def take_choice(row: Row, key: str, choices: Collection[str]) -> str:
    """The text under a key, which is one of the choices."""
    value = row.get(key)
    if isinstance(value, str) and value in choices:
        return value
    raise refuse_field(row, (key,), list_choices(choices))


def take_truth(row: Row, key: str) -> bool | None:
    """True, false, or ``None`` where nothing is said."""
    value = row.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise refuse_field(row, (key,), "true, false or null")


def refuse_others(row: Row, known: Iterable[str]) -> None:
    """Raise ``WrongField`` for a key that is none of those known."""
    for key in row:
        if key not in known:
            raise WrongField(f"the key {shorten(key)}", list_choices(sorted(known)))


def refuse_field(row: Row, keys: Iterable[str], expected: str) -> WrongField:
    """The error for what is under the first of the keys that is there, or for none of them being there."""
    keys = list(keys)
    there = next((key for key in keys if row.get(key) is not None), None)
    if there is not None:
        return WrongField(f"{show(row[there])} for “{there}”", expected)
    record = row.get("record")
    # What is no kind of record may be somebody's words.
    what = f"a {record}" if isinstance(record, str) and is_heading(record) else "an object"
    return WrongField(f"{what} without {' or '.join(f'“{key}”' for key in keys)}", expected)


def is_whole(value: object) -> bool:
    """Whether it is a whole number from 0 up; true and false are none."""
    return type(value) is int and value >= 0


def show(value: object) -> str:
    """A value for "found ...": words and numbers as they are; a text that may be an answer or somebody's words by its length."""
    if isinstance(value, str):
        long = f"a text of {show_count(len(value), 'character')}" if value else "an empty text"
        return shorten(value) if is_heading(value) else long
    return str(value) if type(value) in (int, float) else name_json_type(value)


def list_choices(choices: Iterable[str]) -> str:
    """As in "a, b or c"."""
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last
