"""Agreement of coders who give numbers on a scale: Krippendorff's alpha and the share of equal numbers.

The other coefficients are for codes that are put or not put, and stay undefined here.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from transcripts.agreement.alpha import Coincidences, Level, count_coincidences, measure_alpha
from transcripts.agreement.coefficients import Floats, divide
from transcripts.agreement.figures import Agreement, CodeAgreement, Figure, LargeSample, PairAgreement, Reason
from transcripts.agreement.label_table import Places, RatingTable
from transcripts.agreement.measuring import (
    USUAL_RESAMPLES,
    PairMeans,
    make_figure,
)
from transcripts.agreement.resampling import Resamples, draw_resamples, sum_draws
from transcripts.agreement.tallies import Clusters, EqualCounts, count_equal, list_pairs, order_by_cluster

MAX_CELLS = 20_000_000
"""Cells of coincidences x clusters, and x resamples, beyond which alpha is given without an interval."""

NOT_FOR_SCALES = Figure(reason=Reason.OTHER_SCALE)


class Scale(NamedTuple):
    """What is the same for every code."""

    level: Level
    clusters: Clusters
    drawn: Resamples


def measure_ratings(table: RatingTable, level: Level, *, seed: int, resamples: int = USUAL_RESAMPLES) -> Agreement:
    """Alpha on this level and raw agreement for each code of the table.

    Raw agreement is the share of equal numbers, the unweighted mean over pairs of coders. Raises ``ValueError`` for a
    number below 0 on a ratio scale.
    """
    if level is Level.RATIO and (table.ratings < 0).any():
        raise ValueError("A ratio scale has no numbers below 0.")
    wanted = np.zeros(len(table.clusters), dtype=bool)
    for ratings in table.ratings:
        wanted |= (~np.isnan(ratings)).sum(axis=0) > 1
    order, clusters = order_by_cluster(table.clusters, wanted)
    scale = Scale(level, clusters, draw_resamples(clusters.number, resamples=resamples, seed=seed))
    codes = [
        _measure_code(name, table.coders, np.take(ratings, order, axis=-1), scale)
        for name, ratings in zip(table.codes, table.ratings, strict=True)
    ]
    return Agreement(
        level=level,
        coders=table.coders,
        n_units=len(table.clusters),
        n_shared=len(order),
        n_clusters=clusters.number,
        seed=seed,
        resamples=resamples,
        codes=tuple(codes),
        mean_jaccard=NOT_FOR_SCALES,
        mean_jaccard_excluding_empty=NOT_FOR_SCALES,
        exact_match=NOT_FOR_SCALES,
    )


def _measure_code(name: str, coders: tuple[str, ...], ratings: Floats, scale: Scale) -> CodeAgreement:
    raw = PairMeans({"raw": lambda counts: divide(counts.equal, counts.units)})
    for pairs in list_pairs(len(coders)):
        raw.add(pairs, *count_equal(ratings, pairs, scale.clusters, scale.drawn))
    n_units = int(((~np.isnan(ratings)).sum(axis=0) > 1).sum())
    reason = Reason.NOTHING_SHARED if len(coders) > 1 else Reason.NO_PAIR
    return CodeAgreement(
        code=name,
        n_units=n_units,
        counts=None,
        prevalence=NOT_FOR_SCALES,
        prevalence_index=NOT_FOR_SCALES,
        raw=raw.measure_mean("raw", reason, scale.drawn),
        positive_agreement=NOT_FOR_SCALES,
        kappa=NOT_FOR_SCALES,
        kappa_large_sample=LargeSample(reason=Reason.OTHER_SCALE),
        mean_kappa=NOT_FOR_SCALES,
        pabak=NOT_FOR_SCALES,
        ac1=NOT_FOR_SCALES,
        fleiss=NOT_FOR_SCALES,
        fleiss_raters=None,
        fleiss_units=0,
        alpha=_measure_alpha(ratings, scale, Reason.NO_VARIATION if n_units else reason),
        pairs=_list_pair_figures(coders, raw),
    )


def _measure_alpha(ratings: Floats, scale: Scale, reason: Reason) -> Figure:
    found = count_coincidences(ratings)
    value = measure_alpha(found, scale.level)[0]
    if scale.drawn.weights is None or np.isnan(value):
        return make_figure(value, reason, None, scale.drawn)
    if _measure_size(found, scale) > MAX_CELLS:
        return make_figure(value, reason, None, Resamples(None, Reason.TOO_MANY_VALUES))
    found = count_coincidences(ratings, _number_clusters(scale.clusters, ratings.shape[1]))
    draws = measure_alpha(found, scale.level, sum_draws(found.weights, scale.drawn))
    return make_figure(value, reason, draws, scale.drawn)


def _number_clusters(clusters: Clusters, units: int) -> Places:
    lengths = np.diff(np.append(clusters.starts, units))
    return np.repeat(np.arange(clusters.number), lengths)


def _measure_size(found: Coincidences, scale: Scale) -> int:
    cells, values = len(found.first), len(found.values)
    differences = values**2 if scale.level is Level.RATIO else cells
    resamples = 0 if scale.drawn.weights is None else scale.drawn.weights.shape[1]
    return max(cells * scale.clusters.number, max(differences, values) * resamples)


def _list_pair_figures(coders: tuple[str, ...], raw: PairMeans) -> tuple[PairAgreement, ...]:
    counts: list[EqualCounts] = raw.counts
    units = np.concatenate([np.empty(0), *(block.units for block in counts)])
    return tuple(
        PairAgreement(
            a=a,
            b=b,
            n_units=int(shared),
            counts=None,
            prevalence=NOT_FOR_SCALES,
            prevalence_index=NOT_FOR_SCALES,
            raw=Figure(float(value)),
            positive_agreement=NOT_FOR_SCALES,
            kappa=NOT_FOR_SCALES,
            kappa_large_sample=LargeSample(reason=Reason.OTHER_SCALE),
            pabak=NOT_FOR_SCALES,
            ac1=NOT_FOR_SCALES,
        )
        for (a, b), shared, value in zip(combinations(coders, 2), units, raw.list_values("raw"), strict=True)
        if shared
    )
