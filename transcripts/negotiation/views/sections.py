"""A figure of the report as the pages show it: its chart, the table behind it, and how numbers are written. Every number says what
it is out of, and leads to the turns behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from transcripts.charts.figures import Chart, Dot
from transcripts.negotiation.queries.scores import CodeBook
from transcripts.statistics import figures
from transcripts.statistics.figures import write_number

ENACTMENTS = {
    "enacted": "Enacted",
    "demonstrated": "Demonstrated",
    "described": "Described",
    "not_stated": "Enactment not stated",
}
STAGES = {"front": "what it says", "back": "private reasoning", "tool": "tools"}


class Figure(NamedTuple):
    """One cell of a table: what it says, and the page of the turns behind it."""

    text: str
    href: str = ""


@dataclass
class Section:
    """One figure of the page: its chart, and the table behind it."""

    key: str
    title: str
    words: str
    chart: Chart
    heads: Sequence[str]
    rows: Sequence[Sequence[Figure]] = ()
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Behind:
    """Addresses of the turns behind a number: the page that lists them, with what the figures were asked for."""

    address: str
    query: Sequence[tuple[str, str]] = ()

    def find(self, figure: str, *keys: str) -> str:
        """The address of the turns behind a number of ``figure``, narrowed by ``keys``."""
        named = [("figure", figure), *(("key", key) for key in keys)]
        return f"{self.address}?{urlencode([*self.query, *named])}"


def write_count(value: float) -> str:
    """A count that may be shared out: whole numbers without decimals."""
    return str(int(value)) if value == int(value) else f"{value:.2f}"


def write_interval(interval: Sequence[float] | None) -> str:
    """An interval as tables print it; a dash where there is none."""
    return f"{write_number(interval[0])} to {write_number(interval[1])}" if interval else "–"


def write_estimate(value: float | None, interval: Sequence[float] | None, mark: str | None) -> str:
    """A figure with its interval, if it has one, and with its mark: "0.65, 0.45 to 0.81 (rough)"."""
    text = f"{write_number(value)}, {write_interval(interval)}" if interval else write_number(value)
    return add_mark(text, mark)


def add_mark(text: str, mark: str | None) -> str:
    """A number with the mark of few threads."""
    return f"{text} ({mark})" if mark else text


def explain_marks(marks: Iterable[str | None]) -> str:
    """What the marks say that occur, of figures over threads."""
    return " ".join(figures.explain_marks(marks, "threads"))


def make_dot(part: int, n: int, interval: Sequence[float] | None, mark: str | None) -> Dot:
    """A share as a dot with its interval; nothing to draw where it is of nothing."""
    value = part / n if n else None
    return Dot(value, interval, text=write_estimate(value, interval, mark) if n else "")


def name_share(name: str, part: int, n: int) -> str:
    """The name of a row with what its share is out of."""
    return f"{name}: {part} of {n}"


def put_in_order(codes: Any, book: CodeBook) -> list[str]:
    """Codes in the order of the codebook, then those that it does not have."""
    known = [each for each in book.names if each in codes]
    return [*known, *sorted(each for each in codes if each not in book.names)]
