"""Strict reading of JSON, a list or objects, on one line each or not: what two programs could read differently is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NoReturn, Protocol, TypeVar

from transcripts.formats.problems import ReadError, show_count
from transcripts.formats.tabular import is_heading

MAX_OBJECT_SIZE = 100_000_000
"""The greatest length of one JSON object, such as a conversation."""
MAX_NESTING = 64
"""The greatest nesting of objects and lists."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_ENDS = frozenset({"", "\n", "\r\n"})
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_ONE_OBJECT = "one JSON object on each line"
_A_SEPARATOR = "a comma or the end of the list"
_BETWEEN = re.compile(r"\s*")
# Apart from strings, only a long number can be divided by the end of a window.
_LONGEST_TOKEN = 5_000

JsonObject = dict[str, Any]

JsonLine = tuple[int, JsonObject]
"""The number of a line, from 1, and the object that begins there."""


class JsonSource(Protocol):
    """A text in pieces; or ``objects``, where only some of its objects are to be read. ``lenient``: NaN and Infinity are null."""

    name: str
    lenient: bool
    objects: Sequence[JsonLine] | None

    def read_pieces(self) -> Iterator[str]: ...


class _NotPlainJson(ValueError):
    """Something that JSON parsers read differently; the text completes "found ..."."""


def read_json_objects(source: JsonSource) -> Iterator[JsonLine]:
    """Every object of the file: those of a list, one or several written over many lines, or one on each line.

    Only the object that is being read is in memory. Raises `ReadError` for a line without an object, a repeated key in an
    object, NaN or Infinity (unless the source is ``lenient``), a number with thousands of digits, and nesting deeper than
    `MAX_NESTING`.
    """
    if source.objects is not None:
        yield from source.objects
        return
    pieces = source.read_pieces()
    head, is_spread = _look_at_beginning(pieces)
    whole = chain([head], pieces)
    decoder = _LENIENT_DECODER if source.lenient else _DECODER
    if is_spread:
        yield from _read_spread(_Window(whole, source.name, decoder))
        return
    for number, line in enumerate(_split_lines(whole, source.name), 1):
        if line and not line.isspace():
            yield number, read_line(line, number, source.name, decoder)


def _look_at_beginning(pieces: Iterator[str]) -> tuple[str, bool]:
    """The pieces up to the end of the first line with text, and whether the text is a list, or objects over many lines."""
    head = ""
    is_found = False
    for piece in pieces:
        head += piece
        is_found = is_found or bool(piece.strip())
        is_line = is_found and (head.lstrip()[0] != "{" or _LINE_BREAK.search(piece))
        if is_line or len(head) > MAX_OBJECT_SIZE:
            break
    first_line = _LINE_BREAK.split(head.lstrip(), maxsplit=1)[0].rstrip()
    return head, first_line.startswith("[") or (first_line.startswith("{") and not first_line.endswith("}"))


def _split_lines(pieces: Iterable[str], name: str) -> Iterator[str]:
    number, rest = 1, ""
    for piece in pieces:
        rest += piece
        # The second character of a line break may be in the next piece.
        if not piece.endswith("\r") and _LINE_BREAK.search(piece):
            *lines, rest = _LINE_BREAK.split(rest)
            number += len(lines)
            yield from lines
        if len(rest) > MAX_OBJECT_SIZE:
            raise _refuse_size(number, name)
    yield from _LINE_BREAK.split(rest)


