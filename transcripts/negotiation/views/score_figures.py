"""The figures of scores as a page shows them: each stance by itself, a chart of the counts with its table behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.template.defaultfilters import pluralize

from transcripts.blinding.viewers import Viewer
from transcripts.charts.figures import Part, Row, RowChart, judge_reliability
from transcripts.negotiation.models import NormativeStance, Score
from transcripts.negotiation.pure.records import CRITERIA, MAX_VALUE
from transcripts.negotiation.pure.scoring import (
    Counts,
    CriterionFigures,
    SignTest,
    Superiority,
    measure_scores,
)
from transcripts.negotiation.queries.scores import read_score_records
from transcripts.statistics.figures import (
    FEW,
    Figure,
    Reason,
    mark_clusters,
    write_figure,
    write_interval,
    write_number,
    write_p,
)
from transcripts.studies.models import MethodChoice
from transcripts.studies.queries import find_method

SERIES = [str(value) for value in range(MAX_VALUE + 1)]
OF_SCORES: dict[str, str] = {
    Reason.NO_PAIR: "fewer than two people scored",
    Reason.NOTHING_SHARED: "no thread was scored by two people",
    Reason.FEW_DRAWN: f"fewer than {FEW} threads, too few to resample",
}
REFLEXIVE = MethodChoice.Method.REFLEXIVE


def build_figures(viewer: Viewer, stances: Sequence[NormativeStance], *, scores_url: str) -> dict[str, Any]:
    """What the page needs for the stances that have blind scores which the viewer may see.

    Alpha is left out where the study is read reflexively: differing judgements both stand there.
    """
    records, assisted, gone = read_score_records(viewer)
    measured = measure_scores(records)
    is_reflexive = find_method(viewer.study) == REFLEXIVE
    by_stance = [(stance, measured[stance.label]) for stance in stances if stance.label in measured]
    figures = [
        {
            "stance": stance,
            "chart": _draw_counts(stance, found, scores_url),
            "criteria": [_describe(key, found[key], is_reflexive=is_reflexive) for key in CRITERIA if key in found],
            "determinations": [
                _describe(key, each, is_reflexive=is_reflexive) for key, each in found.items() if key not in CRITERIA
            ],
        }
        for stance, found in by_stance
    ]
    return {"figures": figures, "is_reflexive": is_reflexive, "assisted": assisted, "gone": gone}


def _draw_counts(stance: NormativeStance, found: dict[str, CriterionFigures], scores_url: str) -> RowChart:
    rows = [
        Row(
            coder,
            parts=[Part(amount, place) for place, amount in enumerate(counts.values)],
            text=_count_in_words(counts),
            group=Score.Criterion(key).label,
            href=f"{scores_url}#threads",
        )
        for key in CRITERIA
        if key in found
        for coder, counts in found[key].by_coder.items()
    ]
    return RowChart(
        key=f"scores-{stance.pk}",
        title=f"Threads by score under {stance.label}",
        rows=rows,
        series=SERIES,
        high=None,
        note="Each criterion is reported separately. Nothing is added up or averaged over criteria, people or stances.",
    )


def _count_in_words(counts: Counts) -> str:
    """In how many threads each score was given: "2 in 1 thread, 3 in 2 threads; not applicable in 1 thread"."""
    words = ", ".join(f"{value} in {_count_threads(times)}" for value, times in enumerate(counts.values) if times)
    without = f"not applicable in {_count_threads(counts.without)}" if counts.without else ""
    return "; ".join(part for part in (words, without) if part)


def _count_threads(number: int) -> str:
    return f"{number} thread{pluralize(number)}"


def _say_of_scores(alpha: Figure) -> Figure:
    """What agreement says of units and turns, said of scores: they are drawn by threads."""
    return alpha._replace(
        reason=OF_SCORES.get(alpha.reason, alpha.reason),
        no_interval=OF_SCORES.get(alpha.no_interval, alpha.no_interval),
    )


def _describe(key: str, found: CriterionFigures, *, is_reflexive: bool) -> dict[str, Any]:
    alpha = _say_of_scores(found.alpha)
    low = alpha.interval.low if alpha.interval else None
    return {
        "name": Score.Criterion(key).label,
        "by_coder": list(found.by_coder.items()),
        "alpha": "" if is_reflexive else write_figure(alpha),
        "no_interval": "" if is_reflexive or alpha.value is None else alpha.no_interval,
        "verdict": None if is_reflexive else judge_reliability(alpha.value, low, alpha.clusters or 0, things="threads"),
        "n_shared": found.n_shared,
        "superiority": [
            (coder, _write_superiority(each.superiority))
            for coder, each in found.comparisons.items()
            if each.superiority is not None
        ],
        "signs": [
            (coder, _write_signs(each.signs)) for coder, each in found.comparisons.items() if each.signs is not None
        ],
    }


def _write_superiority(found: Superiority) -> str:
    (first, second), (n, m) = found.conditions, found.n
    if found.value is None:
        return f"{first} over {second}: not defined, with {n} and {m} threads"
    interval = f", {write_interval(found.interval, 2)}" if found.interval else ""
    mark = mark_clusters(min(n, m))
    said = f", {mark}" if mark else ""
    return f"{first} over {second}: {write_number(found.value)}{interval} ({n} and {m} threads{said})"


def _write_signs(found: SignTest) -> str:
    p = "not defined" if found.p is None else write_p(found.p)
    return f"a higher in {found.higher}, lower in {found.lower}, the same in {found.same} pairs; exact p {p}"
