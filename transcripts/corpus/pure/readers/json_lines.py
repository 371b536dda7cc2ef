"""JSON, a list or objects, each on a line or not, read strictly: what two programs could read in two ways is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from transcripts.corpus.pure.readers.base import MAX_NESTING, ReadError, Source

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_ONE_OBJECT = "one JSON object on each line"
_A_SEPARATOR = "a comma or the end of the list"
_BETWEEN = re.compile(r"\s*")

JsonObject = dict[str, Any]


JsonLine = tuple[int, JsonObject]
"""The number of a line, from 1, and the object that begins there."""


class _NotPlainJson(ValueError):
    """Something that JSON parsers disagree on; the text completes "found ..."."""


def read_json_objects(source: Source) -> Iterator[JsonLine]:
    """Every object of the file: those of a list, one or several written over many lines, or one on each line.

    Raises `ReadError` for a line that holds no object, a key twice in one object, NaN or Infinity, a number with
    thousands of digits, and nesting deeper than `MAX_NESTING`.
    """
    text = source.text
    first_line = _LINE_BREAK.split(text.lstrip(), maxsplit=1)[0].rstrip()
    if first_line.startswith("[") or (first_line.startswith("{") and not first_line.endswith("}")):
        yield from _read_spread(source)
        return
    for number, line in enumerate(_LINE_BREAK.split(text), 1):
        if line and not line.isspace():
            yield number, _read_object(line, number, source.name)


def _read_spread(source: Source) -> Iterator[JsonLine]:
    """The objects of a list, or objects one after the other, wherever their lines end."""
    text, name = source.text, source.name
    place, line = _skip(text, 0), 1 + text.count("\n", 0, _skip(text, 0))
    is_list = text[place] == "["
    place += is_list
    before = place
    while True:
        place = _skip(text, place)
        line += text.count("\n", before, place)
        before = place
        if place >= len(text):
            if is_list:
                raise ReadError(name, line, "a JSON list that breaks off at the end of the file", _A_SEPARATOR)
            return
        if is_list and text[place] == "]":
            break
        content, place = _read_next(text, place, line, name)
        yield line, content
        if is_list:
            line += text.count("\n", before, place)
            before = place
            place = _skip(text, place)
            if text[place : place + 1] not in {",", "]"}:
                found = "the end of the file" if place >= len(text) else "something else"
                raise ReadError(name, line, f"{found} after an object of a list", _A_SEPARATOR)
            place += text[place] == ","
    if text[place + 1 :].strip():
        raise ReadError(name, line, "more text after the end of the list", "the end of the file")


def _skip(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def _read_next(text: str, place: int, line: int, name: str) -> tuple[JsonObject, int]:
    """The object that begins at a place, and where it ends."""
    try:
        content, end = _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        at = line + text.count("\n", place, error.pos)
        is_end = error.pos >= len(text.rstrip())
        found = "JSON that breaks off at the end of the file" if is_end else f"invalid JSON ({error.msg.lower()})"
        raise ReadError(name, at, found, "JSON, a list or objects, or one object on each line") from None
    except (ValueError, RecursionError) as error:
        raise _refuse(error, line, name) from None
    return _check_object(content, line, name), end


def _read_object(line: str, number: int, name: str) -> JsonObject:
    try:
        content = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise ReadError(name, number, _describe(error, line), _ONE_OBJECT) from None
    except (ValueError, RecursionError) as error:
        raise _refuse(error, number, name) from None
    return _check_object(content, number, name)


def _refuse(error: Exception, number: int, name: str) -> ReadError:
    """Why JSON that may be well formed is not read."""
    if isinstance(error, RecursionError):
        return _refuse_depth(number, name)
    if isinstance(error, _NotPlainJson):
        return ReadError(name, number, str(error), "JSON that every program reads the same way")
    # Python refuses to turn thousands of digits into a number.
    return ReadError(name, number, "a number with thousands of digits", "numbers of an ordinary size")


def _refuse_depth(number: int, name: str) -> ReadError:
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
        return f"more text after the first JSON value (character {error.pos + 1})"
    if error.pos >= len(line.rstrip()):
        return f"JSON that breaks off at the end of the line (character {error.pos + 1})"
    return f"invalid JSON at character {error.pos + 1} ({error.msg.lower()})"


def name_json_type(value: object) -> str:
    """What a JSON value is, as words for "found ..."."""
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
    """A key or a name in quotation marks, cut to what fits a sentence; odd characters are escaped."""
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

# Python writes NaN where a number has no value, and logs that it wrote are full of them.
_LENIENT_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_constant=lambda _: None,
    parse_float=lambda digits: None if math.isinf(float(digits)) else float(digits),
    strict=True,
)


class BrokenPart(ReadError):
    """A file inside an archive that is no whole JSON, such as one that was being written when the program crashed."""


def read_part(text: str, *, place: str, name: str) -> Any:
    """The value of a file inside an archive, ``place`` by name; NaN and Infinity are null. Raises `ReadError`."""
    try:
        content = _LENIENT_DECODER.decode(text)
    except _NotPlainJson as error:
        raise ReadError(name, None, f"{error} in {place}", "JSON that every program reads the same way") from None
    except (ValueError, RecursionError):
        raise BrokenPart(name, None, f"{place}, which is no whole JSON", "an undamaged archive") from None
    if _is_deeper(content, MAX_NESTING):
        found = f"objects and lists nested deeper than {MAX_NESTING} in {place}"
        raise ReadError(name, None, found, f"at most {MAX_NESTING} levels")
    return content
