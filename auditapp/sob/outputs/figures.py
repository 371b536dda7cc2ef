"""The report's figures: heat map, rank plot (the paper's Figure 2) and social map, as SVG.

Pure. Each figure stands alone: title, description, scale, denominators and versions are in it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.sob.metrics import OVERALL
from auditapp.sob.outputs.reading import TASK_NAMES, TASKS, ReportView, Row
from auditapp.sob.outputs.svg_writing import (
    ACCENT,
    LINE,
    QUIET,
    Box,
    Svg,
    choose_ink,
    mix_shade,
    shorten,
    show,
)
from auditapp.sob.showing.figures import write_decimals

_CELL_W, _CELL_H = 40, 24
_LEFT = 150
_LABEL = 22
_NOTE = "Unknown is the only warranted answer; a score measures unwarranted attribution on these texts and certifies no judge."


def draw_heat_map(report: Mapping[str, Any]) -> str:
    """Scores of both tasks side by side on one scale, the number in every cell; attribution rates beside them."""
    view = ReportView(report)
    columns = [OVERALL, *view.targets]
    tasks = view.tasks or list(TASKS)
    half = (len(columns) + 1) * _CELL_W + 24
    notes = _wrap(
        "Mean number of attributes per answer that counts (paper counting), "
        f"one scale from 0 to {view.highest:.2f}. attri.: share of answers with at least one attribution. "
        "Overall is over all texts. A dash: undefined or never asked. "
        f"{_NOTE} {view.describe_versions()}",
        width := max(_LEFT + half * len(tasks) + 16, 560),
    )
    top = 118
    height = top + _CELL_H * len(view.models) + 40 + 15 * len(notes)
    svg = Svg(
        figure="sob-heat",
        width=width,
        height=height,
        title="Unwarranted attributes per answer, by model, task and target",
        description=_describe_scores(view),
    )
    svg.text(16, 26, "Unwarranted attributes per answer", font_size=17, font_weight="bold")
    for number, task in enumerate(tasks):
        _draw_half(svg, view, task, _LEFT + half * number, top)
    for row, model in enumerate(view.models):
        svg.text(_LEFT - 10, top + _CELL_H * row + 16, shorten(model, _LABEL), anchor="end")
    bottom = top + _CELL_H * len(view.models)
    _draw_scale(svg, 16, bottom + 14, view.highest)
    svg.lines_of_text(16, bottom + 50, notes, fill=QUIET)
    return svg.write()


def _draw_half(svg: Svg, view: ReportView, task: str, left: int, top: int) -> None:
    columns = [OVERALL, *view.targets]
    svg.text(left, 50, TASK_NAMES[task], font_size=14, font_weight="bold")
    for number, name in enumerate([*columns, "attri."]):
        svg.text(left + _CELL_W * number + 16, top - 8, shorten(name, 12), turn=-50)
    for row, model in enumerate(view.models):
        y = top + _CELL_H * row
        for number, target in enumerate(columns):
            score = view.score(model, task, target)
            words = f"{model}, {TASK_NAMES[task].lower()}, {target}"
            share = (score or 0.0) / view.highest if view.highest else 0.0
            figure = "" if score is None else write_decimals(score)
            _draw_cell(svg, Box(left + _CELL_W * number, y, _CELL_W - 2, _CELL_H - 2), figure, share, words)
        rate = view.rate(model, task)
        x = left + _CELL_W * (len(columns) + 0.5)
        shown = "–" if rate is None else write_decimals(rate)
        svg.text(x, y + 16, shown, anchor="middle", fill=QUIET)


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
    """A disc for the first task, a larger square for the second: told apart without colour, and both seen on one place."""
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


_MOST_COLUMNS = 12


def draw_social_map(report: Mapping[str, Any], *, model: str | None = None) -> str:
    """Targets by the values attributed most often, both tasks below each other; ``model`` None is all models together."""
    view = ReportView(report)
    rows = [row for row in view.rows("top_values") if row.get("model") == model and row["target"] in view.targets]
    panels = {task: [row for row in rows if row["task"] == task] for task in TASKS}
    panels = {task: found for task, found in panels.items() if found}
    cell = 58
    whose = "all models together" if model is None else model
    notes = _wrap(
        "Percentage of n, the answers to texts on the target with at least one attribution and no list among their values. "
        f"A blank: not among the values listed for the target. Columns: the values listed most often. "
        f"{_NOTE} {view.describe_versions()}",
        width := _LEFT + 60 + cell * _MOST_COLUMNS + 20,
    )
    heights = {task: 150 + _CELL_H * len(found) for task, found in panels.items()}
    height = 44 + sum(heights.values()) + 24 + 15 * len(notes)
    svg = Svg(
        figure="sob-map",
        width=width,
        height=height,
        title=f"Which values are attributed to whom: {shorten(whose, 60)}",
        description=_describe_map(panels),
    )
    svg.text(16, 26, f"Values attributed by {shorten(whose, 60)}", font_size=17, font_weight="bold")
    top = 44
    for task, found in panels.items():
        _draw_panel(svg, task, found, top, cell)
        top += heights[task]
    svg.lines_of_text(16, top + 20, notes, fill=QUIET)
    return svg.write()


def _draw_panel(svg: Svg, task: str, rows: Sequence[Row], top: int, cell: int) -> None:
    columns = _choose_columns(rows)
    head, left = top + 118, _LEFT + 60
    svg.text(16, top + 18, TASK_NAMES[task], font_size=14, font_weight="bold")
    svg.text(left - 8, head - 8, "n", anchor="end", fill=QUIET)
    for number, (_, shown) in enumerate(columns):
        svg.text(left + cell * number + 22, head - 8, shorten(shown, 17), turn=-45)
    for row, each in enumerate(rows):
        y = head + _CELL_H * row
        svg.text(_LEFT, y + 16, shorten(str(each["target"]), _LABEL), anchor="end")
        svg.text(left - 8, y + 16, str(each["denominator"]), anchor="end", fill=QUIET)
        shares = {str(value["value"]).lower(): value.get("pct") for value in each["values"]}
        for number, (name, shown) in enumerate(columns):
            share = shares.get(name)
            x = left + cell * number
            if share is None:
                svg.line(Box(x, y + _CELL_H - 2, cell - 2), LINE, 0.5)
                continue
            words = f"percent of answers: {each['target']}, {shown}"
            _draw_cell(svg, Box(x, y, cell - 2, _CELL_H - 2), f"{share:.1f}", share / 100, words)


def _choose_columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The values with most answers over the targets, as (lower case, as shown)."""
    counts: dict[str, int] = {}
    shown: dict[str, str] = {}
    for row in rows:
        for value in row["values"]:
            name = str(value["value"]).lower()
            counts[name] = counts.get(name, 0) + int(value.get("count") or 0)
            shown.setdefault(name, str(value["value"]))
    chosen = sorted(counts, key=lambda name: (-counts[name], name))[:_MOST_COLUMNS]
    return [(name, shown[name]) for name in chosen]


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
