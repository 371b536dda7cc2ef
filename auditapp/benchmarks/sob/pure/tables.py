"""The report as files: LaTeX tables in the paper's layout (Tables 4, 5 and 10 to 13 of arXiv 2606.17506), and flat tables, one per
part of the report, in which numbers are not rounded and undefined ones are empty.

The report is given as the JSON that every page and file reads. The captions of the LaTeX tables are our own; each says what the
denominators are, how attributes were counted, and with which versions. The last column of every row of a flat table has the caveats
of the figures, because rows are copied into other tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.sob.pure.answer_words import OVERALL, Outcome
from auditapp.benchmarks.sob.pure.attributions import PUBLISHED, Rows, published_mapping_rows, read_mapping
from auditapp.benchmarks.sob.pure.cautions import (
    APART_MARK,
    CAVEATS,
    FEW_MARK,
    describe_readers,
    list_alarms,
    list_base_alarms,
    list_marks,
)
from auditapp.benchmarks.sob.pure.figures import (
    TASK_NAMES,
    TASKS,
    Entry,
    Figures,
    draw_heat_map,
    draw_rank_plot,
    draw_social_map,
)
from transcripts.charts.layout import ChartFile
from transcripts.charts.svg import write_png
from transcripts.formats.report_tables import (
    DASH,
    PREAMBLE,
    ReportTable,
    declare_each,
    escape_latex,
    name_ends,
    shade,
    show_value,
    span,
    write_report_table,
    write_table,
)
from transcripts.statistics.figures import write_number

MAX_VALUES = 5
MAX_LENGTH = 24
"""The most characters shown of a value in Tables 5, 10 and 11, which have ten values in a line."""

MARK_COMMANDS = {FEW_MARK: r"\textsuperscript{\textdagger}", APART_MARK: r"\textsuperscript{\textdaggerdbl}"}
_HEAD = "% Tables of a second-order-bias report. Needs booktabs, graphicx, iftex and xcolor with the option table."
_BEGIN = "\n".join(
    [
        r"\documentclass[10pt]{article}",
        r"\usepackage[a4paper,landscape,margin=15mm]{geometry}",
        PREAMBLE,
        r"\setlength{\tabcolsep}{3pt}",
        r"\begin{document}",
    ]
)


class UnknownTable(LookupError):
    """There is no table with this number."""


def write_latex(
    report: Mapping[str, Any],
    tables: Sequence[str] | None = None,
    *,
    mapping: Rows | None = None,
    models: Sequence[str] | None = None,
    standalone: bool = True,
) -> str:
    """The tables, numbered as in the paper; all of them if ``tables`` is left out. Raises ``UnknownTable``.

    ``mapping`` has the lists of Table 12. Without it, they are the published lists if the report was made with those; otherwise
    the table says that the report does not contain them. ``models`` are those of Table 5, usually two; by default the model
    with the highest score and the one with the lowest. ``standalone`` writes a whole document; otherwise the tables are for a
    document whose preamble contains ``report_tables.PREAMBLE``.
    """
    figures = Figures(report)
    if mapping is None and (report.get("versions") or {}).get("mapping") == PUBLISHED:
        mapping = published_mapping_rows()
    writers: dict[str, Callable[[], str]] = {
        "4": lambda: write_scores(figures),
        "5": lambda: write_contrast(figures, models),
        "10": lambda: _write_values(figures, "all models together", 10, [None]),
        "11": lambda: write_each_model(figures),
        "12": lambda: write_mapping_lists(figures, mapping),
        "13": lambda: write_mapped(figures),
    }
    unknown = [number for number in tables or () if number not in writers]
    if unknown:
        raise UnknownTable(f"There is no table {unknown[0]}; there are {', '.join(writers)}.")
    written = [writers[number]() for number in (writers if tables is None else tables)]
    if not standalone:
        return "\n".join([_HEAD, *written])
    sentences = [*CAVEATS, *figures.list_alarms(), *map(str, report.get("warnings") or [])]
    reading = rf"\section*{{Reading these tables}}{' '.join(map(escape_latex, sentences))}"
    return "\n".join([_HEAD, _BEGIN, reading, *written, r"\end{document}", ""])


def _finish_caption(figures: Figures, number: int, caption: str) -> str:
    return f"{caption} Layout: Table {number} of arXiv 2606.17506. {figures.describe_versions()}"


def write_scores(figures: Figures) -> str:
    """Table 4: models by targets, with both tasks side by side on one scale and attribution rates at the outer edges."""
    targets = [OVERALL, *figures.printed_targets]
    halves = [
        (task, [*targets, "attri."] if number else ["attri.", *targets]) for number, task in enumerate(figures.tasks)
    ]
    places = [(task, name) for task, names in halves for name in names]
    rows = [
        ["", *(span(len(names), escape_latex(TASK_NAMES[task])) for task, names in halves)],
        ["Model", *(rf"\rotatebox{{60}}{{{show_value(name)}}}" for _, name in places)],
        r"\midrule",
        *(
            [escape_latex(model), *(_show_score(figures, model, *place) for place in places)]
            for model in figures.models
        ),
    ]
    caption = (
        "Unwarranted attributes per answer (sob) by model, task and target; attri. is the share of answers with at least one "
        f"attribution. One shade scale for all scores, from 0 to {write_number(figures.highest)}; another from 0 to 1 for attri. "
        f"Overall is over all texts and is not the mean of the targets. {_describe_denominators(figures)} "
        "Paper counting: every attribute with a value other than unknown counts once; refusals and unreadable answers are "
        "excluded from the score. A dash: undefined or never asked."
        f"{_describe_cautions(figures)}"
    )
    return write_table("l" + "r" * len(places), rows, caption=_finish_caption(figures, 4, caption), label="sob-scores")


def _show_score(figures: Figures, model: str, task: str, name: str) -> str:
    is_rate = name == "attri."
    value = figures.find_figure("attribution_rate" if is_rate else "sob", model, task, OVERALL if is_rate else name)
    if value is None:
        return DASH
    highest = 1.0 if is_rate else figures.highest
    marks = [] if is_rate else list_marks(figures.find_cell(model, task, name) or {})
    commands = "".join(MARK_COMMANDS[mark] for mark, _ in marks)
    return f"{shade(value / highest if highest else 0)}{write_number(value)}{commands}"


def _describe_cautions(figures: Figures) -> str:
    """Sentences on who read the answers of each model, on the marks that occur, and on alarms."""
    readers = [
        f"{model}, {TASK_NAMES[task].lower()}: {read}"
        for model in figures.models
        for task in figures.tasks
        if (read := describe_readers(figures.find_cell(model, task, OVERALL) or {}))
    ]
    sentences = [
        *([f"{'; '.join(readers)}."] if readers else [figures.readers]),
        *figures.mark_sentences,
        *figures.list_alarms(),
    ]
    return "".join(f" {sentence}" for sentence in sentences if sentence)


def _describe_denominators(figures: Figures) -> str:
    parts = []
    for task in figures.tasks:
        cells = figures.find("cells", task=task, target=OVERALL)
        found = [int(cell["n_nonrefused"]) for cell in cells if cell.get("n_nonrefused") is not None]
        if found:
            bounds = f"{min(found):,}" + (f" to {max(found):,}" if max(found) != min(found) else "")
            parts.append(f"{bounds} for {TASK_NAMES[task].lower()}")
    if not parts:
        return "Denominators are not stated."
    return f"Answers that count over all texts, per model: {'; '.join(parts)}."


def write_contrast(figures: Figures, models: Sequence[str] | None) -> str:
    """Table 5: usually two models, each with both tasks."""
    chosen = list(models) if models is not None else choose_contrast(figures)
    if not chosen:
        return _write_values(figures, "", 5, [])
    names = " and ".join([", ".join(chosen[:-1]), chosen[-1]] if len(chosen) > 1 else chosen)
    how = (
        " Shown are the models with the highest and the lowest overall score above 0 in "
        f"{TASK_NAMES[figures.tasks[0]].lower()}."
    )
    return _write_values(figures, names, 5, chosen, how=how if models is None else "")


def choose_contrast(figures: Figures) -> list[str]:
    """The models with the highest and the lowest overall score in the first task, among those that attribute anything."""
    scored = [(figures.find_figure("sob", model, figures.tasks[0]) or 0.0, model) for model in figures.models]
    scored = sorted((each for each in scored if each[0] > 0), key=lambda each: -each[0])
    return [model for _, model in dict.fromkeys([scored[0], scored[-1]])] if scored else figures.models[:1]


def write_each_model(figures: Figures) -> str:
    """Table 11: one table per model."""
    named = {row["model"] for row in figures.find("top_values")}
    models = [model for model in figures.models if model in named]
    if not models:
        return _write_values(figures, "each model", 11, [])
    return "\n".join(_write_values(figures, model, 11, [model]) for model in models)


def _write_values(figures: Figures, whose: str, number: int, models: Sequence[str | None], *, how: str = "") -> str:
    """The values attributed most often, per target and task, with models below each other and tasks side by side."""
    rows = [row for model in models for row in _list_value_rows(figures, model)]
    opening = (
        f"Values that {whose} attributed most often, by target and task." if whose else "The report names no model."
    )
    caption = (
        f"{opening}{how} In brackets the percentage of n, the answers to texts on the target with at least one attribution and no "
        "list among their values. A value counts once per answer, whichever characteristic it was given for; upper and lower "
        "case are one value, shown in its commonest spelling; synonyms are not merged; ties are in alphabetical order."
    )
    places = [str(figures.models.index(model) + 1) for model in models if number == 11 and model is not None]
    alignment = "l" + ("r" + "l" * MAX_VALUES) * len(TASKS)
    return write_table(
        alignment,
        rows or [[span(len(alignment), "The report contains no attributed values.", "l")]],
        caption=_finish_caption(figures, number, caption),
        label="-".join(["sob-values", str(number), *places]),
    )


def _list_value_rows(figures: Figures, model: str | None) -> Iterator[Sequence[str] | str]:
    found = {(row["task"], row["target"]): row for row in figures.find("top_values", model=model)}
    targets = [target for target in figures.printed_targets if any((task, target) in found for task in TASKS)]
    if not targets:
        return
    names = [escape_latex(f"{model or 'All models'}: {TASK_NAMES[task]}") for task in TASKS]
    yield ["", *(span(MAX_VALUES + 1, rf"\textbf{{{name}}}", "l") for name in names)]
    yield ["Target", *["$n$", *map(str, range(1, MAX_VALUES + 1))] * len(TASKS)]
    yield r"\midrule"
    for target in targets:
        yield [show_value(target), *(cell for task in TASKS for cell in _show_values(found.get((task, target))))]
    yield r"\addlinespace"


def _show_values(row: Entry | None) -> list[str]:
    if row is None:
        return [DASH] * (MAX_VALUES + 1)
    cells = [str(row["denominator"]), *map(_show_share, row["values"][:MAX_VALUES])]
    return cells + [DASH] * (MAX_VALUES + 1 - len(cells))


def _show_share(value: Entry) -> str:
    written = show_value(str(value["value"]), MAX_LENGTH)
    share = value.get("pct")
    return written if share is None else f"{shade(share / 100)}{written} ({write_number(share, 1)})"


def write_mapping_lists(figures: Figures, mapping: Rows | None) -> str:
    """Table 12: the values that count as the target itself, and those that count as the dominant group."""
    named = (figures.report.get("versions") or {}).get("mapping") or "not stated"
    caption = (
        f"Values that count as the target group itself and as the dominant group (mapping: {named}). Who counts as dominant is a "
        "judgement: the lists can be changed, each version with its reason. Values match exactly, upper and lower case alike; "
        "an answer maps when any of its values does."
    )
    rows: list[Sequence[str] | str] = [["Target group", "Self-mapped values", "Dominant-mapped values"], r"\midrule"]
    if mapping is None:
        rows.append([span(3, "The lists are not part of this report.", "l")])
    for target, lists in (mapping or {}).items():
        values = ["; ".join(show_value(str(value)) for value in lists.get(kind, ())) for kind in ("self", "dominant")]
        rows.append([show_value(target), *values])
    caption = _finish_caption(figures, 12, caption)
    columns = r"lp{0.4\linewidth}p{0.4\linewidth}"
    return write_table(columns, rows, caption=caption, label="sob-mapping-lists", fit=False)


_MAPPED = (
    ("acceptability", "self"),
    ("non_acceptability", "dominant"),
    ("acceptability", "dominant"),
    ("non_acceptability", "self"),
)


def write_mapped(figures: Figures) -> str:
    """Table 13: shares of attributed answers that name the target itself or the dominant group, all models together."""
    found = {(row["target"], row["task"], row["kind"]): row for row in figures.find("mapping", model=None)}
    targets = [target for target in figures.printed_targets if any(key[0] == target for key in found)]
    heads = [f"{TASK_NAMES[task]}: {'self' if kind == 'self' else 'dominant group'}" for task, kind in _MAPPED]
    rows: list[Sequence[str] | str] = [
        ["", *(span(2, escape_latex(head)) for head in heads)],
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}\cmidrule(lr){6-7}\cmidrule(lr){8-9}",
        ["Target group", *["$n$", r"\% mapped"] * len(_MAPPED)],
        r"\midrule",
    ]
    for target in targets:
        cells = [cell for place in _MAPPED for cell in _show_mapped(found.get((target, *place)))]
        rows.append([show_value(target), *cells])
    if not targets:
        rows.append([span(9, "The report contains no mapping.", "l")])
    caption = (
        "How often attributed answers name the target group itself or the dominant group, all models together. The first two "
        "pairs of columns are the published ones; the other two are the remaining cells. n: answers to texts on the target with "
        "at least one attribution, the denominator of the share next to it. Any of an answer's values is enough."
    )
    caption = _finish_caption(figures, 13, caption)
    return write_table("l" + "rr" * len(_MAPPED), rows, caption=caption, label="sob-mapped", fit=False)


def _show_mapped(row: Entry | None) -> tuple[str, str]:
    if row is None:
        return DASH, DASH
    share = row.get("pct")
    return str(row["denominator"]), DASH if share is None else write_number(share)


Report = Mapping[str, Any]
Row = Mapping[str, Any]

NOTICE = "notice"


def _read_part(report: Report, part: str) -> Iterator[Row]:
    """The rows of a part as in the report, with each interval as two columns."""
    for row in report.get(part) or []:
        yield {**row, **name_ends(row.get("ci"), "ci_"), **name_ends(row.get("ci_strict"), "ci_strict_")}


def _read_mapping(report: Report, part: str) -> Iterator[Row]:
    """The rows with the interval, which is a share in the report, in per cent like the figure, and with the number of texts."""
    figures = Figures(report)
    for row in report.get(part) or []:
        texts = figures.count_texts(model=row["model"], task=row["task"]).get(row["target"])
        yield {**row, **name_ends([100 * end for end in row.get("ci") or []], "pct_"), "n_items": texts}


def _read_cells(report: Report, part: str) -> Iterator[Row]:
    """The rows of cells. For published rows the counts are not known, so they are empty and not 0."""
    for row in _read_part(report, part):
        counts = row.get("outcomes")
        outcomes = {f"outcome_{outcome}": counts and counts.get(outcome, 0) for outcome in _OUTCOMES}
        yield {**row, "provider": (report.get("providers") or {}).get(row["model"]), **outcomes}


def _read_friedman(report: Report, part: str) -> Iterator[Row]:
    for row in report.get(part) or []:
        low, high = row.get("iman_davenport_df") or (None, None)
        yield {**row, "iman_davenport_df1": low, "iman_davenport_df2": high}


def _read_mean_ranks(report: Report, part: str) -> Iterator[Row]:
    for row in [*(report.get("friedman") or []), *(report.get("friedman_families") or [])]:
        for target, rank in (row.get("mean_ranks") or {}).items():
            yield {**row, "target": target, "mean_rank": rank}


def _read_posthoc(report: Report, part: str) -> Iterator[Row]:
    for test in report.get(part) or []:
        for pair in test.get("pairs") or []:
            yield {**test, **pair}


def _read_top_values(report: Report, part: str) -> Iterator[Row]:
    for row in report.get(part) or []:
        for rank, value in enumerate(row.get("values") or [], start=1):
            yield {**row, **value, "rank": rank}


def _declare(
    name: str, caption: str, columns: str, read_rows: Callable[[Report, str], Iterator[Row]] = _read_part
) -> ReportTable[Report]:
    """A table of a part of the report; its last column has the caveats that must be read with each row."""

    def read(report: Report) -> Iterator[Row]:
        list_of, part = (list_base_alarms, "base") if name == "base" else (list_alarms, "cells")
        alarmed = [entry for entry in report.get(part) or [] if entry.get("alarm")]
        for row in read_rows(report, name):
            alarms = list_of(_choose(alarmed, row), row.get("target") or OVERALL)
            said = [report.get(NOTICE), *alarms, *(report.get("caveats") or [])]
            yield {**row, NOTICE: " ".join(filter(None, said))}

    return ReportTable(name, caption, declare_each((*columns.split(), NOTICE), _KINDS), read, is_printed=False)


def _choose(alarmed: Sequence[Row], row: Row) -> list[Row]:
    """The entries with an alarm for the models and task of a row; a row without a model or a task is about all of them."""
    models = {row.get(name) for name in ("model", "model_a", "model_b")} - {None}
    return [
        entry
        for entry in alarmed
        if (not models or entry["model"] in models) and row.get("task") in {None, entry.get("task")}
    ]


_OUTCOMES = tuple(str(outcome) for outcome in Outcome if outcome is not Outcome.VERDICT)
# The type of each column, the same in every table.
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
_CELLS = (
    "model task target n_responses n_refused n_null n_nonrefused n_attributed n_attributes n_items attribution_rate "
    "mean_attributes sob ci_low ci_high attribution_rate_strict sob_strict ci_strict_low ci_strict_high attribution_rate_released "
    f"sob_released {' '.join(f'outcome_{outcome}' for outcome in _OUTCOMES)} provider n_formatter n_person few_items "
    "countings_apart ci_note ci_strict_note alarm"
)
_FRIEDMAN = (
    "task blocks counting chi2 df p kendalls_w n_blocks k_treatments ties_corrected iman_davenport_f iman_davenport_df1 "
    "iman_davenport_df2 iman_davenport_p dropped warnings"
)
_POSTHOC = "task blocks method adjustment n_blocks a b difference statistic p p_adjusted p_adjusted_bh critical_difference alpha"
_PAIRED = (
    "task target model_a model_b n_items n_left_out mean_a mean_b difference ci_low ci_high ci_note p p_adjusted p_adjusted_bh "
    "test adjustment family seed mark verdict reasoning"
)
_CONTRAST = "model task n_items_with n_items_without sob_with sob_without difference ci_low ci_high"
_MAPPING = "model task target kind rule match denominator count pct pct_low pct_high named n_items"
_HARMS = "model task target denominator recirculatory attributional mappable epistemic_exclusion"
_BASE = "model target n_responses n_refused denominator acceptable non_acceptable uncertain"
_DECLARED = (
    _declare("cells", "Scores and counts per model, task and target.", _CELLS, _read_cells),
    _declare("friedman", "Whether targets differ: the Friedman tests, models as blocks.", _FRIEDMAN, _read_friedman),
    _declare("friedman_families", "The same tests with families of models as blocks.", _FRIEDMAN, _read_friedman),
    _declare(
        "mean_ranks",
        "Mean rank of each target; the highest rank is the highest score.",
        "task blocks target mean_rank n_blocks",
        _read_mean_ranks,
    ),
    _declare("posthoc", "Which targets differ: all pairs.", _POSTHOC, _read_posthoc),
    _declare("paired", "Every two models on the same texts.", _PAIRED),
    _declare(
        "sensitivity",
        "The effect of each counting rule on each score.",
        "model task target rule sob attribution_rate denominator change",
    ),
    _declare("repeats", "The spread of a score over repeats.", "model task target n_repeats values sd lowest highest"),
    _declare(
        "secondary",
        "Scores by secondary target.",
        "model task target n_items n_nonrefused sob ci_low ci_high few_items ci_note",
    ),
    _declare("secondary_contrast", "Texts with a secondary target against those without.", _CONTRAST),
    _declare(
        "top_values",
        "Values attributed most often; no model means all together.",
        "model task target denominator rank value count pct",
        _read_top_values,
    ),
    _declare("mapping", "Answers that name the target itself or the dominant group.", _MAPPING, _read_mapping),
    _declare("mapping_all", "Answers that name every value of the list.", _MAPPING, _read_mapping),
    _declare("harms", "Harms per target, as counts of answers.", _HARMS),
    _declare("readers", "Who read the answers: rules, formatter or person.", "model task reader outcome count share n"),
    _declare("base", "Answers to the base task.", _BASE),
)
TABLES = {table.name: table for table in _DECLARED}
"""Every table by name, in the order of the page."""


def print_table(report: Report, name: str, *, exact: bool = False) -> str:
    """One of ``TABLES`` as CSV. Cells that a spreadsheet would run are escaped unless ``exact``. Raises ``KeyError`` for an unknown
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
"""The formats of each file, by key."""


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
    """The content of one file. Raises ``KeyError`` for an unknown key or format, and ``NoRenderer`` if PNG cannot be drawn here.

    ``model`` is the model of the social map (None: all together); ``exact`` leaves formulas in CSV as they are;
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
    """A file name with the number of the batch and the version of the report."""
    version = str((report.get("versions") or {}).get("report") or "0")
    return f"sob-batch-{batch}-report-{version}-{key}.{format}"
