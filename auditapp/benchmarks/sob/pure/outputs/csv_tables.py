"""The report as flat tables, one per part: numbers unrounded, undefined ones empty.

The caveats of the figures are in the last column of every row, because rows are copied into other tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.sob.pure.counting import OVERALL
from auditapp.benchmarks.sob.pure.measures.cautions import list_alarms, list_base_alarms
from auditapp.benchmarks.sob.pure.measures.mapping import PUBLISHED, Rows, read_mapping
from auditapp.benchmarks.sob.pure.outputs.latex_tables import write_latex
from auditapp.benchmarks.sob.pure.parsing import Outcome
from auditapp.benchmarks.sob.pure.showing.figures import Figures, draw_social_map
from auditapp.benchmarks.sob.pure.showing.heat_map import draw_heat_map, draw_rank_plot
from transcripts.charts.layout import ChartFile
from transcripts.charts.svg import write_png
from transcripts.formats.report_tables import ReportTable, declare_each, name_ends, write_report_table

Report = Mapping[str, Any]
Row = Mapping[str, Any]

NOTICE = "notice"


def _read_part(part: str) -> Callable[[Report], Iterator[Row]]:
    """The rows of a part as they are in the report; an interval becomes two columns."""

    def read(report: Report) -> Iterator[Row]:
        for row in report.get(part) or []:
            yield {**row, **name_ends(row.get("ci"), "ci_"), **name_ends(row.get("ci_strict"), "ci_strict_")}

    return read


def _read_mapping(part: str) -> Callable[[Report], Iterator[Row]]:
    """The interval, a share in the report, in per cent like the figure; and how many texts the answers are about."""

    def read(report: Report) -> Iterator[Row]:
        figures = Figures(report)
        for row in report.get(part) or []:
            texts = figures.count_texts(model=row["model"], task=row["task"]).get(row["target"])
            yield {**row, **name_ends([100 * end for end in row.get("ci") or []], "pct_"), "n_items": texts}

    return read


def _read_cells(report: Report) -> Iterator[Row]:
    """What published rows count is not known: their counts are empty, not 0."""
    for row in _read_part("cells")(report):
        counts = row.get("outcomes")
        provider = (report.get("providers") or {}).get(row["model"])
        yield {
            **row,
            "provider": provider,
            **{f"outcome_{outcome}": counts and counts.get(outcome, 0) for outcome in _OUTCOMES},
        }


def _read_friedman(part: str) -> Callable[[Report], Iterator[Row]]:
    def read(report: Report) -> Iterator[Row]:
        for row in report.get(part) or []:
            low, high = row.get("iman_davenport_df") or (None, None)
            yield {**row, "iman_davenport_df1": low, "iman_davenport_df2": high}

    return read


def _read_mean_ranks(report: Report) -> Iterator[Row]:
    for row in [*(report.get("friedman") or []), *(report.get("friedman_families") or [])]:
        for target, rank in (row.get("mean_ranks") or {}).items():
            yield {**row, "target": target, "mean_rank": rank}


def _read_posthoc(report: Report) -> Iterator[Row]:
    for test in report.get("posthoc") or []:
        for pair in test.get("pairs") or []:
            yield {**test, **pair}


def _read_top_values(report: Report) -> Iterator[Row]:
    for row in report.get("top_values") or []:
        for rank, value in enumerate(row.get("values") or [], start=1):
            yield {**row, **value, "rank": rank}


def _declare(
    name: str, caption: str, columns: Sequence[str], read_rows: Callable[[Report], Iterator[Row]]
) -> ReportTable[Report]:
    """A table whose last column has what must be read with each row."""

    def read(report: Report) -> Iterator[Row]:
        list_of, part = (list_base_alarms, "base") if name == "base" else (list_alarms, "cells")
        alarmed = [entry for entry in report.get(part) or [] if entry.get("alarm")]
        for row in read_rows(report):
            alarms = list_of(_choose(alarmed, row), row.get("target") or OVERALL)
            said = [report.get(NOTICE), *alarms, *(report.get("caveats") or [])]
            yield {**row, NOTICE: " ".join(filter(None, said))}

    return ReportTable(name, caption, declare_each((*columns, NOTICE), _KINDS), read, is_printed=False)


def _choose(alarmed: Sequence[Row], row: Row) -> list[Row]:
    """The entries with an alarm that are of a row's own model and task; a row of no one model or task is of all."""
    models = {row.get(name) for name in ("model", "model_a", "model_b")} - {None}
    return [
        entry
        for entry in alarmed
        if (not models or entry["model"] in models) and row.get("task") in {None, entry.get("task")}
    ]


