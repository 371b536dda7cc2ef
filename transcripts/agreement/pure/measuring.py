"""Agreement of coders on yes-or-no codes: every coefficient for every code, with intervals over turns.

`measure_agreement` is what pages and commands call, inside a function: this module loads numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transcripts.agreement.pure.figures import CELLS, Agreement, CodeAgreement, PairAgreement
from transcripts.agreement.pure.label_table import LabelTable
from transcripts.agreement.pure.tallies import (
    Pairs,
    PairTally,
    count_group,
    count_sets,
    keep_shared,
    list_pairs,
)
from transcripts.statistics import coefficients
from transcripts.statistics.alpha import Level
from transcripts.statistics.coefficients import Floats, PairCounts, divide
from transcripts.statistics.figures import FEW, Figure, Reason
from transcripts.statistics.resampling import Resamples, add_interval, draw_resamples

USUAL_RESAMPLES = 1_000

OF_PAIRS: dict[str, Callable[[Any], Floats]] = {
    "prevalence": coefficients.measure_prevalence,
    "prevalence_index": coefficients.measure_prevalence_index,
    "raw": coefficients.measure_raw_agreement,
    "positive_agreement": coefficients.measure_positive_agreement,
    "kappa": coefficients.measure_kappa,
    "pabak": coefficients.measure_pabak,
    "ac1": coefficients.measure_ac1,
}
OF_SETS: dict[str, Callable[[Any], Floats]] = {
    "mean_jaccard": coefficients.measure_jaccard,
    "mean_jaccard_excluding_empty": coefficients.measure_jaccard_of_coded,
    "exact_match": coefficients.measure_exact_match,
}


def measure_agreement(table: LabelTable, *, seed: int, resamples: int = USUAL_RESAMPLES) -> Agreement:
    """Every coefficient of every code of the table, and how whole sets of codes compare.

    Only units count that two or more coders decided; a unit that a coder has not decided counts for no pair he is in.
    Intervals are expanded percentiles over ``resamples`` draws of clusters by ``seed``; with 0 there are none, and of fewer than
    ten clusters neither, not by formula either.
    """
    shared, clusters = keep_shared(table)
    drawn = draw_resamples(clusters.number, resamples=resamples, seed=seed)
    codes = [PairMeans(OF_PAIRS) for _ in table.codes]
    sets = PairMeans(OF_SETS)
    for pairs in list_pairs(len(table.coders)):
        tally = PairTally(shared, clusters, pairs, drawn)
        for code, means in enumerate(codes):
            means.add(pairs, *tally.count(code))
        sets.add(pairs, *count_sets(shared, clusters, pairs, drawn))
    measured = [
        _measure_code(
            name,
            table.coders,
            means,
            count_group(shared, clusters, code, drawn),
            clusters=clusters.number,
            drawn=drawn,
        )
        for code, (name, means) in enumerate(zip(table.codes, codes, strict=True))
    ]
    return Agreement(
        level=Level.NOMINAL,
        coders=table.coders,
        n_units=table.labels.shape[2],
        n_shared=shared.labels.shape[2],
        n_clusters=clusters.number,
        seed=seed,
        resamples=resamples,
        codes=tuple(measured),
        **{name: _measure_sets(sets, name, len(table.coders), drawn) for name in OF_SETS},
    )


class PairMeans:
    """Figures of each pair of coders, gathered block by block, and their unweighted means over the pairs."""

    def __init__(self, measures: dict[str, Callable[[Any], Floats]]) -> None:
        self._measures = measures
        self._draws: dict[str, tuple[Floats, Floats]] = {}
        self._values: dict[str, list[Floats]] = {name: [] for name in measures}
        self.pairs: list[Pairs] = []
        self.counts: list[Any] = []

    def add(self, pairs: Pairs, counts: Any, draws: Any | None) -> None:
        """Take in a block: its counts by pair, and by pair and resample."""
        self.pairs.append(pairs)
        self.counts.append(counts)
        for name, measure in self._measures.items():
            self._values[name].append(measure(counts))
            if draws is not None:
                drawn = measure(draws)
                total, number = self._draws.get(name, (np.float64(0), np.float64(0)))
                self._draws[name] = (total + np.nansum(drawn, axis=0), number + (~np.isnan(drawn)).sum(axis=0))

    def list_values(self, name: str) -> Floats:
        """The figure of every pair in turn."""
        return np.concatenate([np.empty(0), *self._values[name]])

    def measure_mean(self, name: str, otherwise: Reason, drawn: Resamples) -> Figure:
        """The mean over the pairs that define the figure. A resample's mean is over the pairs that define it there."""
        values = self.list_values(name)
        defined = values[~np.isnan(values)]
        if not len(defined):
            return Figure(reason=otherwise, pairs=0)
        draws = divide(*self._draws[name]) if self._draws else None
        return add_interval(Figure(float(defined.mean()), pairs=len(defined)), draws, drawn)


def make_figure(value: Floats, otherwise: Reason, draws: Floats | None, drawn: Resamples) -> Figure:
    """A figure over all coders."""
    number = float(value)
    if np.isnan(number):
        return Figure(reason=otherwise)
    return add_interval(Figure(number), draws, drawn)


