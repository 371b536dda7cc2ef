"""A line of a file of answers: OpenAI's batch output, Anthropic's batch results, or our own simple form.

A message about a line that cannot be parsed names the parts of the line and never quotes an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple

from auditapp.llm.providers.base import CallOutcome, ChatAnswer, NextStep, make_storable
from transcripts.formats.json_lines import read_line
from transcripts.formats.problems import ReadError

MAX_LINE = 8 * 1024 * 1024
MAX_TOKENS = 2**31
MAX_NAME = 40
EXPECTED = (
    "an object with custom_id and response (OpenAI), with custom_id and result (Anthropic), or with cell and answer"
)
EXPECTED_CELL = "a custom_id such as cell-12, or a cell such as 12"


class FileAnswer(NamedTuple):
    """A parsed line."""

    line: int
    cell_id: int
    answer: ChatAnswer


def refuse_line(line: int, found: str, expected: str) -> str:
    """A sentence about a line that cannot be used: what was found, and what was expected."""
    return f"Line {line}: found {found}, expected {expected}."


def read_answer_lines(file: BinaryIO) -> Iterator[FileAnswer | str]:
    """For every line of the file that is not blank, one at a time: its answer, or a sentence that says why it cannot be used."""
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE:
            # What follows is the rest of the same line.
            yield refuse_line(number, "more than 8 MB", "lines of at most 8 MB")
            return
        if raw.strip():
            yield read_answer_line(number, raw)


def read_answer_line(number: int, raw: bytes) -> FileAnswer | str:
    """One line as an answer to a cell."""
    try:
        data = read_line(raw.decode("utf-8-sig"), number, "")
    except UnicodeDecodeError:
        return refuse_line(number, "text that is not UTF-8", EXPECTED)
    except ReadError as error:
        return refuse_line(number, error.found, EXPECTED)
    if "answer" in data:
        return _read_plain(number, data)
    if "response" not in data and "error" not in data and "result" not in data:
        return refuse_line(number, "an object without response, result or answer", EXPECTED)
    # The providers' parsers import the network library, which the web process does not need before.
    from auditapp.llm.providers.anthropic import read_anthropic_line
    from auditapp.llm.providers.openai_compatible import read_openai_line

    line = read_anthropic_line(data) if "result" in data else read_openai_line(data)
    if line is None:
        return refuse_line(number, "an object without custom_id or without the kind of its result", EXPECTED)
    cell_id = read_cell_id({"custom_id": line.call_name})
    if cell_id is None:
        return refuse_line(number, f"the custom_id {line.call_name[:MAX_NAME]!r}", EXPECTED_CELL)
    return FileAnswer(number, cell_id, line.answer)


def _read_plain(number: int, data: Mapping[str, object]) -> FileAnswer | str:
    cell_id = read_cell_id(data)
    if cell_id is None:
        found = str(data.get("custom_id", data.get("cell", "neither custom_id nor cell")))
        return refuse_line(number, repr(found[:MAX_NAME]), EXPECTED_CELL)
    words, model = data["answer"], data.get("model") or ""
    if not isinstance(words, str):
        return refuse_line(number, f"an answer that is {name_kind(words)}", "an answer that is text")
    if not isinstance(model, str):
        return refuse_line(number, f"a model that is {name_kind(model)}", "the model's name as text")
    tokens = {name: data.get(name) for name in ("tokens_in", "tokens_out")}
    for name, count in tokens.items():
        if count is not None and not is_count(count):
            return refuse_line(number, f"{name} that is {name_kind(count)}", f"{name} as a whole number, or no {name}")
    answer = ChatAnswer(
        CallOutcome.ANSWERED,
        NextStep.NONE,
        content=make_storable(words),
        raw=make_storable(json.dumps(data, ensure_ascii=False)),
        served_model=make_storable(model)[:200],
        tokens_in=read_count(tokens["tokens_in"]),
        tokens_out=read_count(tokens["tokens_out"]),
    )
    return FileAnswer(number, cell_id, answer)


def read_cell_id(data: Mapping[str, object]) -> int | None:
    """The cell to which a line belongs: ``custom_id`` "cell-12", or ``cell`` 12 or "12"."""
    from auditapp.llm.providers.base import read_call_name

    name = data.get("custom_id", data.get("cell"))
    if isinstance(name, int) and not isinstance(name, bool):
        return name if 0 < name < 10**18 else None
    if not isinstance(name, str):
        return None
    if name.isascii() and name.isdecimal() and len(name) <= 18:
        return int(name)
    found = read_call_name(name)
    return found[0] if found else None


def is_count(value: object) -> bool:
    """Whether ``value`` is a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_TOKENS


def read_count(value: object) -> int | None:
    """A number of tokens; ``None`` if unknown."""
    return value if isinstance(value, int) and is_count(value) else None


def name_kind(value: object) -> str:
    """The kind of a JSON value, in a word, without quoting it."""
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "true or false", int: "a number", float: "a fraction", str: "text", list: "a list"}
    return names.get(type(value), "an object")