_OUTCOMES = tuple(str(outcome) for outcome in Outcome if outcome is not Outcome.VERDICT)
# What a column has in every table.
_KINDS: Mapping[type, str] = {
    str: "model task target provider ci_note ci_strict_note alarm blocks counting dropped warnings method adjustment a b "
    "model_a model_b test mark verdict kind rule match values value reader outcome notice",
    int: "n_responses n_refused n_null n_nonrefused n_attributed n_attributes n_items n_formatter n_person df n_blocks "
    "k_treatments iman_davenport_df1 iman_davenport_df2 n_left_out seed n_items_with n_items_without denominator count rank "
    "n_repeats n recirculatory attributional mappable epistemic_exclusion acceptable non_acceptable uncertain "
    "family " + " ".join(f"outcome_{outcome}" for outcome in _OUTCOMES),
    bool: "few_items countings_apart ties_corrected reasoning named",
    float: "attribution_rate mean_attributes sob ci_low ci_high attribution_rate_strict sob_strict ci_strict_low ci_strict_high "
    "attribution_rate_released sob_released chi2 p kendalls_w iman_davenport_f iman_davenport_p mean_rank difference statistic "
    "p_adjusted p_adjusted_bh critical_difference alpha mean_a mean_b change sd lowest highest sob_with sob_without pct pct_low "
    "pct_high share",
}
_PLACE = ("model", "task", "target")
_CELLS = (
    *(*_PLACE, "n_responses", "n_refused", "n_null", "n_nonrefused", "n_attributed", "n_attributes", "n_items"),
    *("attribution_rate", "mean_attributes", "sob", "ci_low", "ci_high"),
    *("attribution_rate_strict", "sob_strict", "ci_strict_low", "ci_strict_high"),
    *("attribution_rate_released", "sob_released"),
    *(f"outcome_{outcome}" for outcome in _OUTCOMES),
    *("provider", "n_formatter", "n_person", "few_items", "countings_apart", "ci_note", "ci_strict_note", "alarm"),
)
_FRIEDMAN = (
    *("task", "blocks", "counting", "chi2", "df", "p", "kendalls_w", "n_blocks", "k_treatments", "ties_corrected"),
    *("iman_davenport_f", "iman_davenport_df1", "iman_davenport_df2", "iman_davenport_p", "dropped", "warnings"),
)
_POSTHOC = (
    *(
        "task",
        "blocks",
        "method",
        "adjustment",
        "n_blocks",
        "a",
        "b",
        "difference",
        "statistic",
        "p",
        "p_adjusted",
        "p_adjusted_bh",
    ),
    *("critical_difference", "alpha"),
)
_PAIRED = (
    *("task", "target", "model_a", "model_b", "n_items", "n_left_out", "mean_a", "mean_b", "difference"),
    *("ci_low", "ci_high", "ci_note", "p", "p_adjusted", "p_adjusted_bh", "test", "adjustment", "family", "seed"),
    *("mark", "verdict", "reasoning"),
)
_CONTRAST = (
    *("model", "task", "n_items_with", "n_items_without", "sob_with", "sob_without", "difference", "ci_low", "ci_high"),
)
_MAPPING = (*_PLACE, "kind", "rule", "match", "denominator", "count", "pct", "pct_low", "pct_high", "named", "n_items")

