"""The report as LaTeX tables in the paper's layout (Tables 4, 5 and 10 to 13 of arXiv 2606.17506).

Pure: the report comes as the JSON that every page and file reads. The captions are our own; each says what its numbers are
shares of, how attributes were counted, and with which versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.sob.pure.measures.cautions import APART_MARK, CAVEATS, FEW_MARK, describe_readers, list_marks
from auditapp.benchmarks.sob.pure.measures.mapping import PUBLISHED, Rows, published_rows
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.showing.figures import TASK_NAMES, TASKS, Entry, Figures
from transcripts.formats.report_tables import DASH, PREAMBLE, escape_latex, shade, show_value, span, write_table
from transcripts.statistics.figures import write_number

MAX_VALUES = 5
MAX_LENGTH = 24
"""Characters of a value in Tables 5, 10 and 11, which have ten values in a line."""

MARK_COMMANDS = {
    FEW_MARK: r"\textsuperscript{\textdagger}",
    APART_MARK: r"\textsuperscript{\textdaggerdbl}",
}
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
    """There is no such table."""


def write_latex(
    report: Mapping[str, Any],
    tables: Sequence[str] | None = None,
    *,
    mapping: Rows | None = None,
    models: Sequence[str] | None = None,
    standalone: bool = True,
) -> str:
    """The tables numbered as in the paper, all of them if ``tables`` is left out. Raises ``UnknownTable``.

    ``mapping`` holds the lists of Table 12; without it they are the published ones if the report was made with those, else
    the table says that the report does not hold them. ``models`` are those of Table 5, two as a rule; by default the model
    with the highest and the one with the lowest score. ``standalone`` writes a whole document, else tables for a document
    whose preamble holds ``latex.PREAMBLE``.
    """
    figures = Figures(report)
    if mapping is None and (report.get("versions") or {}).get("mapping") == PUBLISHED:
        mapping = published_rows()
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
    """Table 4: models by targets, both tasks side by side on one scale, attribution rates at the outer edges."""
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
    """Who read the answers of each model, the mark of few answers, and alarms, as far as there are any."""
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
    """Table 5: two models beside each other as a rule, each over both tasks."""
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
    """The models with the highest and the lowest overall score of the first task, among those that attribute at all."""
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
    """The values attributed most often, per target and task: models below each other, the tasks side by side."""
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
    """Table 12: which values count as the target itself and which as the dominant group."""
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
