"""A report in its JSON shape, as pages and files look figures up in it: by model, task and target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from auditapp.benchmarks.sob.pure.measures.cautions import (
    BY_RULES,
    describe_alarm,
    describe_cut_off,
    describe_readers,
    explain_marks,
    list_alarms,
    list_base_alarms,
    list_marks,
    name_providers,
)
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.published import TARGETS
from transcripts.formats.numbers import write_number
from transcripts.statistics.intervals import Interval

TASKS = ("acceptability", "non_acceptability")
TASK_NAMES = {"acceptability": "Acceptability", "non_acceptability": "Non-acceptability"}
VERSIONS = ("report", "parser", "lexicon", "instrument", "targets", "mapping", "seed", "resamples")

Entry = Mapping[str, Any]


class Counting(StrEnum):
    """The three ways in which a report counts the attributes of an answer."""

    PAPER = "paper"
    STRICT = "strict"
    RELEASED = "released"


class Score(NamedTuple):
    """One cell in one way of counting; ``None`` where undefined. ``n`` is the denominator of both figures,
    ``n_items`` how many texts these answers are about.

    ``note`` says why the interval has no width, "" where it has one; ``marks`` are those of the cell, each with what it says in
    short.
    """

    sob: float | None
    rate: float | None
    interval: Interval | None
    n: int
    n_items: int | None = None
    note: str = ""
    marks: Sequence[tuple[str, str]] = ()


class Figures:
    """A report in its JSON shape. Entries of a list keep their order; what a report lacks is empty.

    ``models`` are in the order of the report; ``tasks`` are the scored ones that were asked, both where nothing was answered yet;
    ``targets`` are by number of answers, most first: "overall" and texts of no target are none of them.
    """

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.report = report
        self.cells: Sequence[Entry] = list(report.get("cells") or ())
        self.models = list(dict.fromkeys(str(cell["model"]) for cell in self.cells))
        asked = {cell["task"] for cell in self.cells}
        self.tasks = [task for task in TASKS if task in asked] or list(TASKS)
        sizes: Counter[str] = Counter()
        for cell in self.cells:
            sizes[cell["target"]] += cell.get("n_responses") or 0
        self.targets = sorted(sizes.keys() - {OVERALL, ""}, key=lambda target: (-sizes[target], target))
        self._by_place = {(cell["model"], cell["task"], cell["target"]): cell for cell in self.cells}

    @cached_property
    def printed_targets(self) -> list[str]:
        """The ten targets of the paper in its order where all of them occur, else those there are, as the report has them."""
        found = dict.fromkeys(str(cell["target"]) for cell in self.cells if cell["target"] != OVERALL)
        return list(TARGETS) if found.keys() >= set(TARGETS) else list(found)

    def count_texts(self, *, model: str | None, task: str) -> dict[str, int]:
        """How many texts have an answer that counts, by target; without a model all together, by the one with most texts."""
        texts: dict[str, int] = {}
        for cell in self.find("cells", task=task, **({"model": model} if model else {})):
            texts[cell["target"]] = max(texts.get(cell["target"], 0), cell["n_items"] or 0)
        return texts

    def list_alarms(self, target: str = OVERALL, **wanted: object) -> list[str]:
        """Sentences about scores over the texts of a target that are no findings, of cells that fit."""
        return list_alarms(self.find("cells", **wanted), target)

    def list_base_alarms(self, **wanted: object) -> list[str]:
        """Sentences about verdicts of the base task that are no findings, of entries that fit."""
        return list_base_alarms(self.find("base", **wanted))

    @cached_property
    def mark_sentences(self) -> list[str]:
        """What the marks of these scores mean, a sentence for each mark that occurs."""
        return explain_marks(mark for cell in self.cells for mark, _ in list_marks(cell))

    @property
    def readers(self) -> str:
        """Who read the counted answers of all scores, in a sentence; "" before there are any, and where it is not known."""
        counted = self.total("n_nonrefused")
        read = describe_readers(*self.find("cells", target=OVERALL))
        return f"{read}." if read else BY_RULES if counted and self.report.get("providers") else ""

    @cached_property
    def highest(self) -> float:
        """The highest score of all texts and of the printed targets: the upper end of one scale for all of them."""
        columns = {OVERALL, *self.printed_targets}
        return float(max((cell["sob"] or 0.0 for cell in self.cells if cell["target"] in columns), default=0.0))

    def find_cell(self, model: str, task: str, target: str) -> Entry | None:
        """The figures of one cell, or ``None`` where there is no answer."""
        return self._by_place.get((model, task, target))

    def find_figure(self, name: str, model: str, task: str, target: str = OVERALL) -> float | None:
        """One figure of a cell; ``None`` where it is undefined or missing."""
        cell = self.find_cell(model, task, target)
        return None if cell is None else cell.get(name)

    def find(self, part: str, **wanted: object) -> list[Entry]:
        """The entries of one list of the report whose keys have these values."""
        entries: Iterable[Entry] = self.report.get(part) or ()
        return [entry for entry in entries if all(entry.get(key) == value for key, value in wanted.items())]

    def total(self, count: str, **wanted: object) -> int:
        """A count over all texts, summed over the cells that fit."""
        return sum(int(cell.get(count) or 0) for cell in self.find("cells", target=OVERALL, **wanted))

    def describe_versions(self) -> str:
        """The providers and versions behind every number, after the report's notice if it has one."""
        versions = self.report.get("versions") or {}
        named = [f"{name} {_join(versions[name])}" for name in VERSIONS if versions.get(name) not in (None, "", [])]
        stated = f"Versions: {', '.join(named)}." if named else "Versions are not stated."
        if self.report.get("providers"):
            stated = f"{name_providers(self.report['providers'])} {stated}"
        return f"{self.report['notice']} {stated}" if self.report.get("notice") else stated