class _Window:
    """The part of a text that is being read: from ``place`` on, which is on ``line``. The part before it is dropped."""

    def __init__(self, pieces: Iterator[str], name: str, decoder: json.JSONDecoder) -> None:
        self.text, self.place, self.line, self.name = "", 0, 1, name
        self._pieces, self._decoder = pieces, decoder
        self._is_whole = False

    def move(self, place: int) -> None:
        """Go on to a later place."""
        self.line += self.text.count("\n", self.place, place)
        self.place = place

    def look(self) -> str:
        """Skip white space and return the character after it, "" at the end."""
        while True:
            found = _BETWEEN.match(self.text, self.place)
            self.move(found.end() if found else self.place)
            if self.place < len(self.text):
                return self.text[self.place]
            if not self._grow():
                return ""

    def read(self) -> JsonLine:
        """Read the JSON object that begins here; returned with the line where it begins."""
        line = self.line
        while True:
            try:
                content, end = self._decoder.raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                if self._breaks_off(error) and self._grow():
                    continue
                at = line + self.text.count("\n", self.place, error.pos)
                is_end = error.pos >= len(self.text.rstrip())
                found = (
                    "JSON that breaks off at the end of the file" if is_end else f"invalid JSON ({error.msg.lower()})"
                )
                raise ReadError(self.name, at, found, "JSON, a list or objects, or one object on each line") from None
            except (ValueError, RecursionError) as error:
                raise _refuse(error, line, self.name) from None
            checked = _check_object(content, line, self.name)
            self.move(end)
            return line, checked

    def _breaks_off(self, error: json.JSONDecodeError) -> bool:
        """Whether an error may be due to the end of the window."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self.text) - _LONGEST_TOKEN

    def _grow(self) -> bool:
        """Double the unread part, by at least one piece; False at the end of the text."""
        left = [self.text[self.place :]]
        wanted = len(left[0])
        if wanted > MAX_OBJECT_SIZE:
            raise _refuse_size(self.line, self.name)
        while not self._is_whole:
            piece = next(self._pieces, None)
            if piece is None:
                self._is_whole = True
                break
            left.append(piece)
            wanted -= len(piece)
            if piece and wanted <= 0:
                break
        if len(left) == 1:
            return False
        self.text, self.place = "".join(left), 0
        return True


def _read_spread(window: _Window) -> Iterator[JsonLine]:
    """The objects of a list, or objects one after the other, wherever their lines end."""
    name = window.name
    is_list = window.look() == "["
    window.move(window.place + is_list)
    while mark := window.look():
        if is_list and mark == "]":
            window.move(window.place + 1)
            if window.look():
                raise ReadError(name, window.line, "more text after the end of the list", "the end of the file")
            return
        yield window.read()
        if is_list:
            line = window.line
            mark = window.look()
            if mark not in {",", "]"}:
                found = "something else" if mark else "the end of the file"
                raise ReadError(name, line, f"{found} after an object of a list", _A_SEPARATOR)
            window.move(window.place + (mark == ","))
    if is_list:
        raise ReadError(name, window.line, "a JSON list that breaks off at the end of the file", _A_SEPARATOR)


def _refuse_size(line: int, name: str) -> ReadError:
    found = f"an object of more than {MAX_OBJECT_SIZE:,} characters"
    return ReadError(
        name, line, found, f"at most {MAX_OBJECT_SIZE:,} in one object, such as a conversation (divide it)"
    )


def read_line(line: str, number: int, name: str, decoder: json.JSONDecoder | None = None) -> JsonObject:
    """The one object of a line. Raises `ReadError` for what `read_json_objects` refuses."""
    decoder = decoder or _DECODER
    try:
        # `decode` looks for white space before and after the value, which takes as long as an ordinary line.
        content, end = decoder.raw_decode(line) if line[:1] == "{" else (None, 0)
        if not end or line[end:] not in _LINE_ENDS:
            content = decoder.decode(line)
    except json.JSONDecodeError as error:
        raise ReadError(name, number, _describe(error, line), _ONE_OBJECT) from None
    except (ValueError, RecursionError) as error:
        raise _refuse(error, number, name) from None
    if isinstance(content, dict) and line.count("{") + line.count("[") <= MAX_NESTING:
        return content  # without walking through it, which would take half of the time for ordinary lines
    return _check_object(content, number, name)


def read_value(data: bytes, name: str) -> Any:
    """The JSON of a small file in UTF-8, on any number of lines. Raises `ReadError` for what `read_lines` refuses in a line."""
    text = ""
    try:
        text = data.removeprefix(_BYTE_ORDER_MARK).decode("utf-8")
        if not text.strip():
            raise ReadError(name, None, "nothing", "JSON")
        content = _DECODER.decode(text)
    except UnicodeDecodeError as error:
        raise _refuse_byte(error, 1, name) from None
    except json.JSONDecodeError as error:
        raise ReadError(name, error.lineno, _describe(error, text), "one JSON value") from None
    except (ValueError, RecursionError) as error:
        raise _refuse(error, None, name) from None
    if _is_deeper(content, MAX_NESTING):
        raise _refuse_depth(None, name)
    return content


def read_object(data: bytes, name: str) -> JsonObject:
    """The same of a file that holds one object."""
    content = read_value(data, name)
    if not isinstance(content, dict):
        raise ReadError(name, None, name_json_type(content), "one JSON object")
    return content


def read_lines(lines: Iterable[bytes], name: str) -> Iterator[JsonLine]:
    """The object of each line that is not blank, read one line at a time. A byte order mark is allowed at the beginning.

    Raises `ReadError`, which names the line, for a byte that is not UTF-8 and for what `read_line` refuses.
    """
    for number, data in enumerate(lines, 1):
        try:
            line = (data.removeprefix(_BYTE_ORDER_MARK) if number == 1 else data).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _refuse_byte(error, number, name) from None
        if line and not line.isspace():
            yield number, read_line(line, number, name)


def _refuse_byte(error: UnicodeDecodeError, line: int, name: str) -> ReadError:
    """The refusal of bytes that begin on a line."""
    found = f"the byte 0x{error.object[error.start]:02X}, which is not UTF-8"
    return ReadError(name, line + error.object.count(b"\n", 0, error.start), found, "a file in UTF-8")


def _refuse(error: Exception, number: int | None, name: str) -> ReadError:
    """The refusal of JSON that may be well formed."""
    if isinstance(error, RecursionError):
        return _refuse_depth(number, name)
    if isinstance(error, _NotPlainJson):
        return ReadError(name, number, str(error), "JSON that every program reads the same way")
    # Python refuses to turn thousands of digits into a number.
    return ReadError(name, number, "a number with thousands of digits", "numbers of an ordinary size")


def _refuse_depth(number: int | None, name: str) -> ReadError:
    found = f"objects and lists nested deeper than {MAX_NESTING}"
    return ReadError(name, number, found, f"at most {MAX_NESTING} levels")


def _check_object(content: object, number: int, name: str) -> JsonObject:
    if not isinstance(content, dict):
        raise ReadError(name, number, name_json_type(content), _ONE_OBJECT)
    if _is_deeper(content, MAX_NESTING):
        raise _refuse_depth(number, name)
    return content


def _describe(error: json.JSONDecodeError, line: str) -> str:
    if error.msg.startswith("Extra data"):
        return f"more text after the first JSON value (character {error.colno})"
    if error.pos >= len(line.rstrip()):
        return f"JSON that breaks off at the end of the line (character {error.colno})"
    return f"invalid JSON at character {error.colno} ({error.msg.lower()})"


def name_json_type(value: object) -> str:
    """The type of a JSON value, in words for "found ..."."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names: dict[type, str] = {str: "text", dict: "an object", list: "a list"}
    return names.get(type(value), "a number")


