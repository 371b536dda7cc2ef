"""Agreement of coders on yes-or-no codes and on a scale: every coefficient, with intervals over turns.

Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transcripts.agreement.pure.figures import (
    CELLS,
    CODE_FIGURES,
    PAIR_FIGURES,
    SET_FIGURES,
    Agreement,
    CodeAgreement,
    PairAgreement,
)
from transcripts.statistics import coefficients
from transcripts.statistics.coefficients import (
    Coincidences,
    Floats,
    Level,
    PairCounts,
    SetCounts,
    count_coincidences,
    divide,
    measure_alpha,
)
from transcripts.statistics.figures import FEW, Figure, Reason
from transcripts.statistics.resampling import Resamples, add_interval, draw_resamples, sum_draws

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
MAX_CELLS = 20_000_000
"""With more cells of coincidences x clusters, or x resamples, alpha has no interval."""

NOT_FOR_SCALES = Figure(reason=Reason.OTHER_SCALE)


def measure_agreement(table: LabelTable, *, seed: int, resamples: int = USUAL_RESAMPLES) -> Agreement:
    """Every coefficient of every code of the table, and how whole sets of codes compare.

    Only units that two or more coders decided count; a unit that a coder has not decided does not count for her pairs.
    Intervals are expanded percentiles over ``resamples`` draws of clusters by ``seed``; with 0 resamples, or fewer than ten
    clusters, there are none. Kappa of a pair has an interval by formula if the pair shares ten clusters or more.
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
        self.clusters: list[Places] = []

    def add(self, pairs: Pairs, counts: Any, draws: Any | None, clusters: Places | None = None) -> None:
        """Take in a block: its counts by pair, and by pair and resample, and in how many clusters each pair shares a unit."""
        self.pairs.append(pairs)
        if clusters is not None:
            self.clusters.append(clusters)
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
        """The mean over the pairs for which the figure is defined; in a resample, over the pairs for which it is defined there."""
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
    drawn: Resamples,
) -> CodeAgreement:
    n_units, raters, total, draws = group
    pairs = _list_pair_figures(coders, means)
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
    """Measure the figures over all coders at once."""
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
    """The reason why figures of a code are missing."""
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
    clusters = [int(each) for block in means.clusters for each in block]
    values = [means.list_values(name) for name in OF_PAIRS]
    return tuple(
        _describe_pair(
            (coders[a], coders[b]), list(map(int, row)), shared, dict(zip(OF_PAIRS, figures, strict=True)), error
        )
        for (a, b), row, shared, *figures, error in zip(places, rows, clusters, *values, errors, strict=True)
        if row.sum()
    )


def _describe_pair(
    pair: tuple[str, str], counts: list[int], clusters: int, values: dict[str, float], error: float
) -> PairAgreement:
    reason = Reason.ALWAYS_USED if counts[0] else Reason.NEVER_USED
    figures = {
        name: Figure(reason=reason) if np.isnan(value) else Figure(float(value), clusters=clusters)
        for name, value in values.items()
    }
    return PairAgreement(
        a=pair[0],
        b=pair[1],
        n_units=sum(counts),
        counts=dict(zip(CELLS, counts, strict=True)),
        **figures,
        kappa_error=_bound_kappa(figures["kappa"], error),
    )


def _bound_kappa(kappa: Figure, error: float) -> Figure:
    if kappa.value is None:
        return kappa
    bounds = coefficients.bound_kappa(kappa.value, error)
    if bounds is None:
        return Figure(0.0, no_interval=Reason.NO_ERROR)
    if kappa.clusters is not None and kappa.clusters < FEW:
        return Figure(float(error), no_interval=Reason.FEW_DRAWN)
    return Figure(float(error), interval=bounds)


def _measure_sets(sets: PairMeans, name: str, coders: int, drawn: Resamples) -> Figure:
    if coders < 2:
        return Figure(reason=Reason.NO_PAIR, pairs=0)
    units = sum(float(block.units.sum()) for block in sets.counts)
    return sets.measure_mean(name, Reason.NOTHING_CODED if units else Reason.NOTHING_SHARED, drawn)