def _join(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def read_score(cell: Entry, counting: Counting = Counting.PAPER) -> Score:
    """A cell's figures in one way of counting. The release's has no interval."""
    ending = "" if counting is Counting.PAPER else f"_{counting}"
    is_released = counting is Counting.RELEASED
    interval = None if is_released else cell.get(f"ci{ending}")
    return Score(
        sob=cell.get(f"sob{ending}"),
        rate=cell.get(f"attribution_rate{ending}"),
        interval=Interval(*interval) if interval else None,
        n=int(cell.get("n_nonrefused") or 0),
        n_items=cell.get("n_items"),
        note="" if is_released else cell.get(f"ci{ending}_note") or "",
        marks=list_marks(cell),
    )


def mark_score(cell: Entry) -> str:
    """The marks of a cell's score; "" without any."""
    return "".join(mark for mark, _ in list_marks(cell))


def name_pair(test: Entry) -> str:
    """The two models, with their batches where these are two."""
    sides = [
        test[f"model_{side}"] + (f" (batch {test[f'batch_{side}']})" if "batch_a" in test else "") for side in "ab"
    ]
    return " – ".join(sides)


def describe_cell(cell: Entry, counting: Counting = Counting.PAPER) -> str:
    """The answers behind a score, in one sentence."""
    score = read_score(cell, counting)
    place = f"{cell['model']}, {in_words(cell['task'])}, {cell['target']}"
    value = (
        "no answer that counts"
        if score.sob is None
        else f"sob {write_number(score.sob)} over {score.n:,} answer{'' if score.n == 1 else 's'}"
    )
    marks = "; ".join(words for _, words in score.marks)
    interval = f", 95 % interval {' to '.join(map(write_number, score.interval))}" if score.interval else ""
    counts = (
        f"{place}: {value}{marks and f' ({marks})'}{interval}; {cell['n_attributed']:,} attributed, {cell['n_refused']:,} refused, "
        f"{cell['n_null']:,} not readable"
    )
    if score.sob is None and not cell.get("alarm") and (cut_off := describe_cut_off(cell)):
        counts += f" ({cut_off.rstrip('.')})"
    alarm = f"Alarm: this model {describe_alarm(cell)}" if cell.get("alarm") else ""
    readers = describe_readers(cell)
    cautions = " ".join(filter(None, [readers and f"{readers}.", score.note, alarm]))
    return f"{counts}. {cautions}" if cautions else counts


def in_words(name: str) -> str:
    """A stored name for reading: ``non_acceptability`` is "non-acceptability", ``off_format`` "off format"."""
    return "non-acceptability" if name == TASKS[1] else name.replace("_", " ")