def _is_deeper(value: object, levels: int) -> bool:
    level = [value]
    for _ in range(levels):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        if not inner:
            return False
        level = [item for item in inner if isinstance(item, dict | list)]
    return bool(level)


def _build_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _NotPlainJson(f"the key {shorten(key)} twice in one object")
            seen.add(key)
    return content


def shorten(text: str) -> str:
    """A key or a name in quotation marks, shortened to fit a sentence; unusual characters are escaped."""
    shown = json.dumps(text[:40] + "…" if len(text) > 40 else text, ensure_ascii=False)
    return shown.encode("utf-8", "backslashreplace").decode()


def list_keys(content: JsonObject) -> str:
    """The first keys of an object, for "found ..."."""
    keys = [shorten(key) for key in list(content)[:8]]
    return ", ".join(keys) + (", …" if len(content) > 8 else "") if keys else "(none)"


def _refuse_constant(constant: str) -> NoReturn:
    raise _NotPlainJson(f"{constant}, which is not a JSON number")


def _read_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotPlainJson("a number too large to keep")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object, parse_constant=_refuse_constant, parse_float=_read_float, strict=True
)

# Python writes NaN for missing numbers, and its logs contain many of them.
_LENIENT_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_constant=lambda _: None,
    parse_float=lambda digits: None if math.isinf(float(digits)) else float(digits),
    strict=True,
)


class BrokenPart(ReadError):
    """A file inside an archive that is not complete JSON, such as one that was being written when the program crashed."""