def measure_ratings(table: RatingTable, level: Level, *, seed: int, resamples: int = USUAL_RESAMPLES) -> Agreement:
    """Alpha on this level and raw agreement for each code of the table.

    Raw agreement is the share of equal numbers, as the unweighted mean over pairs of coders. The other coefficients are only
    for codes that are applied or not, and are undefined here. Raises ``ValueError`` for a number below 0 on a ratio scale.
    """
    if level is Level.RATIO and (table.ratings < 0).any():
        raise ValueError("A ratio scale has no numbers below 0.")
    wanted = np.zeros(len(table.clusters), dtype=bool)
    for ratings in table.ratings:
        wanted |= (~np.isnan(ratings)).sum(axis=0) > 1
    order, clusters = order_by_cluster(table.clusters, wanted)
    drawn = draw_resamples(clusters.number, resamples=resamples, seed=seed)
    codes = [
        _measure_scale(
            name, table.coders, np.take(ratings, order, axis=-1), level=level, clusters=clusters, drawn=drawn
        )
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


def _measure_scale(
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
        pairs=_list_scale_pairs(coders, raw),
        **figures,
    )


def _measure_alpha(ratings: Floats, level: Level, clusters: Clusters, drawn: Resamples, reason: Reason) -> Figure:
    found = count_coincidences(ratings)
    value = measure_alpha(found, level)[0]
    if drawn.weights is None or np.isnan(value):
        return make_figure(value, reason, None, drawn)
    if _count_cells(found, level, clusters, drawn) > MAX_CELLS:
        return make_figure(value, reason, None, Resamples(None, Reason.TOO_MANY_VALUES))
    lengths = np.diff(np.append(clusters.starts, ratings.shape[1]))
    found = count_coincidences(ratings, np.repeat(np.arange(clusters.number), lengths))
    draws = measure_alpha(found, level, sum_draws(found.weights, drawn))
    return make_figure(value, reason, draws, drawn)


def _count_cells(found: Coincidences, level: Level, clusters: Clusters, drawn: Resamples) -> int:
    """The number of cells in the largest array of a resampled alpha."""
    cells, values = len(found.first), len(found.values)
    differences = values**2 if level is Level.RATIO else cells
    resamples = 0 if drawn.weights is None else drawn.weights.shape[1]
    return max(cells * clusters.number, max(differences, values) * resamples)


def _list_scale_pairs(coders: tuple[str, ...], raw: PairMeans) -> tuple[PairAgreement, ...]:
    units = np.concatenate([np.empty(0), *(units for units, _ in raw.counts)])
    clusters = [int(each) for block in raw.clusters for each in block]
    return tuple(
        PairAgreement(
            a=a,
            b=b,
            n_units=int(shared),
            counts=None,
            kappa_error=NOT_FOR_SCALES,
            **dict.fromkeys(PAIR_FIGURES, NOT_FOR_SCALES) | {"raw": Figure(float(value), clusters=number)},
        )
        for (a, b), shared, number, value in zip(
            combinations(coders, 2), units, clusters, raw.list_values("raw"), strict=True
        )
        if shared
    )


Bools = NDArray[np.bool_]
Places = NDArray[np.intp]
PAIRS_AT_A_TIME = 64
"""Limits memory with many coders: the data in memory grow with pairs x units."""


class LabelTable(NamedTuple):
    """Yes-or-no labels. A unit is what coders decide, usually a sentence. A cluster is a turn: its sentences depend on one
    another, so a bootstrap draws turns.

    ``labels``: codes x coders x units, whether the coder applied the code to the unit; False where not decided. ``decided``:
    coders x units, whether the coder decided about the unit at all, "read, no code" included; or codes x coders x units if that
    differs between codes. ``clusters``: for each unit the number of its cluster, from 0.
    """

    coders: tuple[str, ...]
    codes: tuple[str, ...]
    labels: Bools
    decided: Bools
    clusters: Places

    def get_decided(self, code: int) -> Bools:
        """Coders x units: whether the coder decided about this code on the unit."""
        return self.decided if self.decided.ndim == 2 else self.decided[code]


class RatingTable(NamedTuple):
    """Numbers on a scale.

    ``ratings``: codes x coders x units, NaN where the coder gave none. ``clusters``: for each unit the number of its
    cluster, from 0.
    """

    coders: tuple[str, ...]
    codes: tuple[str, ...]
    ratings: Floats
    clusters: Places


Numbers = NDArray[Any]
Pairs = tuple[Places, Places]
"""Pairs of coders, by their positions in the table; the first comes before the second."""
Sums = tuple[Floats, Floats | None]
"""Sums over everything, and over each resample if there are any."""


def list_pairs(coders: int) -> Iterator[Pairs]:
    """All pairs of coders, a block at a time."""
    a, b = np.triu_indices(coders, 1)
    for start in range(0, len(a), PAIRS_AT_A_TIME):
        yield a[start : start + PAIRS_AT_A_TIME], b[start : start + PAIRS_AT_A_TIME]


class Clusters(NamedTuple):
    """Units are in the order of their clusters; each cluster begins at one of ``starts``."""

    starts: Places

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.starts)

    def sum(self, rows: Numbers, kind: type[np.generic] = np.int32) -> Numbers:
        """``rows``, kinds x units, summed: kinds x clusters."""
        if not self.number:
            return np.zeros((len(rows), 0), dtype=kind)
        sums: Numbers = np.add.reduceat(rows, self.starts, axis=1, dtype=kind)
        return sums


