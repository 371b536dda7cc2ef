"""The figures of calibration and influence as charts: the numbers of the tables, with a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from auditapp.preannotation.evaluation.pure.figures import FEW_POSITIVES
from auditapp.preannotation.evaluation.queries.calibration_rows import CodeRow
from transcripts.agreement.pure.figures import Figure, two_decimals, write_figure
from transcripts.charts.figures import Dot, Reference, Row, RowChart
from transcripts.charts.verdicts import judge_against, summarise


def draw_calibration(family: str, name: str, rows: Sequence[CodeRow], *, threshold: float) -> RowChart:
    """Kappa of each code: the annotator's with people, beside that of people with one another where two decided."""
    drawn = []
    for row in rows:
        machine: Figure = row.figures["figures"]["kappa"].figure
        people: Figure | None = row.figures["people"] and row.figures["people"]["kappa"]
        dots = [_draw(machine, 1)]
        if people is not None and people.value is not None:
            dots.insert(0, _draw(people, 0))
        estimates = {words: row.figures["figures"][key].value for words, key in (("F1", "f1"), ("kappa", "kappa"))}
        verdict = judge_against(estimates, threshold, row.n_positives, FEW_POSITIVES)
        drawn.append(Row(row.code.name, dots, verdict=verdict))
    return RowChart(
        key=f"calibration-{family}",
        title=f"Kappa by code: {name}",
        rows=drawn,
        series=("people with one another", "the annotator with people"),
        references=(Reference(threshold, f"the threshold, {two_decimals(threshold)}"),),
        summary=summarise((row.verdict for row in drawn), "codes"),
        note=(
            f"Usable: F1 and kappa are at least {two_decimals(threshold)}; what is below is named. Too few cases: fewer than "
            f"{FEW_POSITIVES} of the labels compared have the code. Lines: 95 % intervals over whole turns."
        ),
    )


def _draw(figure: Figure, series: int) -> Dot:
    low, high = figure.interval or (None, None)
    return Dot(figure.value, low, high, series, write_figure(figure))