def _measure_code(
    name: str,
    coders: tuple[str, ...],
    means: PairMeans,
    group: tuple[int, int | None, Floats, Floats | None],
    *,
    clusters: int,
    drawn: Resamples,
) -> CodeAgreement:
    n_units, raters, total, draws = group
    pairs = _list_pair_figures(coders, means)
    if clusters < FEW:
        pairs = tuple(pair._replace(kappa_error=_leave_open(pair.kappa_error)) for pair in pairs)
    reason = _find_reason(coders, n_units, total)
    figures = {each: means.measure_mean(each, reason, drawn) for each in OF_PAIRS if each != "prevalence"}
    mean_kappa = figures.pop("kappa")
    if figures["prevalence_index"].interval:
        figures["prevalence_index"] = figures["prevalence_index"]._replace(interval=None, no_interval=Reason.ABSOLUTE)
    not_for_two = Figure(reason=Reason.MORE_THAN_TWO if len(coders) > 2 else reason)
    only = pairs[0] if len(coders) == 2 and pairs else None
    return CodeAgreement(
        code=name,
        n_units=n_units,
        counts=only.counts if only else None,
        **figures,
        **_measure_group(total, draws, reason, drawn),
        kappa=not_for_two if len(coders) > 2 else mean_kappa._replace(pairs=None),
        kappa_error=only.kappa_error if only else not_for_two,
        mean_kappa=mean_kappa,
        fleiss_raters=raters,
        fleiss_units=int(total[3]),
        pairs=pairs,
    )


def _measure_group(total: Floats, draws: Floats | None, reason: Reason, drawn: Resamples) -> dict[str, Figure]:
    """What is measured over all coders at once."""
    if reason is Reason.NO_PAIR_DEFINES:
        reason = Reason.ALWAYS_USED if total[5] else Reason.NEVER_USED
    measures: dict[str, Callable[[Floats], Floats]] = {
        "prevalence": lambda sums: divide(sums[1], sums[0]),
        "fleiss": lambda sums: coefficients.measure_fleiss_kappa(sums[3], sums[4], sums[5:]),
        "alpha": lambda sums: coefficients.measure_binary_alpha(*sums[:3]),
    }
    return {
        name: make_figure(measure(total), reason, None if draws is None else measure(draws), drawn)
        for name, measure in measures.items()
    }


def _find_reason(coders: tuple[str, ...], n_units: int, total: Floats) -> Reason:
    """Why figures of a code may be missing."""
    judgements, yes = total[:2]
    if len(coders) < 2:
        return Reason.NO_PAIR
    if not n_units:
        return Reason.NOTHING_SHARED
    if not yes:
        return Reason.NEVER_USED
    if yes == judgements:
        return Reason.ALWAYS_USED
    return Reason.NO_PAIR_DEFINES


def _list_pair_figures(coders: tuple[str, ...], means: PairMeans) -> tuple[PairAgreement, ...]:
    """Every pair that shares a unit."""
    counts = [PairCounts(*block) for block in means.counts]
    errors = np.concatenate([np.empty(0), *map(coefficients.measure_kappa_error, counts)])
    rows = [row for block in counts for row in np.array(block).T]
    places = [place for block in means.pairs for place in zip(*block, strict=True)]
    values = [means.list_values(name) for name in OF_PAIRS]
    return tuple(
        _describe_pair(coders[a], coders[b], list(map(int, row)), dict(zip(OF_PAIRS, figures, strict=True)), error)
        for (a, b), row, *figures, error in zip(places, rows, *values, errors, strict=True)
        if row.sum()
    )


def _describe_pair(a: str, b: str, counts: list[int], values: dict[str, float], error: float) -> PairAgreement:
    reason = Reason.ALWAYS_USED if counts[0] else Reason.NEVER_USED
    figures = {
        name: Figure(reason=reason) if np.isnan(value) else Figure(float(value)) for name, value in values.items()
    }
    return PairAgreement(
        a=a,
        b=b,
        n_units=sum(counts),
        counts=dict(zip(CELLS, counts, strict=True)),
        **figures,
        kappa_error=_bound_kappa(figures["kappa"], error),
    )


def _bound_kappa(kappa: Figure, error: float) -> Figure:
    if kappa.value is None:
        return kappa
    bounds = coefficients.bound_kappa(kappa.value, error)
    return Figure(float(error), interval=bounds) if bounds else Figure(0.0, no_interval=Reason.NO_ERROR)


def _leave_open(error: Figure) -> Figure:
    """The error of a kappa without the interval that takes units for independent."""
    return error._replace(interval=None, no_interval=Reason.FEW_DRAWN) if error.interval else error


def _measure_sets(sets: PairMeans, name: str, coders: int, drawn: Resamples) -> Figure:
    if coders < 2:
        return Figure(reason=Reason.NO_PAIR, pairs=0)
    units = sum(float(block.units.sum()) for block in sets.counts)
    return sets.measure_mean(name, Reason.NOTHING_CODED if units else Reason.NOTHING_SHARED, drawn)
