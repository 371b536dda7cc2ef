"""Look up figures in a report in its JSON shape, by model, task and target, for pages and files. Also the heat map of scores, whose
rows a page shows as a table and a file as charts; the social map; and the rank plot (Figure 2 of the paper).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from auditapp.benchmarks.sob.pure.answer_words import OVERALL
from auditapp.benchmarks.sob.pure.attributions import (
    MAX_VALUE_LENGTH,
    PUBLISHED,
    Kind,
    Rule,
    TargetMapping,
    name_value,
    published_mapping,
    published_shares,
)
from auditapp.benchmarks.sob.pure.cautions import (
    APART_MARK,
    BY_RULES,
    FEW_MARK,
    FEW_SENTENCE,
    FIGURE_NOTE,
    describe_alarm,
    describe_cut_off,
    describe_readers,
    explain_marks,
    list_alarms,
    list_base_alarms,
    list_marks,
    mark_few,
    name_providers,
)
from auditapp.benchmarks.sob.pure.instruments import TARGETS, PublishedRow, published_rows, published_source
from auditapp.benchmarks.sob.pure.ranks import ALPHA, FEW_BLOCKS
from transcripts.charts.figures import Cell, Dot, GridChart, GridRow, Row, RowChart, Verdict
from transcripts.charts.layout import ChartFile
from transcripts.charts.svg import fit
from transcripts.statistics.differences import Direction
from transcripts.statistics.figures import FEW, Interval, write_number, write_p, write_percent
from transcripts.statistics.significance import adjust_holm

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
    """The score of one cell by one counting; None where undefined. ``n`` is the denominator of ``sob`` and ``rate``;
    ``n_items`` is the number of texts that these answers are about.

    ``note`` says why the interval has no width, and is "" if it has one; ``marks`` are those of the cell, each with its short
    meaning.
    """

    sob: float | None
    rate: float | None
    interval: Interval | None
    n: int
    n_items: int | None = None
    note: str = ""
    marks: Sequence[tuple[str, str]] = ()


class Finding(NamedTuple):
    """One sentence or two about the figures of a page: ``number`` is the part in bold, between the words before and after it."""

    before: str
    number: str
    after: str


class Figures:
    """A report in its JSON shape. Entries of a list keep their order; parts that a report lacks are empty.

    ``models`` are in the order of the report. ``tasks`` are the scored tasks that were asked, or both if there is no answer yet.
    ``targets`` are by number of answers, most first, without "overall" and without texts that have no target.
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
        """The ten targets of the paper in its order if all of them occur; otherwise those of the report in the report's order."""
        found = dict.fromkeys(str(cell["target"]) for cell in self.cells if cell["target"] != OVERALL)
        return list(TARGETS) if found.keys() >= set(TARGETS) else list(found)

    def count_texts(self, *, model: str | None, task: str) -> dict[str, int]:
        """How many texts have an answer that counts, by target; without a model, the number for the model with the most texts."""
        texts: dict[str, int] = {}
        for cell in self.find("cells", task=task, **({"model": model} if model else {})):
            texts[cell["target"]] = max(texts.get(cell["target"], 0), cell["n_items"] or 0)
        return texts

    def list_alarms(self, target: str = OVERALL, **wanted: object) -> list[str]:
        """Sentences about the matching cells of a target whose scores have an alarm."""
        return list_alarms(self.find("cells", **wanted), target)

    def list_base_alarms(self, **wanted: object) -> list[str]:
        """Sentences about the matching entries of the base task whose verdicts have an alarm."""
        return list_base_alarms(self.find("base", **wanted))

    @cached_property
    def mark_sentences(self) -> list[str]:
        """The meaning of the marks on these scores, one sentence for each mark that occurs."""
        return explain_marks(mark for cell in self.cells for mark, _ in list_marks(cell))

    @property
    def readers(self) -> str:
        """A sentence that says who read the counted answers of all scores; "" if there are none yet, or if this is not known."""
        counted = self.total("n_nonrefused")
        read = describe_readers(*self.find("cells", target=OVERALL))
        return f"{read}." if read else BY_RULES if counted and self.report.get("providers") else ""

    @cached_property
    def highest(self) -> float:
        """The highest of the scores over all texts and on the printed targets: the upper end of their common scale."""
        columns = {OVERALL, *self.printed_targets}
        return float(max((cell["sob"] or 0.0 for cell in self.cells if cell["target"] in columns), default=0.0))

    def find_cell(self, model: str, task: str, target: str) -> Entry | None:
        """The figures of one cell, or None if there is no answer."""
        return self._by_place.get((model, task, target))

    def find_figure(self, name: str, model: str, task: str, target: str = OVERALL) -> float | None:
        """One figure of a cell; None if it is undefined or missing."""
        cell = self.find_cell(model, task, target)
        return None if cell is None else cell.get(name)

    def find(self, part: str, **wanted: object) -> list[Entry]:
        """The entries in one part of the report whose keys have these values."""
        entries: Iterable[Entry] = self.report.get(part) or ()
        return [entry for entry in entries if all(entry.get(key) == value for key, value in wanted.items())]

    def total(self, count: str, **wanted: object) -> int:
        """A count over all texts, summed over matching cells."""
        return sum(int(cell.get(count) or 0) for cell in self.find("cells", target=OVERALL, **wanted))

    def describe_versions(self) -> str:
        """The providers and versions with which the numbers were made, after the report's notice if it has one."""
        versions = self.report.get("versions") or {}
        named = [f"{name} {_join(versions[name])}" for name in VERSIONS if versions.get(name) not in (None, "", [])]
        stated = f"Versions: {', '.join(named)}." if named else "Versions are not stated."
        if self.report.get("providers"):
            stated = f"{name_providers(self.report['providers'])} {stated}"
        return f"{self.report['notice']} {stated}" if self.report.get("notice") else stated