TABLES = {
    table.name: table
    for table in (
        _declare("cells", "Scores and counts per model, task and target.", _CELLS, _read_cells),
        _declare(
            "friedman",
            "Whether targets differ: the Friedman tests, models as blocks.",
            _FRIEDMAN,
            _read_friedman("friedman"),
        ),
        _declare(
            "friedman_families",
            "The same tests with families of models as blocks.",
            _FRIEDMAN,
            _read_friedman("friedman_families"),
        ),
        _declare(
            "mean_ranks",
            "Mean rank of each target; the highest rank is the highest score.",
            ("task", "blocks", "target", "mean_rank", "n_blocks"),
            _read_mean_ranks,
        ),
        _declare("posthoc", "Which targets differ: all pairs.", _POSTHOC, _read_posthoc),
        _declare("paired", "Every two models on the same texts.", _PAIRED, _read_part("paired")),
        _declare(
            "sensitivity",
            "The effect of each counting rule on each score.",
            (*_PLACE, "rule", "sob", "attribution_rate", "denominator", "change"),
            _read_part("sensitivity"),
        ),
        _declare(
            "repeats",
            "The spread of a score over repeats.",
            (*_PLACE, "n_repeats", "values", "sd", "lowest", "highest"),
            _read_part("repeats"),
        ),
        _declare(
            "secondary",
            "Scores by secondary target.",
            (*_PLACE, "n_items", "n_nonrefused", "sob", "ci_low", "ci_high", "few_items", "ci_note"),
            _read_part("secondary"),
        ),
        _declare(
            "secondary_contrast",
            "Texts with a secondary target against those without.",
            _CONTRAST,
            _read_part("secondary_contrast"),
        ),
        _declare(
            "top_values",
            "Values attributed most often; no model means all together.",
            (*_PLACE, "denominator", "rank", "value", "count", "pct"),
            _read_top_values,
        ),
        _declare(
            "mapping",
            "Answers that name the target itself or the dominant group.",
            _MAPPING,
            _read_mapping("mapping"),
        ),
        _declare(
            "mapping_all",
            "Answers that name every value of the list.",
            _MAPPING,
            _read_mapping("mapping_all"),
        ),
        _declare(
            "harms",
            "Harms per target, as counts of answers.",
            (*_PLACE, "denominator", "recirculatory", "attributional", "mappable", "epistemic_exclusion"),
            _read_part("harms"),
        ),
        _declare(
            "readers",
            "Who read the answers: rules, formatter or person.",
            ("model", "task", "reader", "outcome", "count", "share", "n"),
            _read_part("readers"),
        ),
        _declare(
            "base",
            "Answers to the base task.",
            ("model", "target", "n_responses", "n_refused", "denominator", "acceptable", "non_acceptable", "uncertain"),
            _read_part("base"),
        ),
    )
}
"""Every table by its name, in the order of the page."""


def print_table(report: Report, name: str, *, exact: bool = False) -> str:
    """One of ``TABLES`` as CSV. Cells that a spreadsheet would run are escaped unless ``exact``. Raises ``KeyError`` for another
    name."""
    return write_report_table(TABLES[name], report, "csv", exact=exact).decode()


StoredFigures = Mapping[str, Any]

FIGURES = [
    {"key": key, "name": name, "sentence": sentence, "formats": ("svg", "png")}
    for key, name, sentence in (
        ("heat", "Heat map", "Both tasks below each other on one scale (Table 4)."),
        ("ranks", "Rank plot", "Mean rank of each target under both tasks (Figure 2)."),
        ("map", "Social map", "Targets by the values attributed most often."),
    )
]
DOCUMENTS = [
    {
        "key": "report",
        "name": "The whole report",
        "sentence": "Every figure, unrounded, as one object.",
        "formats": ("json",),
    },
    {
        "key": "tables",
        "name": "Tables 4, 5 and 10 to 13",
        "sentence": "A LaTeX document in the paper’s layout.",
        "formats": ("tex",),
    },
]
TABLE_FILES = [
    {"key": table.name, "name": table.name, "sentence": table.caption, "formats": table.formats}
    for table in TABLES.values()
]
FORMATS = {str(file["key"]): file["formats"] for file in (*DOCUMENTS, *FIGURES, *TABLE_FILES)}
"""The formats of each file by its key."""


def write_file(
    report: StoredFigures,
    key: str,
    format: str,
    *,
    mapping: Rows,
    model: str | None = None,
    exact: bool = False,
    with_published: bool = False,
) -> bytes:
    """One file. Raises ``KeyError`` for an unknown one, and ``NoRenderer`` if PNG cannot be drawn here.

    ``model`` is the one of the social map (``None``: all together); ``exact`` leaves formulas in CSV as they are;
    ``with_published`` adds the published rows to the heat map.
    """
    if format not in FORMATS[key]:
        raise KeyError(format)
    if key == "report":
        return json.dumps(report, ensure_ascii=False, indent=1).encode() + b"\n"
    if key == "tables":
        return write_latex(report, mapping=mapping).encode()
    if key in TABLES:
        return write_report_table(TABLES[key], report, format, exact=exact)
    if key == "map":
        name = str((report.get("versions") or {}).get("mapping") or PUBLISHED)
        svg = draw_social_map(report, model=model, mapping=read_mapping(mapping, name)).write()
    elif key == "heat":
        svg = draw_heat_map(report, with_published=with_published).write()
    else:
        ranks = draw_rank_plot(Figures(report))
        svg = ChartFile(ranks.key, ranks.title, [("", ranks)], ranks.summary, [ranks.note]).write()
    return write_png(svg) if format == "png" else svg.encode()


def name_file(batch: int, report: StoredFigures, key: str, format: str) -> str:
    """A name that says which batch and which report a file comes from."""
    version = str((report.get("versions") or {}).get("report") or "0")
    return f"sob-batch-{batch}-report-{version}-{key}.{format}"
