"""JSON Lines, read strictly: what two programs could read in two ways is refused with its line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from transcripts.corpus.pure.readers.base import MAX_NESTING, ReadError, Source

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_ONE_OBJECT = "one JSON object on each line"

JsonObject = dict[str, Any]


JsonLine = tuple[int, JsonObject]
"""The number of a line, from 1, and the object on it."""


class _NotPlainJson(ValueError):
    """Something that JSON parsers disagree on; the text completes "found ..."."""


def read_json_lines(source: Source) -> Iterator[JsonLine]:
    """Every object of the file. Blank lines are passed over.

    Raises `ReadError` for a line that holds no object, a key twice in one object, NaN or Infinity, a number with
    thousands of digits, and nesting deeper than `MAX_NESTING`.
    """
    for number, line in enumerate(_LINE_BREAK.split(source.text), 1):
        if line and not line.isspace():
            yield number, _read_object(line, number, source.name)


def _read_object(line: str, number: int, name: str) -> JsonObject:
    too_deep = ReadError(
        name, number, f"objects and lists nested deeper than {MAX_NESTING}", f"at most {MAX_NESTING} levels"
    )
    try:
        content = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise ReadError(name, number, _describe(error, line), _ONE_OBJECT) from None
    except _NotPlainJson as error:
        raise ReadError(name, number, str(error), "JSON that every program reads the same way") from None
    except RecursionError:
        raise too_deep from None
    except ValueError:
        # Python refuses to turn thousands of digits into a number.
        raise ReadError(name, number, "a number with thousands of digits", "numbers of an ordinary size") from None
    if not isinstance(content, dict):
        raise ReadError(name, number, name_json_type(content), _ONE_OBJECT)
    if _is_deeper(content, MAX_NESTING):
        raise too_deep
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
