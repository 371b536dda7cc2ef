"""Tables 5, 10 and 11: the values attributed most often, per target, for chosen models, all together, and each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.outputs.latex_tables import DASH, name_layout, shade, wrap_table
from auditapp.sob.pure.outputs.latex_text import escape_latex, show_value
from auditapp.sob.pure.outputs.reading import TASK_NAMES, TASKS, ReportView, Row

MAX_VALUES = 5
LONGEST = 24
"""Characters of a value: ten of them stand in a line."""

_WIDTH = 1 + 2 * (MAX_VALUES + 1)
_Key = tuple[str | None, str, str]


def write_contrast(view: ReportView, models: Sequence[str] | None) -> str:
    """Table 5: two models beside each other as a rule, each over both tasks."""
    chosen = list(models) if models is not None else choose_contrast(view)
    if not chosen:
        return _write_panel(view, "The report names no model.", 5, [])
    how = (
        ""
        if models is not None
        else " Shown are the models with the highest and the lowest overall score above 0 in "
        f"{TASK_NAMES[view.tasks[0]].lower()}."
    )
    opening = f"Values that {_join(chosen)} attributed most often, by target and task.{how}"
    return _write_panel(view, opening, 5, chosen)


def choose_contrast(view: ReportView) -> list[str]:
    """The models with the highest and the lowest overall score of the first task, among those that attribute at all."""
    if not view.tasks:
        return []
    scored = [(view.score(model, view.tasks[0], OVERALL) or 0.0, model) for model in view.models]
    scored = sorted((each for each in scored if each[0] > 0), key=lambda each: -each[0])
    return [model for _, model in dict.fromkeys([scored[0], scored[-1]])] if scored else view.models[:1]


def write_pooled(view: ReportView) -> str:
    """Table 10: the answers of all models together."""
    opening = "Values attributed most often by all models together, by target and task."
    return _write_panel(view, opening, 10, [None])


def write_each_model(view: ReportView) -> str:
    """Table 11: one table per model."""
    opening = "Values that {} attributed most often, by target and task."
    named = {row["model"] for row in view.rows("top_values")}
    models = [model for model in view.models if model in named]
    if not models:
        return _write_panel(view, "Values that each model attributed most often.", 11, [])
    return "\n".join(_write_panel(view, opening.format(model), 11, [model]) for model in models)


def _write_panel(view: ReportView, opening: str, number: int, models: Sequence[str | None]) -> str:
    found = {(row["model"], row["task"], row["target"]): row for row in view.rows("top_values")}
    body = [line for model in models for line in _write_block(view, found, model)]
    if not body:
        body = [rf"\multicolumn{{{_WIDTH}}}{{l}}{{The report holds no attributed values.}} \\"]
    caption = (
        f"{opening} In brackets the percentage of n, the answers to texts on the target with at least one attribution and no list "
        "among their values. A value counts once per answer, whichever characteristic it was given for; upper and lower case "
        "are one value, shown in its commonest spelling; synonyms are not merged; ties stand in alphabetical order. "
        f"{name_layout(number)} {view.describe_versions()}"
    )
    places = [str(view.models.index(model) + 1) for model in models if number == 11 and model is not None]
    label = "-".join(["sob-values", str(number), *places])
    return wrap_table("l" + ("r" + "l" * MAX_VALUES) * len(TASKS), body, caption, label)


def _write_block(view: ReportView, found: Mapping[_Key, Row], model: str | None) -> list[str]:
    """One model: targets below each other, the tasks beside each other."""
    targets = [target for target in view.targets if any((model, task, target) in found for task in TASKS)]
    if not targets:
        return []
    name = "All models" if model is None else model
    headings = [
        rf"\multicolumn{{{MAX_VALUES + 1}}}{{l}}{{\textbf{{{escape_latex(f'{name}: {TASK_NAMES[task]}')}}}}}"
        for task in TASKS
    ]
    numbers = " & ".join(["$n$", *map(str, range(1, MAX_VALUES + 1))])
    lines = [" & ".join(["", *headings]) + r" \\", " & ".join(["Target", numbers, numbers]) + r" \\", r"\midrule"]
    for target in targets:
        halves = [_show_values(found.get((model, task, target))) for task in TASKS]
        lines.append(" & ".join([show_value(target), *halves]) + r" \\")
    return [*lines, r"\addlinespace"]


def _show_values(row: Row | None) -> str:
    values = list(row["values"])[:MAX_VALUES] if row else []
    cells = [_show_value(value) for value in values] + [DASH] * (MAX_VALUES - len(values))
    return " & ".join([str(row["denominator"]) if row else DASH, *cells])


def _show_value(value: Row) -> str:
    share = value.get("pct")
    written = show_value(str(value["value"]), LONGEST)
    return written if share is None else f"{shade(share / 100)}{written} ({share:.1f})"


def _join(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
