"""Agreement of coders who give numbers on a scale: Krippendorff's alpha and the share of equal numbers.

The other coefficients are for codes that are applied or not, and stay undefined here.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from transcripts.agreement.pure.figures import (
    CODE_FIGURES,
    PAIR_FIGURES,
    SET_FIGURES,
    Agreement,
    CodeAgreement,
    PairAgreement,
)
from transcripts.agreement.pure.label_table import Places, RatingTable
from transcripts.agreement.pure.measuring import USUAL_RESAMPLES, PairMeans, make_figure
from transcripts.agreement.pure.tallies import Clusters, count_equal, list_pairs, order_by_cluster
from transcripts.statistics.alpha import Coincidences, Level, count_coincidences, measure_alpha
from transcripts.statistics.coefficients import Floats, divide
from transcripts.statistics.figures import Figure, Reason
from transcripts.statistics.resampling import Resamples, draw_resamples, sum_draws

MAX_CELLS = 20_000_000
"""Cells of coincidences x clusters, and x resamples, beyond which alpha is given without an interval."""

NOT_FOR_SCALES = Figure(reason=Reason.OTHER_SCALE)


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
    drawn = draw_resamples(clusters.number, resamples=resamples, seed=seed)
    codes = [
        _measure_code(name, table.coders, np.take(ratings, order, axis=-1), level=level, clusters=clusters, drawn=drawn)
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
        **dict.fromkeys(SET_FIGURES, NOT_FOR_SCALES),
    )


def _measure_code(
    name: str, coders: tuple[str, ...], ratings: Floats, *, level: Level, clusters: Clusters, drawn: Resamples
) -> CodeAgreement:
    raw = PairMeans({"raw": lambda counts: divide(counts[1], counts[0])})
    for pairs in list_pairs(len(coders)):
        raw.add(pairs, *count_equal(ratings, pairs, clusters, drawn))
    n_units = int(((~np.isnan(ratings)).sum(axis=0) > 1).sum())
    reason = Reason.NOTHING_SHARED if len(coders) > 1 else Reason.NO_PAIR
    figures = dict.fromkeys(CODE_FIGURES.values(), NOT_FOR_SCALES) | {
        "raw": raw.measure_mean("raw", reason, drawn),
        "alpha": _measure_alpha(ratings, level, clusters, drawn, Reason.NO_VARIATION if n_units else reason),
    }
    return CodeAgreement(
        code=name,
        n_units=n_units,
        counts=None,
        kappa_error=NOT_FOR_SCALES,
        fleiss_raters=None,
        fleiss_units=0,
        pairs=_list_pair_figures(coders, raw),
        **figures,
    )


def _measure_alpha(ratings: Floats, level: Level, clusters: Clusters, drawn: Resamples, reason: Reason) -> Figure:
    found = count_coincidences(ratings)
    value = measure_alpha(found, level)[0]
    if drawn.weights is None or np.isnan(value):
        return make_figure(value, reason, None, drawn)
    if _count_cells(found, level, clusters, drawn) > MAX_CELLS:
        return make_figure(value, reason, None, Resamples(None, Reason.TOO_MANY_VALUES))
    found = count_coincidences(ratings, _number_clusters(clusters, ratings.shape[1]))
    draws = measure_alpha(found, level, sum_draws(found.weights, drawn))
    return make_figure(value, reason, draws, drawn)


def _number_clusters(clusters: Clusters, units: int) -> Places:
    lengths = np.diff(np.append(clusters.starts, units))
    return np.repeat(np.arange(clusters.number), lengths)


def _count_cells(found: Coincidences, level: Level, clusters: Clusters, drawn: Resamples) -> int:
    """How many cells the largest array of a resampled alpha would have."""
    cells, values = len(found.first), len(found.values)
    differences = values**2 if level is Level.RATIO else cells
    resamples = 0 if drawn.weights is None else drawn.weights.shape[1]
    return max(cells * clusters.number, max(differences, values) * resamples)


def _list_pair_figures(coders: tuple[str, ...], raw: PairMeans) -> tuple[PairAgreement, ...]:
    units = np.concatenate([np.empty(0), *(units for units, _ in raw.counts)])
    return tuple(
        PairAgreement(
            a=a,
            b=b,
            n_units=int(shared),
            counts=None,
            kappa_error=NOT_FOR_SCALES,
            **dict.fromkeys(PAIR_FIGURES, NOT_FOR_SCALES) | {"raw": Figure(float(value))},
        )
        for (a, b), shared, value in zip(combinations(coders, 2), units, raw.list_values("raw"), strict=True)
        if shared
    )