def read_part(text: str, *, place: str, name: str) -> Any:
    """The value of a file inside an archive, ``place`` by name; NaN and Infinity are null. Raises `ReadError`."""
    try:
        content = _LENIENT_DECODER.decode(text)
    except _NotPlainJson as error:
        raise ReadError(name, None, f"{error} in {place}", "JSON that every program reads the same way") from None
    except (ValueError, RecursionError):
        raise BrokenPart(name, None, f"{place}, which is not complete JSON", "an undamaged archive") from None
    if _is_deeper(content, MAX_NESTING):
        found = f"objects and lists nested deeper than {MAX_NESTING} in {place}"
        raise ReadError(name, None, found, f"at most {MAX_NESTING} levels")
    return content


Row = Mapping[str, Any]
Given = TypeVar("Given")
Read = TypeVar("Read")


class WrongField(ValueError):
    """What an object has and what it should have; they are completed to a ``ReadError`` with the file and the line."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)

    def __str__(self) -> str:
        return "Found {}; expected {}.".format(*self.args)


def read_each(
    rows: Iterable[tuple[int, Given]], name: str, read: Callable[[Given], Read]
) -> Iterator[tuple[int, Read]]:
    """The results of ``read`` for each row or object of a file, with its line. Raises ``ReadError`` for its ``WrongField``."""
    for line, row in rows:
        try:
            made = read(row)
        except WrongField as error:
            raise ReadError(name, line, *error.args) from None
        yield line, made


def take_text(row: Row, *keys: str, default: str | None = None) -> str:
    """The text under the first existing key. It may be missing or blank only if there is a ``default``."""
    value = None
    for key in keys:  # not by a separate function, because a file may have millions of fields
        if (value := row.get(key)) is not None:
            break
    if value and isinstance(value, str) and (default is not None or not value.isspace()):
        return value
    if default is not None and value in (None, ""):
        return default
    raise refuse_field(row, keys, "a text")


def take_words(row: Row, key: str, expected: str) -> str | None:
    """A text, which may be empty, or ``None`` if it is null or missing."""
    value = row.get(key)
    if value is None or isinstance(value, str):
        return value
    raise refuse_field(row, [key], expected)


def take_name(row: Row, *keys: str) -> str:
    """An identifier, which is a non-blank text or a whole number, as text."""
    value = next((row[key] for key in keys if row.get(key) is not None), None)
    if is_whole(value) or (isinstance(value, str) and value and not value.isspace()):
        return str(value)
    raise refuse_field(row, keys, "a text or a whole number")


def take_whole(row: Row, *keys: str, lowest: int = 0, default: int | None = None) -> int:
    """The whole number under the first existing key."""
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
    """True, false, or ``None`` if it is missing."""
    value = row.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise refuse_field(row, (key,), "true, false or null")


def refuse_others(row: Row, known: Iterable[str]) -> None:
    """Raise ``WrongField`` for an unknown key."""
    for key in row:
        if key not in known:
            raise WrongField(f"the key {shorten(key)}", list_choices(sorted(known)))


def refuse_field(row: Row, keys: Iterable[str], expected: str) -> WrongField:
    """The error for the value under the first existing key, or for the absence of all keys."""
    keys = list(keys)
    there = next((key for key in keys if row.get(key) is not None), None)
    if there is not None:
        return WrongField(f"{show(row[there])} for “{there}”", expected)
    record = row.get("record")
    # An unknown kind of record may be somebody's words.
    what = f"a {record}" if isinstance(record, str) and is_heading(record) else "an object"
    return WrongField(f"{what} without {' or '.join(f'“{key}”' for key in keys)}", expected)


def is_whole(value: object) -> bool:
    """Whether it is a whole number from 0 up; true and false are not numbers."""
    return type(value) is int and value >= 0


def show(value: object) -> str:
    """A value for "found ...": short words and numbers unchanged; for a text that may be somebody's words, only its length."""
    if isinstance(value, str):
        long = f"a text of {show_count(len(value), 'character')}" if value else "an empty text"
        return shorten(value) if is_heading(value) else long
    return str(value) if type(value) in (int, float) else name_json_type(value)


def list_choices(choices: Iterable[str]) -> str:
    """As in "a, b or c"."""
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last
