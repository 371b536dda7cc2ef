"""The figures of calibration and influence as charts: the numbers of the tables, with a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from auditapp.evaluation.queries.calibration_rows import CodeRow
from transcripts.charts.figures import Dot, Reference, Row, RowChart
from transcripts.charts.verdicts import judge_against, judge_cases, judge_difference, summarise
from transcripts.formats.numbers import NONE, write_figure, write_number
from transcripts.statistics.figures import FEW, Figure, explain_marks

if TYPE_CHECKING:
    from transcripts.statistics.clusters import ClusterShare


def draw_calibration(family: str, name: str, rows: Sequence[CodeRow], *, threshold: float) -> RowChart:
    """Kappa of each code: the annotator's with people, beside that of people with one another where two decided."""
    drawn, marks = [], []
    for row in rows:
        machine: Figure = row.figures["figures"]["kappa"].figure
        people: Figure | None = row.figures["people"] and row.figures["people"]["kappa"]
        dots = [_draw(machine, 1)]
        if people is not None and people.value is not None:
            dots.insert(0, _draw(people, 0))
            marks.append(people.mark)
        estimates = {words: row.figures["figures"][key].value for words, key in (("F1", "f1"), ("kappa", "kappa"))}
        verdict = judge_against(estimates, threshold, row.positive_turns, things="turns")
        drawn.append(Row(row.code.name, dots, verdict=verdict))
    rule = (
        f"Usable: F1 and kappa are at least {write_number(threshold)}; what is below is named. Few turns: people applied it in "
        f"fewer than {FEW} of the turns compared. Lines: 95 % intervals over whole turns."
    )
    return RowChart(
        key=f"calibration-{family}",
        title=f"Kappa by code: {name}",
        rows=drawn,
        series=("people with one another", "the annotator with people"),
        references=(Reference(threshold, f"the threshold, {write_number(threshold)}"),),
        summary=summarise((row.verdict for row in drawn), "codes"),
        note=" ".join([rule, *explain_marks(marks, "turns coded by two or more people")]),
    )


def _draw(figure: Figure, series: int) -> Dot:
    return Dot(figure.value, figure.interval, series, write_figure(figure))


def draw_influence(key: str, title: str, rows: Sequence[Mapping[str, Any]]) -> RowChart:
    """How often labels agree with the annotator's, by family: where suggestions were shown, and where they were withheld."""
    drawn = []
    for row in rows:
        found = row["by_turn"]
        verdict = judge_cases(min(row["turns"]), things="turns") or judge_difference(
            found["interval"], more="towards the suggestions", less="away from them"
        )
        dots = [_draw_share(found["shown"], 0), _draw_share(found["withheld"], 1)]
        drawn.append(Row(row["name"], dots, verdict=verdict))
    return RowChart(
        key=key,
        title=title,
        rows=drawn,
        series=("suggestions shown", "suggestions withheld"),
        summary=summarise((row.verdict for row in drawn), "rows"),
        note=(
            "The share of units whose label is the annotator’s, by turns, with 95 % intervals. Towards the suggestions: the "
            "interval of the difference, in the table, lies above 0. Away from them: it lies below 0. "
            "Cannot tell: it contains 0. "
            f"Few turns: an arm has fewer than {FEW}."
        ),
    )


def _draw_share(share: ClusterShare | None, series: int) -> Dot:
    return Dot(None, series=series, text=NONE) if share is None else _draw(share.figure, series)
