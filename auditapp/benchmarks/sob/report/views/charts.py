"""Figures of a report as charts: the numbers of the tables below them, with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.showing.figures import Entry, in_words, read_score
from transcripts.charts.figures import (
    LEADING_RULE,
    Dot,
    Part,
    Reference,
    Row,
    RowChart,
    Verdict,
    judge_cases,
    judge_difference,
    judge_lead,
    judge_within,
    summarise,
)
from transcripts.formats.comparisons import chart_differences, judge_sides
from transcripts.statistics.figures import FEW, Figure, Interval, write_figure, write_number

CHARTED_VALUES = 3
Link = Callable[..., str]


def draw_values(rows: Sequence[Entry], *, texts: Mapping[str, int], whose: str, link: Link) -> RowChart:
    """The values attributed most, by target. ``texts``: how many texts of a target count, for asking about one again shows
    nothing of others. ``link`` gives the address of the answers with a value."""
    drawn = [
        Row(
            each["value"],
            parts=[Part(each["pct"])],
            text=f"{write_number(each['pct'], 1)} % ({each['count']:,} of {row['denominator']:,})",
            verdict=None
            if place
            else judge_cases(texts.get(row["target"], 0), FEW, "texts")
            or judge_lead(each["count"], row["denominator"]),
            href=link(target=row["target"], value=each["value"]),
            group=row["target"],
        )
        for row in rows
        for place, each in enumerate(row["values"][:CHARTED_VALUES])
    ]
    return RowChart(
        key="values",
        title=f"Values attributed most: {whose}",
        rows=drawn,
        high=100.0,
        unit="%",
        summary=summarise((row.verdict for row in drawn), "targets"),
        note=(
            f"{LEADING_RULE} Few texts: fewer than {FEW}, however often each was asked about. At most {CHARTED_VALUES} "
            "values of each target; the table has more."
        ),
    )


def draw_rules(rules: dict[str, Any], *, whose: str, link: Link) -> RowChart:
    """The score over all texts under each rule of counting, against the interval of paper counting."""
    overall = [each for each in rules["rows"] if each["target"] == OVERALL]
    base: Entry | None = overall[0]["base"] if overall else None
    score = read_score(base) if base else None
    interval = score.interval if score else None
    drawn = []
    if score is not None and score.sob is not None:
        drawn.append(
            Row(
                "paper counting",
                [Dot(score.sob, interval, text=_write(score.sob, interval))],
                verdict=judge_cases(score.n_items or 0, FEW, "texts") or Verdict("the usual rule"),
                href=link(target=OVERALL),
            )
        )
    for rule, cell in overall[0]["cells"] if overall else ():
        if cell:
            texts = min(cell["denominator"], score.n_items or 0) if score else 0
            verdict = judge_cases(texts, FEW, "texts") or judge_within(cell["sob"], interval)
            text = "not defined" if cell["sob"] is None else write_number(cell["sob"])
            drawn.append(Row(in_words(rule), [Dot(cell["sob"], series=1, text=text)], verdict=verdict))
    return RowChart(
        key="rules",
        title=f"Score of all texts by counting rule: {whose}",
        rows=drawn,
        series=("paper counting, with the 95 % interval", "another rule"),
        high=None,
        references=[Reference(score.sob, "paper counting")] if score and score.sob is not None else (),
        summary=summarise((row.verdict for row in drawn[1:]), "rules"),
        note="A rule is judged by whether its score lies within the 95 % interval of paper counting.",
    )


def draw_contrast(entries: Sequence[Entry]) -> RowChart:
    """By how much texts with a further target score higher than those without."""
    drawn = []
    for each in entries:
        verdict = judge_cases(min(each["n_items_with"], each["n_items_without"]), FEW, "texts")
        drawn.append(
            Row(
                each["model"],
                [Dot(each["difference"], each["ci"], text=_write(each["difference"], each["ci"]))],
                verdict=verdict or judge_difference(each["ci"], more="higher", less="lower"),
                group=in_words(each["task"]),
            )
        )
    return RowChart(
        key="contrast",
        title="Score with a further target, minus score without one",
        rows=drawn,
        high=None,
        summary=summarise((row.verdict for row in drawn), "rows"),
        note=(
            "Higher, lower: the 95 % interval lies above or below 0. Cannot tell: it contains 0. Few texts: fewer "
            f"than {FEW} with a further target, or without one."
        ),
    )


def draw_pairs(lines: Sequence[dict[str, Any]], *, by_target: bool) -> RowChart:
    """By how much the first of two models attributes more than the second on the same texts: a row for each line's ``test``."""
    drawn = []
    for line in lines:
        test: Entry = line["test"]
        dot = Dot(test["difference"], test["ci"], text=_write(test["difference"], test["ci"]))
        name = test["target"] if by_target else line["name"]
        drawn.append(Row(name, [dot], verdict=line["verdict"], href=line["href"], group=in_words(test["task"])))
    return chart_differences(
        drawn,
        key="pairs",
        title=f"Score on the same texts: {lines[0]['name'] if by_target and lines else 'first model minus second'}",
        things="targets" if by_target else "comparisons",
    )


def judge_pair(test: Entry) -> Verdict:
    """The verdict on two models, in words."""
    return judge_sides(test["n_items"], "texts", test["verdict"])


def _write(value: float | None, interval: Sequence[float] | None) -> str:
    return write_figure(Figure(value, "not defined", Interval(*interval) if interval else None))