def _join(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def read_score(cell: Entry, counting: Counting = Counting.PAPER) -> Score:
    """A cell's figures by one counting. Those of the release have no interval."""
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
    """The marks of a cell's score; "" if it has none."""
    return "".join(mark for mark, _ in list_marks(cell))


def name_pair(test: Entry) -> str:
    """The two models, with their batches if they come from two."""
    sides = [
        test[f"model_{side}"] + (f" (batch {test[f'batch_{side}']})" if "batch_a" in test else "") for side in "ab"
    ]
    return " – ".join(sides)


def describe_cell(cell: Entry, counting: Counting = Counting.PAPER) -> str:
    """A score with its counts of answers and its cautions, in words."""
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
    """A stored name in words: ``non_acceptability`` becomes "non-acceptability", ``off_format`` becomes "off format"."""
    return "non-acceptability" if name == TASKS[1] else name.replace("_", " ")


STEPS = 20
MAX_NAME_WIDTH = 440
"""A wider name of a model is cut off in a title."""


def arrange_map(entry: Entry, mapping: TargetMapping, texts: Mapping[str, int]) -> dict[str, Any]:
    """One entry of the report's "social_map", ready for display; shades range from 0 to ``highest`` per cent.

    ``texts``: how many texts of each target have an answer that counts. A cell's ``kind`` says what its value maps
    to; ``can_open``: it has answers, and its value is short enough for the address of their page.
    """
    shares = [
        [100 * count / denominator if denominator else None for count in counts]
        for denominator, counts in zip(entry["denominators"], entry["counts"], strict=True)
    ]
    highest = max((share for row in shares for share in row if share is not None), default=0.0)
    rows = []
    for index, target in enumerate(entry["targets"]):
        kinds = [_find_kind(mapping, target, value) for value in entry["values"]]
        cells = [
            {
                "value": value,
                "answers": count,
                "pct": share,
                "step": _shade(share, highest),
                "kind": kind,
                "can_open": count > 0 and len(value) <= MAX_VALUE_LENGTH,
            }
            for value, count, share, kind in zip(
                entry["values"], entry["counts"][index], shares[index], kinds, strict=True
            )
        ]
        row = {"target": target, "denominator": entry["denominators"][index], "texts": texts.get(target, 0)}
        rows.append({**row, "cells": cells})
    return {"values": list(entry["values"]), "rows": rows, "highest": highest, "steps": range(STEPS + 1)}


def _find_kind(mapping: TargetMapping, target: str, value: str) -> Kind | None:
    return next((kind for kind in Kind if name_value(value) in mapping.list_values(target, kind)), None)


def _shade(share: float | None, highest: float) -> int:
    return round(STEPS * share / highest) if share and highest else 0


_MARKS = {Kind.SELF: "s", Kind.DOMINANT: "d"}


def draw_social_map(
    report: Mapping[str, Any], *, model: str | None = None, mapping: TargetMapping | None = None
) -> ChartFile:
    """A grid of targets by the values attributed most often, for each task; ``model`` is None for all models together.

    Values that stand for the target itself or for the dominant group are marked according to ``mapping``, by default the
    published one.
    """
    figures = Figures(report)
    mapping = mapping or published_mapping()
    drawn = {
        entry["task"]: arrange_map(entry, mapping, figures.count_texts(model=model, task=entry["task"]))
        for entry in figures.find("social_map", model=model)
    }
    whose = "all models together" if model is None else model
    note = (
        "Percentage of n, the answers to texts on the target with at least one attribution and no list among their values. A "
        "dash: there is no such answer. Columns: the values attributed most often over all texts and models of the task. s: "
        f"stands for the target itself, d: for the dominant group (mapping: {mapping.name}). {FEW_SENTENCE} {FIGURE_NOTE} "
        f"{figures.describe_versions()}"
    )
    return ChartFile(
        "sob-map",
        f"Values attributed by {fit(whose, MAX_NAME_WIDTH)}",
        [(TASK_NAMES[task], _draw_grid(drawn[task], task)) for task in TASKS if task in drawn],
        notes=[note],
    )


def _draw_grid(panel: Mapping[str, Any], task: str) -> GridChart:
    return GridChart(
        key=f"sob-map-{task}",
        title=TASK_NAMES[task],
        columns=panel["values"],
        rows=[
            GridRow(
                f"{row['target']}, n = {row['denominator']:,}{mark_few(row['denominator'], row['texts'])}",
                [_draw_cell(row["target"], cell) for cell in row["cells"]],
            )
            for row in panel["rows"]
        ],
        high=100.0,
    )


def _draw_cell(target: str, cell: Mapping[str, Any]) -> Cell:
    mark = f" {_MARKS[cell['kind']]}" if cell["kind"] else ""
    text = "" if cell["pct"] is None else f"{write_number(cell['pct'], 1)}{mark}"
    return Cell(cell["pct"], text, f"{text or 'no'} percent of answers: {target}, {cell['value']}")


CELLS = [(task, kind) for task in TASKS for kind in Kind]
"""The four cells: {acceptability, non-acceptability} x {self, dominant}."""


def list_mapped(figures: Figures, model: str | None, rule: Rule) -> list[dict[str, Any]]:
    """The mapping of one model (None: all together) by one rule, in the order of the report; cells as in ``CELLS``.

    Table 13 is shown next to the shares that are comparable with it: all models together, by any value of the published mapping.
    """
    is_comparable = figures.report["versions"].get("mapping") == PUBLISHED and model is None and rule is Rule.ANY
    published = published_shares() if is_comparable else {}
    texts = {task: figures.count_texts(model=model, task=task) for task in TASKS}
    found: dict[str, dict[tuple[str, str], Entry]] = {}
    for entry in figures.find("mapping" if rule is Rule.ANY else "mapping_all", model=model):
        found.setdefault(entry["target"], {})[entry["task"], entry["kind"]] = entry
    return [
        {
            "target": target,
            "cells": [
                {
                    "entry": cells.get((task, str(kind))),
                    "texts": texts[task].get(target, 0),
                    "published": published.get((name_value(target), task, str(kind))),
                }
                for task, kind in CELLS
            ],
        }
        for target, cells in found.items()
    ]


def write_map_finding(mapped: Sequence[Mapping[str, Any]], task: str) -> Finding | None:
    """How many attributed answers of a task name the target itself and how many the dominant group, over all targets of
    ``list_mapped``; None if they are about few texts, or if no answer has a value of either list."""
    cells = next((row["cells"] for row in mapped if row["target"] == OVERALL), ())
    found = {cell["entry"]["kind"]: cell for cell in cells if cell["entry"] and cell["entry"]["task"] == task}
    entries = [found[kind]["entry"] for kind in Kind if kind in found and found[kind]["texts"] >= FEW]
    if len(entries) < len(Kind) or not all(each["named"] and each["denominator"] for each in entries):
        return None
    shares = dict(zip(Kind, (f"{write_number(each['pct'], 1)} %" for each in entries), strict=True))
    return Finding(
        f"Of the {entries[0]['denominator']:,} attributed answers ({in_words(task)}),",
        shares[Kind.SELF],
        f" name the target itself and {shares[Kind.DOMINANT]} the dominant group.",
    )


Making = Mapping[str, Any]
"""How figures were made: the wording of each task and the texts, each by name and hash, the schema, and how answers were read.

``texts`` is the number of texts that were asked about; ``targets`` names the table of targets; ``targets_sha256`` is the hash of
the texts with their targets, absent if it is not known.
"""

ALSO_COMPARED = {
    "parser": "the parser",
    "lexicon": "the lexicon of strict counting",
    "repeats": "repeats per text",
    "mapping": "which group a value stands for (mapping)",
}
"""The properties that may differ without ruling out a comparison."""


def find_differences(here: Making, there: Making, *, common: int = 0) -> list[dict[str, Any]]:
    """Differences in how two sets of figures were made. Those that rule out a comparison (``breaks``) come first.
    Different texts rule it out only if no text is ``common`` to both."""
    found = []
    for task in sorted(set(here["wordings"]) & set(there["wordings"])):
        (name, sha256), (other, other_sha256) = here["wordings"][task], there["wordings"][task]
        if sha256 != other_sha256:
            what = f"the wording, {in_words(task)}"
            found.append(_differ(what, f"{name} {sha256[:12]}", f"{other} {other_sha256[:12]}"))
    if here["dataset"][1] != there["dataset"][1]:
        found.append(_differ("the texts", here["dataset"][0], there["dataset"][0], breaks=not common))
    elif here["texts"] != there["texts"]:
        found.append(_differ("how many of the texts", f"{here['texts']:,}", f"{there['texts']:,}", breaks=not common))
    if here["schema"] != there["schema"]:
        found.append(_differ("the schema", ", ".join(here["schema"]), ", ".join(there["schema"])))
    found += _compare_targets(here, there)
    for key, what in ALSO_COMPARED.items():
        if here.get(key) != there.get(key):
            found.append(_differ(what, str(here.get(key, "")), str(there.get(key, "")), breaks=False))
    return sorted(found, key=lambda each: not each["breaks"])


def _differ(what: str, here: str, there: str, *, breaks: bool = True) -> dict[str, Any]:
    return {"breaks": breaks, "what": what, "here": here, "there": there}


def _compare_targets(here: Making, there: Making) -> list[dict[str, Any]]:
    """Different tables rule out a comparison; so do tables of the same name that give the same texts different targets."""
    what = "who counts as which target"
    if here["targets"] != there["targets"]:
        return [_differ(what, here["targets"], there["targets"])]
    hashes = [each.get("targets_sha256") for each in (here, there)]
    if all(hashes) and here["dataset"][1] == there["dataset"][1] and hashes[0] != hashes[1]:
        shown = [f"{each['targets']} ({each['targets_sha256'][:8]})" for each in (here, there)]
        return [_differ(what, *shown)]
    return []


def is_comparable(differences: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two sets of figures with these differences measure the same thing."""
    return not any(difference["breaks"] for difference in differences)


def compare_figures(here: Figures, there: Figures) -> list[dict[str, Any]]:
    """The cells of the models in both, overall first. Scores are not subtracted, because the two may be about different texts."""
    shared = [model for model in here.models if model in set(there.models)]
    return [
        cell
        for model in shared
        for task in here.tasks
        for target in [OVERALL, *here.targets]
        if (cell := _compare(here, there, (model, task, target))) is not None
    ]


def _compare(here: Figures, there: Figures, place: tuple[str, str, str]) -> dict[str, Any] | None:
    cells = here.find_cell(*place), there.find_cell(*place)
    if cells[0] is None and cells[1] is None:
        return None
    one, other = (read_score(cell) if cell else None for cell in cells)
    return _make_cell(place, one, other)


def _make_cell(place: tuple[str, str, str], here: Score | None, there: Score | None) -> dict[str, Any]:
    """The scores of one model, task and target on both sides."""
    model, task, target = place
    return {"model": model, "task": task, "target": target, "here": here, "there": there}


def compare_published(here: Figures, model: str, rows: Sequence[PublishedRow]) -> list[dict[str, Any]]:
    """One model's cells next to a published row of each task. Scores are not subtracted, because the texts are not the same."""
    compared = []
    for row in rows:
        scores = {OVERALL: row.overall, **row.by_target}
        for target, score in scores.items():
            cell = here.find_cell(model, row.task, target)
            rate = row.attribution_rate if target == OVERALL else None
            there = Score(score, rate, None, 0)
            own = read_score(cell) if cell else None
            compared.append(_make_cell((model, row.task, target), own, there))
    return compared


RATE = "rate"
MAX_COLUMNS = 60
TEN, ALL = "ten", "all"


def choose_targets(figures: Figures, asked: str = "") -> str:
    """Which targets to show: as asked; by default the paper's ten if all of them occur or no target does, otherwise all."""
    if asked in {TEN, ALL}:
        return asked
    return TEN if set(TARGETS) <= set(figures.targets) or not figures.targets else ALL


def arrange_heat_map(
    figures: Figures,
    *,
    counting: Counting = Counting.PAPER,
    targets: str = TEN,
    with_published: bool = True,
    max_columns: int | None = MAX_COLUMNS,
) -> dict[str, Any]:
    """The heat map, with one colour scale for all scores in it, from 0 to the highest (method brief R40).

    Each task has a column for the attribution rate, which has a separate scale from 0 to 1, one for all texts, and one per
    target. ``left_out`` is the number of targets without a column, because there are too many. ``blocks`` are the same rows by
    task, for a page that shows the tasks one under the other. ``few`` is the sentence of ``describe_few``; a cell ``shows_few``
    if it is one of few texts and the sentence is not about all cells of its kind.

    ``with_published`` adds the published rows to the scale, and is only for answers that can be compared with them.
    """
    named = [target for target in TARGETS if targets == TEN or target in figures.targets]
    names = named if targets == TEN else named + [target for target in figures.targets if target not in TARGETS]
    columns, tasks = [RATE, OVERALL, *names[:max_columns]], figures.tasks
    places = [(task, column, OVERALL if column == RATE else column) for task in tasks for column in columns]
    rows: list[dict[str, Any]] = [
        {
            "model": model,
            "cells": [
                _make_figure(task, column, figures.find_cell(model, task, target), counting)
                for task, column, target in places
            ],
        }
        for model in figures.models
    ]
    printed = {(row.model, row.task): row for row in published_rows() if with_published and row.task in tasks}
    scores = {place: {OVERALL: row.overall, **row.by_target} for place, row in printed.items()}
    printed_rows: list[dict[str, Any]] = []
    for model in dict.fromkeys(model for model, _ in printed):
        cells = []
        for task, column, target in places:
            figure = {"sob": scores[model, task].get(target), "attribution_rate": printed[model, task].attribution_rate}
            cells.append(_make_figure(task, column, figure))
        printed_rows.append({"model": model, "cells": cells})
    shown = [cell["value"] or 0.0 for row in rows for cell in row["cells"] if not cell["is_rate"]]
    highest = max(shown + [score for row in scores.values() for score in row.values()], default=0.0)
    for row in [*rows, *printed_rows]:
        for cell in row["cells"]:
            top = 1.0 if cell["is_rate"] else highest
            cell["step"] = round(STEPS * min(1.0, cell["value"] / top)) if cell["value"] and top else 0
    own = [cell for row in rows for cell in row["cells"] if not cell["is_rate"] and cell["value"] is not None]
    are_few = {kind: all(cell["is_few"] for cell in own if cell["is_overall"] is kind) for kind in (False, True)}
    for cell in own:
        cell["shows_few"] = cell["is_few"] and not (are_few[False] and (are_few[True] or not cell["is_overall"]))
    return {
        "columns": columns,
        "tasks": tasks,
        "highest": highest,
        "rows": rows,
        "published": printed_rows,
        "left_out": len(names) - len(columns) + 2,
        "blocks": [
            {
                "task": task,
                **{
                    name: [{**row, "cells": [cell for cell in row["cells"] if cell["task"] == task]} for row in lines]
                    for name, lines in (("rows", rows), ("published", printed_rows))
                },
            }
            for task in tasks
        ],
        "few": describe_few(own),
        "apart": explain_marks([APART_MARK] if any(APART_MARK in cell["mark"] for cell in own) else []),
        "steps": range(STEPS + 1),
    }


def describe_few(cells: Sequence[Mapping[str, Any]]) -> str:
    """What must be known of scores that are based on few texts; "" if none is.

    If those of all targets are, one sentence says so with the number of texts; if those over all texts are too, it says so of
    every score. Otherwise it explains how the page shows the cells that are.
    """
    few = [cell for cell in cells if cell["is_few"]]
    of_targets = [cell for cell in cells if not cell["is_overall"]]
    rule = f"Few: fewer than {FEW} texts. Nothing is concluded from"
    shown = f"In italics, underlined with dots: few, fewer than {FEW} texts. Nothing is concluded from such a cell."
    if len(few) == len(cells):
        return f"{rule} any of these scores." if few else ""
    if not all(cell["is_few"] for cell in of_targets):
        return shown if few else ""
    sizes = [cell["texts"] for cell in of_targets]
    low, high = min(sizes, default=0), max(sizes, default=0)
    texts = f"{low} {'or' if high == low + 1 else 'to'} {high} texts" if low < high else f"{low} text{'s'[low == 1 :]}"
    about = f"Each target rests on {texts}: read “overall” first. {rule} a single target."
    return about if len(few) == len(of_targets) else f"{about} {shown}"


def _make_figure(task: str, column: str, cell: Entry | None, counting: Counting = Counting.PAPER) -> dict[str, Any]:
    """One figure of a model. ``text`` is what a cell of the page shows: two decimals over all texts, one for a target, and no mark
    for few texts. ``details`` says which answers it counts; it is "" for published figures, which have no counts."""
    is_rate = column == RATE
    score = read_score(cell, counting) if cell else None
    details = describe_cell(cell, counting) if cell and cell.get("n_attributed") is not None else ""
    mark = "" if is_rate or not score else "".join(mark for mark, _ in score.marks)
    value = score and (score.rate if is_rate else score.sob)
    written = write_percent(value, 0) if is_rate else write_number(value, 2 if column == OVERALL else 1)
    return {
        "task": task,
        "column": column,
        "value": value,
        "text": written + mark.replace(FEW_MARK, ""),
        "details": f"attribution rate, {details}" if details and is_rate else details,
        "mark": mark,
        "is_few": FEW_MARK in mark,
        "texts": (cell or {}).get("n_items") or 0,
        "is_rate": is_rate,
        "target": OVERALL if is_rate else column,
        "is_overall": column == OVERALL,
    }


IN_WORDS = {
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
    10: "ten",
    11: "eleven",
    12: "twelve",
}


def write_finding(
    figures: Figures, counting: Counting = Counting.PAPER, *, models: Sequence[str] = (), target: str = OVERALL
) -> Finding | None:
    """What the scores of the models on a target say: their range, who names the most, and whether their intervals leave that open.

    A model counts if its score in every task has an interval and neither an alarm nor few texts (``cautions``); None if no model
    does. Nothing is said of an order unless all models with an answer count. It "cannot be told" if in every task all intervals
    overlap. Otherwise it only says that some do not, because the model with the highest score was chosen after looking.
    """
    asked = [model for model in figures.models if not models or model in models]
    cells = {model: [figures.find_cell(model, task, target) for task in figures.tasks] for model in asked}
    asked = [model for model in asked if any(cells[model])]
    known = [
        model
        for model in asked
        if all(cell and cell.get("ci") and not cell.get("alarm") and not cell.get("few_items") for cell in cells[model])
    ]
    if not known:
        return None
    scores = {model: [read_score(cell, counting) for cell in cells[model] if cell] for model in known}
    shown = sorted(score.sob for row in scores.values() for score in row if score.sob is not None)
    if len(shown) < len(known) * len(figures.tasks):
        return None
    low, high = write_number(shown[0], 1), write_number(shown[-1], 1)
    number = f"{low if low == high else f'{low} to {high}'} attributes per answer"
    where = "Where" if target == OVERALL else f"On texts on {target}, where"
    names = f"{known[0]} names" if len(asked) == 1 else "the models name"
    if len(known) < len(asked):
        names = f"{len(known):,} of {len(asked):,} models name"
        return Finding(
            f"{where} only “Unknown” is warranted, {names}",
            number,
            "; the others have few texts, an alarm or no score.",
        )
    before = f"{where} only “Unknown” is warranted, {names}"
    texts = max(score.n_items or 0 for row in scores.values() for score in row)
    return Finding(before, number, f".{_describe_order(scores, figures.tasks, texts)}")


def _describe_order(scores: Mapping[str, Sequence[Score]], tasks: Sequence[str], texts: int) -> str:
    """Who names the most in each task, and whether intervals leave the order open; "" for one model."""
    if len(scores) < 2:
        return ""
    intervals = [[row[place].interval for row in scores.values()] for place in range(len(tasks))]
    if not all(all(each) for each in intervals):
        return " This counting has no intervals: the order of the models cannot be told."
    overlap = all(
        max(each.low for each in of_task if each) <= min(each.high for each in of_task if each) for of_task in intervals
    )
    all_of_them = f"all {IN_WORDS.get(len(scores), len(scores))}" if len(scores) > 2 else "both"
    most = _name_most(scores, tasks)
    if overlap:
        open_order = f"the 95 % intervals of {all_of_them} overlap: with {texts:,} texts, their order cannot be told."
        return f" {most}, but {open_order}" if most else f" T{open_order[1:]}"
    apart = f"the 95 % intervals of {all_of_them} do not overlap on every task: “Compare” tests each pair."
    return f" {most}; {apart}" if most else f" T{apart[1:]}"


def _name_most(scores: Mapping[str, Sequence[Score]], tasks: Sequence[str]) -> str:
    """The model with the highest score in each task; "" if two share it in one of them."""
    first = []
    for place in range(len(tasks)):
        highest = max(row[place].sob or 0.0 for row in scores.values())
        named = [model for model, row in scores.items() if row[place].sob == highest]
        if len(named) > 1:
            return ""
        first += named
    if len(set(first)) == 1:
        on = {1: "", 2: " on both tasks"}[len(tasks)]
        return f"{_begin(first[0])} names the most{on}"
    return f"{_begin(first[0])} names the most on {in_words(tasks[0])}, {first[1]} on {in_words(tasks[1])}"


def _begin(label: str) -> str:
    """A label at the beginning of a sentence: with a capital if it begins with a common word, otherwise as it is."""
    word = label.partition(" ")[0]
    return label[:1].upper() + label[1:] if word.isalpha() and word.islower() else label


def draw_heat_map(report: Mapping[str, Any], *, with_published: bool = False) -> ChartFile:
    """The heat map as a file, in paper counting: a grid for each task on one scale, with notes on denominators and versions."""
    figures = Figures(report)
    heat = arrange_heat_map(figures, targets=choose_targets(figures), with_published=with_published, max_columns=None)
    rows = [*heat["rows"], *({**row, "model": f"{row['model']} (Table 4)"} for row in heat["published"])]
    marks = [mark for row in rows for cell in row["cells"] for mark in cell["mark"]]
    counted = (
        f"Mean number of attributes per answer that counts (paper counting), one scale from 0 to {write_number(heat['highest'])}. "
        "Attribution rate: share of answers with at least one attribution. Overall is over all texts. A dash: undefined or "
        "never asked."
    )
    notes = [
        counted,
        *explain_marks(marks),
        *([f"Table 4: the published rows, {published_source()}."] if heat["published"] else []),
        *(FIGURE_NOTE, *figures.list_alarms(), figures.describe_versions()),
    ]
    return ChartFile(
        "sob-heat",
        "Unwarranted attributes per answer, by model, task and target",
        [(TASK_NAMES[task], _draw_scores(heat, rows, task)) for task in heat["tasks"]],
        summary=_describe_scores(figures, heat["tasks"]),
        notes=[" ".join(notes)],
    )


def _draw_scores(heat: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], task: str) -> GridChart:
    """The scores in one task; the attribution rate, which has a separate scale, is next to them in words."""
    return GridChart(
        key=f"sob-heat-{task}",
        title=TASK_NAMES[task],
        columns=[column for column in heat["columns"] if column != RATE],
        rows=[_draw_row(row["model"], [cell for cell in row["cells"] if cell["task"] == task]) for row in rows],
        high=heat["highest"],
    )


def _draw_row(model: str, cells: Sequence[Mapping[str, Any]]) -> GridRow:
    drawn = []
    rate = ""
    for cell in cells:
        text = "" if cell["value"] is None else write_number(cell["value"]) + cell["mark"]
        if cell["is_rate"]:
            rate = f"attribution rate {text or '–'}"
            continue
        words = f"{text or 'not measured'}: {model}, {in_words(cell['task'])}, {cell['column']}"
        drawn.append(Cell(cell["value"], text=text, label=words))
    return GridRow(model, drawn, Verdict(rate))


def _describe_scores(figures: Figures, tasks: Sequence[str]) -> str:
    parts = []
    for task in tasks:
        scores = [(figures.find_figure("sob", model, task), model) for model in figures.models]
        known = sorted((score, model) for score, model in scores if score is not None)
        if known:
            (low, lowest), (high, highest) = known[0], known[-1]
            parts.append(
                f"{TASK_NAMES[task]}: overall from {write_number(low)} ({lowest}) to {write_number(high)} ({highest})."
            )
    return f"A table of {len(figures.models)} models by {len(figures.targets)} targets and all texts. {' '.join(parts)}"


def draw_rank_plot(figures: Figures) -> RowChart:
    """The mean rank of each target in both tasks; further right means more attributes (rank k is the highest score)."""
    tests = {row["task"]: row for row in figures.find("friedman")}
    ranked: dict[str, Mapping[str, float]] = {
        task: tests[task].get("mean_ranks") or {} for task in TASKS if task in tests
    }
    first: Mapping[str, float] = next((ranks for ranks in ranked.values() if ranks), {})
    targets = sorted(first, key=lambda target: (-first[target], target))
    highest = max((int(test.get("k_treatments") or 0) for test in tests.values()), default=0) or max(len(targets), 2)
    return RowChart(
        key="sob-ranks",
        title="Mean rank of each target group over models",
        rows=[
            Row(
                target,
                [
                    Dot(ranks[target], series=TASKS.index(task), text=write_number(ranks[target]))
                    for task, ranks in ranked.items()
                    if target in ranks
                ],
            )
            for target in targets
        ],
        series=list(TASK_NAMES.values()),
        low=1.0,
        high=float(highest),
        summary=f"Rank {highest}: most attributes; rank 1: fewest. Sorted by the first task.",
        note=f"{_describe_tests(tests)} {FIGURE_NOTE} {figures.describe_versions()}",
    )


def write_rank_finding(figures: Figures) -> Finding | None:
    """Whether targets differ, by Friedman's test with models as blocks, or with families where models share weights; None without
    a test.

    It cannot be told with fewer than ``FEW_BLOCKS`` blocks, or if a target has few texts. Otherwise the P of Iman and Davenport,
    adjusted over the tasks (Holm), decides, and where it is not below ``ALPHA`` it cannot be told either.
    """
    by_task = {test["task"]: test for part in ("friedman", "friedman_families") for test in figures.find(part)}
    tests = [test for test in by_task.values() if test.get("chi2") is not None]
    if not tests:
        return None
    question = "Whether models attribute more for some targets than for others"
    fewest, blocks = min((int(test["n_blocks"]), str(test["blocks"])) for test in tests)
    reasons = [f"there are {fewest} {blocks}, and a verdict needs {FEW_BLOCKS}"] if fewest < FEW_BLOCKS else []
    texts: Counter[str] = Counter()
    for test in tests:
        for target, number in figures.count_texts(model=None, task=test["task"]).items():
            if target in test["targets"]:
                texts[target] = max(texts[target], number)
    few = [target for target in texts if texts[target] < FEW]
    if few:
        reasons.append(f"{len(few)} of {len(texts)} targets have fewer than {FEW} texts")
    if reasons:
        return Finding(question, "cannot be told", f": {', and '.join(reasons)}.")
    adjusted = adjust_holm([1.0 if test["iman_davenport_p"] is None else test["iman_davenport_p"] for test in tests])
    differ = [(test, p) for test, p in zip(tests, adjusted, strict=True) if p < ALPHA]
    if not differ:
        return Finding(question, "cannot be told", f" from {fewest} {blocks}: no adjusted P is below {ALPHA}.")
    found = " and ".join(f"{in_words(test['task'])} (P {_write_equal(p)})" for test, p in differ)
    rest = "" if len(differ) == len(tests) else " For the other task it cannot be told."
    return Finding(
        "Models attribute",
        "more for some targets than for others",
        f", by Friedman’s test over {fewest} {blocks}: {found}.{rest}",
    )


def _write_equal(p: float) -> str:
    written = write_p(p)
    return written if written.startswith("<") else f"= {written}"


def write_pair_finding(tests: Sequence[Entry]) -> Finding | None:
    """In how many comparisons of two models on the same texts one names more, by the verdict of each, which is adjusted for their
    number; None if all are of few texts. Comparisons of few texts are left out and counted."""
    judged = [test for test in tests if test["n_items"] >= FEW]
    if not judged:
        return None
    apart = sum(test["verdict"] in {Direction.HIGHER, Direction.LOWER} for test in judged)
    comparisons = f"{len(judged):,} comparison{'s'[len(judged) == 1 :]}"
    few = f" {len(tests) - len(judged):,} more are of few texts." if len(judged) < len(tests) else ""
    if not apart:
        after = f" in any of {comparisons}" if len(judged) > 1 else f" from {judged[0]['n_items']:,} texts"
        return Finding("Which of two models names more on the same texts", "cannot be told", f"{after}.{few}")
    rest = "; in the others it cannot be told" if apart < len(judged) else ""
    return Finding("One of two models names more on the same texts in", f"{apart:,} of {comparisons}", f"{rest}.{few}")


def _describe_tests(tests: Mapping[str, Entry]) -> str:
    sentences = []
    for task, test in tests.items():
        if test.get("chi2") is None:
            sentences.append(f"{TASK_NAMES[task]}: no Friedman test.")
            continue
        sentences.append(
            f"{TASK_NAMES[task]}: Friedman chi-squared({test['df']}) = {write_number(test['chi2'], 3)}, P {write_p(test['p'])}, "
            f"Kendall's W = {write_number(test['kendalls_w'], 3)}, {test['n_blocks']} models."
        )
    return " ".join(sentences) or "The report contains no Friedman test."
