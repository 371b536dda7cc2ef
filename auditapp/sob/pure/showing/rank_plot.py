"""The rank plot (Figure 2 of the paper) as a chart, on the page of statistics and in a file."""

from __future__ import annotations

from collections.abc import Mapping

from auditapp.sob.pure.limits import FIGURE_NOTE
from auditapp.sob.pure.showing.figures import TASK_NAMES, TASKS, Entry, Figures
from transcripts.charts.figures import Dot, Row, RowChart
from transcripts.formats.numbers import write_number, write_p


def draw_rank_plot(figures: Figures) -> RowChart:
    """Mean rank of each target under both tasks: the further right, the more attributes (rank k is the highest score)."""
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
    return " ".join(sentences) or "The report holds no Friedman test."