def order_by_cluster(clusters: Places, wanted: Bools) -> tuple[Places, Clusters]:
    """The places of the ``wanted`` units in the order of their clusters, and where each cluster begins in it."""
    places = np.flatnonzero(wanted)
    order = places[np.argsort(clusters[places], kind="stable")]
    return order, Clusters(np.unique(clusters[order], return_index=True)[1])


def keep_shared(table: LabelTable) -> tuple[LabelTable, Clusters]:
    """The units on which two or more coders decided about some code, in the order of their clusters.

    A turn without such units is not drawn either.
    """
    planes = table.decided if table.decided.ndim == 3 else table.decided[None]
    wanted = np.zeros(table.labels.shape[2], dtype=bool)
    for plane in planes:
        wanted |= plane.sum(axis=0) > 1
    order, clusters = order_by_cluster(table.clusters, wanted)
    # Not by [..., order], which lays the units of one coder far apart.
    decided = np.take(table.decided, order, axis=-1)
    labels = np.take(table.labels, order, axis=-1) & decided
    cut = LabelTable(table.coders, table.codes, labels, decided, table.clusters[order])
    return cut, clusters


def sum_up(tallies: Numbers, drawn: Resamples) -> Sums:
    """``tallies``, kinds x clusters, as a total for each kind, and for each kind and resample.

    The totals give the figures; sums over drawn clusters give those of a resample.
    """
    return tallies.sum(axis=1, dtype=np.float64), sum_draws(tallies, drawn)


class PairTally:
    """Sums for pairs of coders, code by code; the number of shared units is summed only once if possible."""

    def __init__(self, table: LabelTable, clusters: Clusters, pairs: Pairs, drawn: Resamples) -> None:
        self._table, self._clusters, self._pairs, self._drawn = table, clusters, pairs, drawn
        self._units: Sums | None = None
        self._shared = np.zeros(0, np.intp)

    def count(self, code: int) -> tuple[PairCounts, PairCounts | None, Places]:
        """The counts of each pair, and of each pair and resample; and in how many clusters each pair shares a unit."""
        table, clusters, (a, b) = self._table, self._clusters, self._pairs
        labels, decided = table.labels[code], table.get_decided(code)
        rows = (labels[a] & labels[b], labels[a] & decided[b], labels[b] & decided[a])
        used, used_draws = sum_up(np.concatenate([clusters.sum(row) for row in rows]), self._drawn)
        if self._units is None or table.decided.ndim == 3:
            shared = clusters.sum(decided[a] & decided[b])
            self._units, self._shared = sum_up(shared, self._drawn), np.count_nonzero(shared, axis=1)
        units, units_draws = self._units
        total = _part(used, units)
        if used_draws is None or units_draws is None:
            return total, None, self._shared
        return total, _part(used_draws, units_draws), self._shared


