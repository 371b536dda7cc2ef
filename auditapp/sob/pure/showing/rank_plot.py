"""The rank plot (Figure 2 of the paper) as SVG, on the page of statistics and in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.sob.pure.limits import FIGURE_NOTE
from auditapp.sob.pure.showing.figures import TASK_NAMES, TASKS, Entry, Figures
from auditapp.sob.pure.showing.svg import ACCENT, LABEL, LEFT, QUIET, Svg, shorten_all, wrap
from transcripts.charts.svg import show

WIDTH = 640


def draw_rank_plot(report: Mapping[str, Any]) -> str:
    """Mean rank of each target under both tasks: the further right, the more attributes (rank k is the highest score)."""
    figures = Figures(report)
    tests = {row["task"]: row for row in figures.find("friedman")}
    ranked = {task: dict(tests[task].get("mean_ranks") or {}) for task in TASKS if task in tests}
    first: Mapping[str, float] = next((ranks for ranks in ranked.values() if ranks), {})
    targets = sorted(first, key=lambda target: (-first[target], target))
    highest = max((int(test.get("k_treatments") or 0) for test in tests.values()), default=0) or max(len(targets), 2)
    top = 92
    notes = wrap(f"{_describe_tests(tests)} {FIGURE_NOTE} {figures.describe_versions()}", WIDTH)
    height = top + 28 * len(targets) + 60 + 15 * len(notes)
    svg = Svg(
        figure="sob-ranks",
        width=WIDTH,
        height=height,
        title="Mean rank of each target group over models",
        description=_describe_ranks(targets, ranked, highest),
    )
    svg.text(16, 26, "Mean rank of each target group over models", font_size=17, font_weight="bold")
    svg.text(16, 46, f"Rank {highest}: most attributes; rank 1: fewest. Sorted by the first task.", fill=QUIET)
    _draw_key(svg, LEFT, 68, ranked)
    _draw_ranks(svg, targets, ranked, highest, top)
    svg.lines_of_text(16, top + 28 * len(targets) + 50, notes, fill=QUIET)
    return svg.write()


def _draw_ranks(
    svg: Svg, targets: Sequence[str], ranked: Mapping[str, Mapping[str, float]], highest: int, top: int
) -> None:
    def place(rank: float) -> float:
        return LEFT + (WIDTH - LEFT - 24) * (rank - 1) / max(highest - 1, 1)

    bottom = top + 28 * len(targets)
    for rank in range(1, highest + 1):
        svg.line(place(rank), top - 6, 0, bottom - top + 6)
        svg.text(place(rank), bottom + 16, str(rank), anchor="middle", fill=QUIET)
    names = shorten_all(targets, LABEL)
    for row, target in enumerate(targets):
        y = top + 28.0 * row + 10
        svg.text(LEFT - 14, y + 4, names[row], anchor="end")
        ranks = {task: ranks[target] for task, ranks in ranked.items() if target in ranks}
        if len(ranks) == len(TASKS):
            start, end = (place(mean) for mean in ranks.values())
            svg.line(start, y, end - start, 0, stroke=QUIET, width=1.5)
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


def _describe_tests(tests: Mapping[str, Entry]) -> str:
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
