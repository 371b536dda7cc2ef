"""Refusals of files: the problem, its place, what was found and what is expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_PROBLEMS_LISTED = 20


class Problem(NamedTuple):
    """A problem in one place.

    ``row`` orders problems: the row of a table (row 1 holds the headings, as in a spreadsheet), the line of an XML file, the
    number of an entry; 0 is the whole file. ``place`` gives it in words if it is not a row of a table.
    """

    row: int
    found: str
    expected: str
    place: str = ""

    def __str__(self) -> str:
        place = self.place or (f"row {self.row}" if self.row else "")
        return f"{place + ': ' if place else ''}found {self.found}; expected {self.expected}."


class FileRefused(ValueError):
    """The file was refused. ``problems`` holds the first 20; ``row``, ``found``, ``expected`` are the first one's."""

    def __init__(self, file: str, problems: Sequence[Problem], *, outcome: str = "nothing was imported") -> None:
        self.file = file
        self.total = len(problems)
        self.problems = tuple(problems[:MAX_PROBLEMS_LISTED])
        self.row, self.found, self.expected, _ = self.problems[0]
        unlisted = self.total - len(self.problems)
        lines = [f"{file}: {show_count(self.total, 'problem')}, {outcome}.", *map(str, self.problems)]
        super().__init__("\n".join([*lines, f"… and {unlisted} more."] if unlisted else lines))


class ReadError(Exception):
    """A file that cannot be read. Nothing of it may be used.

    ``found`` and ``expected`` complete "found ..." and "expected ..."; they quote no text of an interview.
    """

    def __init__(self, file: str, line: int | None, found: str, expected: str) -> None:
        super().__init__(file, line, found, expected)
        self.file = file
        self.line = line
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: found {self.found}; expected {self.expected}."


def list_once(message: str, problems: Iterable[str]) -> list[str]:
    """A refusal's own lines, and those of its problems that it does not mention itself."""
    return [*message.split("\n"), *(problem for problem in problems if problem not in message)]


class InputRefused(Exception):
    """Raised by guarded inputs; the reader of a format turns it into its own refusal."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def quote(text: str) -> str:
    """The text on one line between quotation marks, shortened if it is long; lone surrogates, which no page can show, become ?,
    and other unprintable characters become spaces."""
    shown = text[:400].encode("utf-8", "replace").decode()
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in shown).split())
    return f"“{line[:77]}…”" if len(line) > 78 else f"“{line}”"


def show_count(number: int, noun: str) -> str:
    """As in "1 cell", "1,200 cells" and "2 sets of codes"."""
    if number == 1:
        return f"1 {noun}"
    counted = re.match(r".+?(?= of | to |$)", noun)
    end = counted.end() if counted else len(noun)
    return f"{number:,} {noun[:end]}s{noun[end:]}"