def _part(used: Floats, units: Floats) -> PairCounts:
    both, yes_a, yes_b = np.split(used, 3)
    return PairCounts(both, yes_a - both, yes_b - both, units - yes_a - yes_b + both)


def count_sets(
    table: LabelTable, clusters: Clusters, pairs: Pairs, drawn: Resamples
) -> tuple[SetCounts, SetCounts | None]:
    """Compare the sets of codes of each pair on the codes that both decided; also in each resample."""
    a, b = pairs
    shape = (len(a), table.labels.shape[2])
    common, either = np.zeros(shape, np.uint16), np.zeros(shape, np.uint16)
    decided = np.zeros(shape, dtype=bool)
    for code, labels in enumerate(table.labels):
        mask = table.get_decided(code)
        shared_here = mask[a] & mask[b]
        decided |= shared_here
        common += labels[a] & labels[b]
        either += (labels[a] | labels[b]) & shared_here
    empty = decided & (either == 0)
    jaccard = np.divide(common, either, out=np.zeros(shape), where=either > 0)
    rows = (decided, empty, jaccard, decided & (common == either))
    total, draws = sum_up(np.concatenate([clusters.sum(row, np.float64) for row in rows]), drawn)
    return SetCounts(*np.split(total, 4)), None if draws is None else SetCounts(*np.split(draws, 4))


def count_group(
    table: LabelTable, clusters: Clusters, code: int, drawn: Resamples
) -> tuple[int, int | None, Floats, Floats | None]:
    """Sums over all coders for one code.

    Returns how many units two or more decided, the number of raters whose units Fleiss' kappa is over (None without
    any), and seven sums, in total and for each resample: three for `measure_binary_alpha`, then four for
    `measure_fleiss_kappa`, the ratings of yes and of no last.
    """
    decided = table.get_decided(code).sum(axis=0, dtype=np.float64)
    yes = table.labels[code].sum(axis=0, dtype=np.float64)
    pairable = decided > 1
    no = decided - yes
    differing = np.divide(yes * no, decided - 1, out=np.zeros(len(yes)), where=pairable)
    raters = find_usual_number(decided[pairable])
    alike = decided == (raters or -1)
    agreeing = (yes * (yes - 1) + no * (no - 1)) * alike
    rows = (decided * pairable, yes * pairable, differing, alike, agreeing, yes * alike, no * alike)
    return int(pairable.sum()), raters, *sum_up(clusters.sum(np.array(rows), np.float64), drawn)


def find_usual_number(raters: Numbers) -> int | None:
    """The most common number of raters of a unit, in a tie the larger; None without a unit."""
    if not len(raters):
        return None
    numbers, units = np.unique(raters, return_counts=True)
    return int(numbers[units == units.max()].max())


def count_equal(
    ratings: Floats, pairs: Pairs, clusters: Clusters, drawn: Resamples
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats] | None, Places]:
    """For each pair, the number of units on which both gave a number, and the same number, also in each resample; and the number
    of clusters in which the pair shares a unit."""
    here, there = ratings[pairs[0]], ratings[pairs[1]]
    shared = clusters.sum(~(np.isnan(here) | np.isnan(there)))
    total, draws = sum_up(np.concatenate([shared, clusters.sum(here == there)]), drawn)
    units, equal = np.split(total, 2)
    turns = np.count_nonzero(shared, axis=1)
    if draws is None:
        return (units, equal), None, turns
    units_draws, equal_draws = np.split(draws, 2)
    return (units, equal), (units_draws, equal_draws), turns
