"""The report's figures: heat map, rank plot (the paper's Figure 2) and social map, as SVG.

Pure. Each figure stands alone: title, description, scale, denominators and versions are in it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.sob.pure.measures.mapping import Kind, TargetMapping, published_mapping
from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.outputs.reading import TASK_NAMES, TASKS, ReportView, Row
from auditapp.sob.pure.outputs.svg_writing import (
    ACCENT,
    QUIET,
    Box,
    Svg,
    choose_ink,
    mix_shade,
    shorten,
    show,
)
from auditapp.sob.pure.published import published_rows, published_source
from auditapp.sob.pure.showing.attributed import draw_map
from auditapp.sob.pure.showing.figures import write_decimals

_CELL_W, _CELL_H = 40, 24
_LEFT = 150
_LABEL = 22
_NOTE = "Unknown is the only warranted answer; a score measures unwarranted attribution on these texts and certifies no judge."


def draw_heat_map(report: Mapping[str, Any], *, with_published: bool = False) -> str:
    """Scores of both tasks side by side on one scale, the number in every cell; attribution rates beside them.

    ``with_published`` puts the published rows below, for answers that compare with them.
    """
    view, beside = ReportView(report), None
    if with_published:
        beside = _read_published(view.tasks)
        beside.highest = view.highest = max(view.highest, beside.highest)
    columns = [OVERALL, *view.targets]
    tasks = view.tasks or list(TASKS)
    half = (len(columns) + 1) * _CELL_W + 24
    notes = _wrap(
        "Mean number of attributes per answer that counts (paper counting), "
        f"one scale from 0 to {view.highest:.2f}. attri.: share of answers with at least one attribution. "
        "Overall is over all texts. A dash: undefined or never asked. "
        f"{f'Below the line the published rows: {published_source()}. ' if beside else ''}{_NOTE} {view.describe_versions()}",
        width := max(_LEFT + half * len(tasks) + 16, 560),
    )
    top = 118
    bottom = top + _CELL_H * (len(view.models) + (len(beside.models) + 1 if beside else 0))
    height = bottom + 40 + 15 * len(notes)
    svg = Svg(
        figure="sob-heat",
        width=width,
        height=height,
        title="Unwarranted attributes per answer, by model, task and target",
        description=_describe_scores(view),
    )
    svg.text(16, 26, "Unwarranted attributes per answer", font_size=17, font_weight="bold")
    for number, task in enumerate(tasks):
        _draw_head(svg, columns, task, _LEFT + half * number, top)
    _draw_rows(svg, view, tasks, columns, Box(_LEFT, top, half))
    if beside:
        below = top + _CELL_H * (len(view.models) + 1)
        svg.line(Box(16, below - 6, width - 32))
        svg.text(16, below - 10, "Published (Table 4)", fill=QUIET)
        _draw_rows(svg, beside, tasks, columns, Box(_LEFT, below, half))
    _draw_scale(svg, 16, bottom + 14, view.highest)
    svg.lines_of_text(16, bottom + 50, notes, fill=QUIET)
    return svg.write()


def _read_published(tasks: Sequence[str]) -> ReportView:
    """The published rows of these tasks as a report of their own."""
    rows = [row for row in published_rows() if row.task in tasks]
    cells = [
        {"model": row.model, "task": row.task, "target": target, "sob": score, "attribution_rate": rate}
        for row in rows
        for target, score, rate in [
            (OVERALL, row.overall, row.attribution_rate),
            *((each, row.by_target[each], None) for each in row.by_target),
        ]
    ]
    return ReportView({"cells": cells})


def _draw_head(svg: Svg, columns: Sequence[str], task: str, left: float, top: int) -> None:
    svg.text(left, 50, TASK_NAMES[task], font_size=14, font_weight="bold")
    for number, name in enumerate([*columns, "attri."]):
        svg.text(left + _CELL_W * number + 16, top - 8, shorten(name, 12), turn=-50)


def _draw_rows(svg: Svg, view: ReportView, tasks: Sequence[str], columns: Sequence[str], box: Box) -> None:
    """Every model with its scores; each task takes the width of the box."""
    for row, model in enumerate(view.models):
        y = box.y + _CELL_H * row
        svg.text(box.x - 10, y + 16, shorten(model, _LABEL), anchor="end")
        for place, task in enumerate(tasks):
            left = box.x + box.width * place
            for number, target in enumerate(columns):
                score = view.score(model, task, target)
                words = f"{model}, {TASK_NAMES[task].lower()}, {target}"
                share = (score or 0.0) / view.highest if view.highest else 0.0
                figure = "" if score is None else write_decimals(score)
                _draw_cell(svg, Box(left + _CELL_W * number, y, _CELL_W - 2, _CELL_H - 2), figure, share, words)
            rate = view.rate(model, task)
            shown = "–" if rate is None else write_decimals(rate)
            svg.text(left + _CELL_W * (len(columns) + 0.5), y + 16, shown, anchor="middle", fill=QUIET)


def _draw_cell(svg: Svg, box: Box, figure: str, share: float, words: str) -> None:
    middle, line = box.x + box.width / 2, box.y + 16
    if not figure:
        svg.text(middle, line, "–", anchor="middle", fill=QUIET)
        return
    svg.rect(box, mix_shade(share), f"{figure}: {words}")
    svg.text(middle, line, figure, anchor="middle", fill=choose_ink(share))


def _draw_scale(svg: Svg, x: int, y: int, highest: float) -> None:
    svg.text(x, y + 10, "0")
    for step in range(21):
        svg.rect(Box(x + 14 + 8 * step, y, 8, 12), mix_shade(step / 20))
    svg.text(x + 14 + 8 * 21 + 6, y + 10, f"{highest:.2f} attributes per answer")


def _describe_scores(view: ReportView) -> str:
    parts = []
    for task in view.tasks:
        scores = [(view.score(model, task, OVERALL), model) for model in view.models]
        known = sorted((score, model) for score, model in scores if score is not None)
        if known:
            (low, lowest), (high, highest) = known[0], known[-1]
            parts.append(f"{TASK_NAMES[task]}: overall from {low:.2f} ({lowest}) to {high:.2f} ({highest}).")
    return f"A table of {len(view.models)} models by {len(view.targets)} targets and all texts. {' '.join(parts)}"


def draw_rank_plot(report: Mapping[str, Any]) -> str:
    """Mean rank of each target under both tasks: the further right, the more attributes (rank k is the highest score)."""
    view = ReportView(report)
    tests = {row["task"]: row for row in view.rows("friedman")}
    ranked = {task: dict(tests[task].get("mean_ranks") or {}) for task in TASKS if task in tests}
    first: Mapping[str, float] = next((ranks for ranks in ranked.values() if ranks), {})
    targets = sorted(first, key=lambda target: (-first[target], target))
    highest = max((int(test.get("k_treatments") or 0) for test in tests.values()), default=0) or max(len(targets), 2)
    width, left, top = 640, 150, 92
    notes = _wrap(f"{_describe_tests(tests)} {_NOTE} {view.describe_versions()}", width)
    height = top + 28 * len(targets) + 60 + 15 * len(notes)
    svg = Svg(
        figure="sob-ranks",
        width=width,
        height=height,
        title="Mean rank of each target group over models",
        description=_describe_ranks(targets, ranked, highest),
    )
    svg.text(16, 26, "Mean rank of each target group over models", font_size=17, font_weight="bold")
    svg.text(16, 46, f"Rank {highest}: most attributes; rank 1: fewest. Sorted by the first task.", fill=QUIET)
    _draw_key(svg, left, 68, ranked)
    _draw_ranks(svg, targets, ranked, highest, Box(left, top, width - left - 24))
    svg.lines_of_text(16, top + 28 * len(targets) + 50, notes, fill=QUIET)
    return svg.write()


def _draw_ranks(
    svg: Svg, targets: Sequence[str], ranked: Mapping[str, Mapping[str, float]], highest: int, box: Box
) -> None:
    left, top = box.x, box.y

    def place(rank: float) -> float:
        return left + box.width * (rank - 1) / max(highest - 1, 1)

    bottom = top + 28 * len(targets)
    for rank in range(1, highest + 1):
        svg.line(Box(place(rank), top - 6, 0, bottom - top + 6))
        svg.text(place(rank), bottom + 16, str(rank), anchor="middle", fill=QUIET)
    for row, target in enumerate(targets):
        y = top + 28.0 * row + 10
        svg.text(left - 14, y + 4, shorten(target, _LABEL), anchor="end")
        ranks = {task: ranks[target] for task, ranks in ranked.items() if target in ranks}
        if len(ranks) == len(TASKS):
            start, end = (place(mean) for mean in ranks.values())
            svg.line(Box(start, y, end - start), QUIET, 1.5)
        for task, mean in reversed(ranks.items()):
            words = f"{target}, {TASK_NAMES[task].lower()}: mean rank {mean:.2f}"
            _draw_mark(svg, TASKS.index(task), place(mean), y, words)


def _draw_mark(svg: Svg, number: int, x: float, y: float, words: str) -> None:
    """A disc for the first task, a larger square for the second: distinct without colour, and both visible if they overlap."""
    title = f"<title>{show(words)}</title>" if words else ""
    colour = f'fill="{ACCENT[number]}" stroke="#ffffff"'
    if number == 0:
        svg.add(f'<circle cx="{x:g}" cy="{y:g}" r="4.5" {colour}>{title}</circle>')
    else:
        svg.add(f'<rect x="{x - 7:g}" y="{y - 7:g}" width="14" height="14" {colour}>{title}</rect>')


def _draw_key(svg: Svg, x: int, y: int, ranked: Mapping[str, object]) -> None:
    for number, task in enumerate(TASKS):
        if task in ranked:
            _draw_mark(svg, number, x + 150 * number, y - 4, "")
            svg.text(x + 150 * number + 14, y, TASK_NAMES[task])


def _describe_tests(tests: Mapping[str, Row]) -> str:
    sentences = []
    for task, test in tests.items():
        if test.get("chi2") is None:
            sentences.append(f"{TASK_NAMES[task]}: no Friedman test.")
            continue
        sentences.append(
            f"{TASK_NAMES[task]}: Friedman chi-squared({test['df']}) = {test['chi2']:.3f}, p = {test['p']:.3g}, Kendall's W = "
            f"{test['kendalls_w']:.3f}, {test['n_blocks']} models."
        )
    return " ".join(sentences) or "The report holds no Friedman test."


def _describe_ranks(targets: Sequence[str], ranked: Mapping[str, Mapping[str, float]], highest: int) -> str:
    listed = [
        f"{TASK_NAMES[task]}: " + ", ".join(f"{target} {ranks[target]:.2f}" for target in targets if target in ranks)
        for task, ranks in ranked.items()
    ]
    return f"Rank {highest} is the highest score. {'. '.join(listed)}."


_MAP_CELL = 46
_MARKS = {Kind.SELF: "s", Kind.DOMINANT: "d"}


def draw_social_map(
    report: Mapping[str, Any], *, model: str | None = None, mapping: TargetMapping | None = None
) -> str:
    """Targets by the values attributed most often, both tasks below each other; ``model`` None is all models together.

    Values that stand for the target itself or for the dominant group are marked by ``mapping``, the published one where
    none is given.
    """
    view = ReportView(report)
    mapping = mapping or published_mapping()
    rows = [row for row in view.rows("top_values") if row.get("model") == model and row["target"] in view.targets]
    described = {task: found for task in TASKS if (found := [row for row in rows if row["task"] == task])}
    drawn = {
        entry["task"]: draw_map(entry, mapping) for entry in view.rows("social_map") if entry.get("model") == model
    }
    panels = {task: drawn[task] for task in TASKS if task in drawn}
    columns = max((len(panel["values"]) for panel in panels.values()), default=0)
    whose = "all models together" if model is None else model
    notes = _wrap(
        "Percentage of n, the answers to texts on the target with at least one attribution and no list among their values. "
        "A dash: there is no such answer. Columns: the values attributed most often over all texts and models of the task. "
        f"s: stands for the target itself, d: for the dominant group (mapping: {mapping.name}). "
        f"{_NOTE} {view.describe_versions()}",
        width := max(_LEFT + 60 + _MAP_CELL * columns + 70, 760),
    )
    heights = {task: 150 + _CELL_H * len(panel["rows"]) for task, panel in panels.items()}
    height = 44 + sum(heights.values()) + 24 + 15 * len(notes)
    svg = Svg(
        figure="sob-map",
        width=width,
        height=height,
        title=f"Which values are attributed to whom: {shorten(whose, 60)}",
        description=_describe_map(described),
    )
    svg.text(16, 26, f"Values attributed by {shorten(whose, 60)}", font_size=17, font_weight="bold")
    top = 44
    for task, panel in panels.items():
        _draw_panel(svg, task, panel, top)
        top += heights[task]
    svg.lines_of_text(16, top + 20, notes, fill=QUIET)
    return svg.write()


def _draw_panel(svg: Svg, task: str, panel: Mapping[str, Any], top: int) -> None:
    head, left = top + 118, _LEFT + 60
    svg.text(16, top + 18, TASK_NAMES[task], font_size=14, font_weight="bold")
    svg.text(left - 8, head - 8, "n", anchor="end", fill=QUIET)
    for number, value in enumerate(panel["values"]):
        svg.text(left + _MAP_CELL * number + 18, head - 8, shorten(value, 17), turn=-45)
    for place, row in enumerate(panel["rows"]):
        y = head + _CELL_H * place
        svg.text(_LEFT, y + 16, shorten(row["target"], _LABEL), anchor="end")
        svg.text(left - 8, y + 16, str(row["denominator"]), anchor="end", fill=QUIET)
        for number, cell in enumerate(row["cells"]):
            box = Box(left + _MAP_CELL * number, y, _MAP_CELL - 2, _CELL_H - 2)
            mark = f" {_MARKS[cell['kind']]}" if cell["kind"] else ""
            figure = "" if cell["pct"] is None else f"{cell['pct']:.1f}{mark}"
            words = f"percent of answers: {row['target']}, {cell['value']}"
            _draw_cell(svg, box, figure, (cell["pct"] or 0.0) / 100, words)


def _describe_map(panels: Mapping[str, Sequence[Row]]) -> str:
    sentences = []
    for task, rows in panels.items():
        firsts = [
            f"{row['target']} {row['values'][0]['value']} ({row['values'][0]['pct']:.1f} %)"
            for row in rows
            if row["values"]
        ]
        sentences.append(f"{TASK_NAMES[task]}, the first value of each target: {', '.join(firsts)}.")
    return " ".join(sentences) or "The report holds no attributed values."


def _wrap(words: str, width: int) -> list[str]:
    """Lines of notes that fit below a figure."""
    return textwrap.wrap(words, max(30, int((width - 32) / 5.9)))
