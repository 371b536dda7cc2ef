"""How often intervals contain the truth, and how often tests find a difference where there is none.

Every interval and test of the product that does not have a simulation of its own. The tables of docs/reference/method.md are what
comes out here, and the product gives no interval and no verdict where a figure here is bad.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from numpy.random import Generator

from auditapp.experiments.pure.effects import report_experiment, tally_units
from auditapp.experiments.pure.plans import make_plan
from auditapp.experiments.pure.units import Unit
from auditapp.preannotation.evaluation.pure.calibrating import bound_f1
from auditapp.preannotation.evaluation.pure.figures import CrossTable, Tally
from auditapp.preannotation.evaluation.pure.influence_by_turn import measure_by_turn
from auditapp.preannotation.evaluation.pure.rectifying import Sample as Labelled
from auditapp.preannotation.evaluation.pure.rectifying import rectify_by_turn
from auditapp.preannotation.evaluation.pure.turn_tables import Draws, make_table
from auditapp.sob.audits.pure import estimate_score
from auditapp.sob.pure.measures import ranks
from auditapp.sob.pure.measures.ranks import RankedBlocks, compare_conover, compare_nemenyi, rank_blocks
from auditapp.sob.pure.measures.score_intervals import Sample, draw_scores, resample_scores
from tests.transcripts.agreement import examples
from tests.transcripts.statistics.test_clusters import draw as draw_clusters
from transcripts.agreement.pure.figures import CodeAgreement
from transcripts.agreement.pure.measuring import measure_agreement
from transcripts.negotiation.pure.scoring import Counts, compare_conditions
from transcripts.statistics import coefficients
from transcripts.statistics.calibration import BINS, MIN_STATED, Stated, measure_calibration
from transcripts.statistics.clusters import average_clusters, correlate_shares, subtract_shares
from transcripts.statistics.comparing import Paired, compare_family
from transcripts.statistics.differences import (
    Estimate,
    Moments,
    estimate_difference_of_means,
    estimate_difference_of_shares,
    measure_heterogeneity,
    measure_welch,
)
from transcripts.statistics.intervals import (
    Interval,
    newcombe_interval,
    paired_difference_interval,
    paired_ratio_interval,
    wilson_interval,
)
from transcripts.statistics.resampling import find_percentiles
from transcripts.statistics.significance import measure_chi_square, measure_fisher, measure_mcnemar

SIZES = (3, 5, 10, 20, 50)
SAMPLES = 2_000
RESAMPLES = 400
METHOD = Path(__file__).parents[1] / "docs" / "reference" / "method.md"

EXPERIMENT = make_plan({"outcome": "o", "baseline": "old", "variant": "new", "allocation": {"old": 1, "new": 1}})

Draw = Callable[[Generator, int], bool | None]
"""Of a sample of so many: whether its interval contains the truth, or its test finds a difference; None where it has none."""


class Row(NamedTuple):
    """A row of a table. From ``least`` on, intervals contain the truth in ``bound`` of samples or more, or tests find a difference
    in ``bound`` or fewer."""

    name: str
    draw: Draw
    least: int
    bound: float
    samples: int = SAMPLES


def contain(interval: Interval | None, truth: float) -> bool | None:
    return None if interval is None else interval.low <= truth <= interval.high


def find(p: float | None) -> bool | None:
    return None if p is None else p < 0.05


def count(chance: Generator, n: int, share: float) -> int:
    return int(chance.binomial(n, share))


def take(values: np.ndarray) -> Moments:
    return Moments(len(values), float(values.mean()), float(((values - values.mean()) ** 2).sum()))


def cover_any_share(chance: Generator, n: int) -> bool | None:
    share = chance.random()
    return contain(wilson_interval(count(chance, n, share), n), share)


def draw_paired(chance: Generator, n: int, part: float) -> tuple[list[float], list[float]]:
    """Cases that are hard or easy for both sides; the second side does ``part`` as well as the first."""
    ease = chance.random(n)
    return list((chance.random(n) < ease) * 1.0), list((chance.random(n) < part * ease) * 1.0)


def cover_ratio(chance: Generator, n: int) -> bool | None:
    first, second = draw_paired(chance, n, 0.7)
    return contain(paired_ratio_interval(second, first), 0.7)


def draw_means(chance: Generator, n: int, *, is_skewed: bool) -> tuple[Moments, Moments]:
    """Two means that are the same."""
    if is_skewed:
        return take(chance.lognormal(0, 1, n)), take(chance.lognormal(0.375, 0.5, n))
    return take(chance.normal(0, 1, n)), take(chance.normal(0, 3, n))


def cover_welch(chance: Generator, n: int, *, is_skewed: bool) -> bool | None:
    found = measure_welch(*draw_means(chance, n, is_skewed=is_skewed))
    return contain(found.interval if found else None, 0)


def cover_kappa(chance: Generator, n: int) -> bool | None:
    first = chance.random(n) < 0.3
    second = np.where(chance.random(n) < 0.6, first, chance.random(n) < 0.3)
    counts = coefficients.count_pairs(
        int((first & second).sum()),
        int((first & ~second).sum()),
        int((~first & second).sum()),
        int((~first & ~second).sum()),
    )
    kappa, error = (
        float(measure(counts)) for measure in (coefficients.measure_kappa, coefficients.measure_kappa_error)
    )
    return None if math.isnan(kappa) else contain(coefficients.bound_kappa(kappa, error), 0.6)


def cover_f1(chance: Generator, n: int) -> bool | None:
    """J is 1/2."""
    return contain(bound_f1(CrossTable(*chance.multinomial(n, (0.2, 0.1, 0.1, 0.6)).tolist())), 2 / 3)


def cover_same_clusters(chance: Generator, n: int) -> bool | None:
    """Two shares of the same threads, .5 and .35, of 1 to 7 units each."""
    own, units, others = chance.random(n), chance.integers(1, 8, n), chance.integers(1, 8, n)
    parts, other_parts = chance.binomial(units, own), chance.binomial(others, 0.7 * own)
    shares = average_clusters(parts, units), average_clusters(other_parts, others)
    return contain(subtract_shares(*shares, correlate_shares(parts, units, other_parts, others)).interval, 0.5 - 0.35)


def draw_agreement(chance: Generator, n: int) -> CodeAgreement:
    """Two coders in turns of 1 to 7 sentences whose rates correlate by 0.3; kappa and alpha are 0.6 + 0.4 x 0.3."""
    turns = np.repeat(np.arange(n), chance.integers(1, 8, n))
    rate = chance.beta(0.7, 7 / 3 - 0.7, n)[turns]
    first = chance.random(len(turns)) < rate
    second = np.where(chance.random(len(turns)) < 0.6, first, chance.random(len(turns)) < rate)
    table = examples.make_table([list(map(int, first)), list(map(int, second))], clusters=turns.tolist())
    return measure_agreement(table, seed=1, resamples=RESAMPLES).codes[0]


def cover_superiority(chance: Generator, n: int) -> bool | None:
    first, second = np.array([0.1, 0.2, 0.3, 0.4]), np.full(4, 0.25)
    truth = sum(first[a] * second[b] * (1.0 if a > b else 0.5 if a == b else 0.0) for a in range(4) for b in range(4))
    one, other = (Counts(tuple(chance.multinomial(n, each).tolist())) for each in (first, second))
    return contain(compare_conditions(one, other, ("a", "b"), seed=1, resamples=RESAMPLES).interval, truth)


def draw_texts(chance: Generator, n: int, *names: str) -> Sample:
    """Texts that differ in how much any model attributes: 1.05 attributes on average."""
    return Sample(names, np.ones(n, np.int64), chance.poisson(chance.gamma(0.7, 1.5, n))[None, :])


def cover_score(chance: Generator, n: int) -> bool | None:
    [found] = resample_scores([draw_texts(chance, n)], seed=1, resamples=1)
    return contain(found[0] if found else None, 1.05)


def cover_contrast(chance: Generator, n: int) -> bool | None:
    draws = [draw_scores(draw_texts(chance, n, name), seed=1, resamples=RESAMPLES) for name in ("with", "without")]
    if draws[0] is None or draws[1] is None:
        return None
    return contain(find_percentiles(draws[0][0] - draws[1][0], n), 0)


def cover_audit(chance: Generator, n: int) -> bool | None:
    """Of 500 readings, of which 15 % miss or invent an attribute and 4 % are taken for unusable."""
    machine = chance.poisson(1.5, 500)
    person = np.maximum(machine + chance.choice((-1, 0, 1), 500, p=(0.1, 0.85, 0.05)), 0)
    usable = chance.random(500) >= 0.04
    frame = int(usable.sum()), int((machine * usable).sum())
    chosen = chance.choice(500, n, replace=False)
    differences = [(float(person[each] - machine[each] * usable[each]), float(not usable[each])) for each in chosen]
    return contain(estimate_score((500, *frame), differences)[1], person.sum() / 500)


def cover_rectified(chance: Generator, n: int) -> bool | None:
    """Turns of four sentences, a fifth of them labelled by people; the machine overcalls."""
    turns = np.repeat(np.arange(5 * n), 4)
    truth = np.repeat(chance.random(5 * n) < 0.25, 4) ^ (chance.random(20 * n) < 0.05)
    machine = truth | (chance.random(20 * n) < 0.15)
    held = np.isin(turns, chance.choice(5 * n, n, replace=False))
    weights = np.where(held, 5.0, 1.25)
    people, own, others = (each.astype(float) for each in (truth[held], machine[held], machine[~held]))
    sample = Labelled(people, own, turns[held], weights[held], others, turns[~held], weights[~held])
    return contain(rectify_by_turn(sample).interval, 0.25 * 0.95 + 0.75 * 0.05)


def draw_turns(chance: Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Turns of two interviews of n turns, n withheld: which, how many units, and how many of them agree. Nothing has an effect."""
    held = np.concatenate([chance.permutation(np.arange(n) % 2 == side) for side in (0, 1)])
    units = chance.integers(1, 8, 2 * n)
    return held, units, chance.binomial(units, chance.beta(1.2, 0.8, 2 * n))


def measure_turns(chance: Generator, n: int) -> dict[str, Any]:
    held, units, same = draw_turns(chance, n)
    tallies = [
        Tally(withheld_same=part, withheld_n=size) if is_held else Tally(shown_same=part, shown_n=size)
        for is_held, size, part in zip(held, units.tolist(), same.tolist(), strict=True)
    ]
    numbers = np.arange(2 * n, dtype=np.int64)
    draws = Draws(numbers, np.repeat((0, 1), n), held, np.full(2 * n, 0.5))
    return measure_by_turn({"all": make_table(numbers, np.array(tallies, np.int64))}, draws, redraws=RESAMPLES - 1)[
        "all"
    ]


def cover_arms(chance: Generator, n: int) -> bool | None:
    return contain(measure_turns(chance, n)["interval"], 0)


def find_arms(chance: Generator, n: int) -> bool | None:
    return find(measure_turns(chance, n)["p_difference"])


def find_by_sentence(chance: Generator, n: int) -> bool | None:
    held, units, same = draw_turns(chance, n)
    tested = measure_chi_square(*(int(each[side].sum()) for side in (held, ~held) for each in (same, units)))
    return find(tested.p if tested else None)


def cover_bin(chance: Generator, n: int) -> bool | None:
    """Cases of 1 to 5 plays that state 55 % and come true in 55 %, each as often as it is easy; and others."""
    ease, plays = chance.beta(1.1, 0.9, n), chance.integers(1, 6, n)
    stated = [Stated(case, 0.55, bool(chance.random() < ease[case])) for case in range(n) for _ in range(plays[case])]
    stated += [Stated(("other", case), 0.05, False) for case in range(MIN_STATED)]
    return contain(measure_calibration(stated).bins[BINS // 2].interval, 0.55)


def cover_bounds(chance: Generator, n: int) -> bool | None:
    """Three in ten outcomes that are no are missing, and one in ten of the others; truly the arms differ by .2."""
    units = []
    for arm, share in (("new", 0.5), ("old", 0.3)):
        for number in range(n):
            outcome = bool(chance.random() < share)
            units.append(
                Unit(f"{arm}{number}", arm, "", {"o": outcome if chance.random() > (0.1 if outcome else 0.3) else None})
            )
    found = report_experiment(tally_units(units), EXPERIMENT)["missing"]["o"]
    return contain(Interval(*found["bounds_ci"]), 0.2)


def find_fisher(chance: Generator, n: int) -> bool | None:
    return find(measure_fisher(count(chance, n, 0.3), n, count(chance, n, 0.3), n))


def find_pearson(chance: Generator, n: int) -> bool | None:
    found = measure_chi_square(count(chance, n, 0.3), n, count(chance, n, 0.3), n)
    return find(found.p if found else None)


def find_mcnemar(chance: Generator, n: int) -> bool | None:
    first, second = np.array(draw_paired(chance, n, 1))
    return find(measure_mcnemar(int((first > second).sum()), int((first < second).sum())))


def find_welch(chance: Generator, n: int, *, is_skewed: bool) -> bool | None:
    found = measure_welch(*draw_means(chance, n, is_skewed=is_skewed))
    return find(found.p if found else None)


def find_groups(chance: Generator, n: int, *, of_means: bool) -> bool | None:
    """Whether the effects of five groups differ, n units to each arm of a group."""
    found: list[Estimate | None] = []
    for _ in range(5):
        if of_means:
            found.append(estimate_difference_of_means(*draw_means(chance, n, is_skewed=False)))
        else:
            found.append(estimate_difference_of_shares(count(chance, n, 0.5), n, count(chance, n, 0.3), n))
    tested = measure_heterogeneity([each for each in found if each])
    return find(tested.p if tested else None)


def find_family(chance: Generator, n: int) -> bool | None:
    """Whether any of ten comparisons on the same texts has a verdict by its adjusted P."""
    rates = chance.gamma(0.7, 1.5, n)
    compared = compare_family([Paired(chance.poisson(rates) - chance.poisson(rates)) for _ in range(10)])
    found = [find(each.p_adjusted) for each in compared]
    return None if None in found else any(found)


def draw_blocks(chance: Generator, n: int, targets: int) -> dict[str, dict[str, float | None]]:
    """Models whose targets have the same chance of a high score; scores have two decimals, and ties."""
    scores = (chance.poisson(100, (n, targets)) / 100 + chance.random((n, 1)).round(2)).round(2)
    return {
        str(block): {str(target): float(score) for target, score in enumerate(row)} for block, row in enumerate(scores)
    }


def name_targets(targets: int) -> list[str]:
    return list(map(str, range(targets)))


def rank(chance: Generator, n: int, targets: int) -> RankedBlocks:
    return rank_blocks(draw_blocks(chance, n, targets), name_targets(targets))


def find_friedman(chance: Generator, n: int, *, targets: int, key: str) -> bool | None:
    with mock.patch.object(ranks, "TOO_FEW_BLOCKS", 0):
        return find(ranks.compare_targets(draw_blocks(chance, n, targets), name_targets(targets), task="any")[key])


@cache
def find_critical_difference(n: int, targets: int) -> float:
    ranked = RankedBlocks(tuple(name_targets(targets)), [list(map(float, range(1, targets + 1)))] * n, ())
    return float(compare_nemenyi(ranked, task="any")["critical_difference"])


def find_nemenyi(chance: Generator, n: int, *, targets: int) -> bool:
    """Whether any two targets are farther apart than the critical difference, which is the same as P below .05 for one pair."""
    means = rank(chance, n, targets).mean_ranks.values()
    return max(means) - min(means) > find_critical_difference(n, targets)


def find_conover(chance: Generator, n: int, *, targets: int) -> bool:
    return any(pair["p_adjusted"] < 0.05 for pair in compare_conover(rank(chance, n, targets), task="any")["pairs"])


COVERAGE = (
    Row(
        "share of .2: Wilson",
        lambda chance, n: contain(wilson_interval(count(chance, n, 0.2), n), 0.2),
        3,
        0.89,
    ),
    Row("any share: Wilson", cover_any_share, 3, 0.94),
    Row(
        "difference of two shares, .3 and .3: Newcombe",
        lambda chance, n: contain(newcombe_interval(count(chance, n, 0.3), n, count(chance, n, 0.3), n), 0),
        3,
        0.93,
    ),
    Row(
        "difference of two shares, .5 and .2: Newcombe",
        lambda chance, n: contain(newcombe_interval(count(chance, n, 0.5), n, count(chance, n, 0.2), n), 0.3),
        3,
        0.92,
    ),
    Row(
        "difference on the same cases: Newcombe, paired",
        lambda chance, n: contain(paired_difference_interval(*draw_paired(chance, n, 0.7)), 0.15),
        10,
        0.93,
    ),
    Row(
        "ratio on the same cases: delta method",
        cover_ratio,
        10,
        0.93,
    ),
    Row(
        "difference over clusters: Newcombe’s hybrid",
        lambda chance, n: contain(
            subtract_shares(draw_clusters(chance, n, 0.3, 0.5), draw_clusters(chance, n, 0.3, 0.2)).interval, 0.3
        ),
        3,
        0.93,
    ),
    Row("the same, both of the same clusters: Zou", cover_same_clusters, 3, 0.93),
    Row("difference of arms, influence: Newcombe’s hybrid", cover_arms, 3, 0.93, 1_000),
    Row("bin of a reliability diagram: Wilson", cover_bin, 3, 0.93, 1_000),
    Row("mean: Student, normal", lambda chance, n: contain(take(chance.normal(0, 1, n)).interval, 0), 3, 0.93),
    Row(
        "mean: Student, log-normal",
        lambda chance, n: contain(take(chance.lognormal(0, 1, n)).interval, math.exp(0.5)),
        3,
        0.8,
    ),
    Row("difference of means: Welch, normal", partial(cover_welch, is_skewed=False), 3, 0.93),
    Row("difference of means: Welch, log-normal", partial(cover_welch, is_skewed=True), 3, 0.8),
    Row("kappa of one pair: by formula", cover_kappa, 10, 0.9),
    Row("F1: by formula", cover_f1, 3, 0.92),
    Row(
        "kappa over turns: expanded percentile",
        lambda chance, n: contain(draw_agreement(chance, n).kappa.interval, 0.72),
        10,
        0.9,
        500,
    ),
    Row(
        "alpha over turns: expanded percentile",
        lambda chance, n: contain(draw_agreement(chance, n).alpha.interval, 0.72),
        10,
        0.9,
        500,
    ),
    Row("superiority: expanded percentile", cover_superiority, 10, 0.93, 1_000),
    Row("score over texts: expanded percentile", cover_score, 10, 0.88, 1_000),
    Row("difference of scores: expanded percentile", cover_contrast, 10, 0.93, 1_000),
    Row("bounds of missing outcomes: Newcombe, of both extremes", cover_bounds, 3, 0.95, 1_000),
    Row("corrected score of an audit: Student, linearised", cover_audit, 5, 0.93),
    Row("corrected rate: linearised over turns", cover_rectified, 50, 0.92, 1_000),
)

ERRORS = (
    Row("two shares of .3: Fisher", find_fisher, 3, 0.05),
    Row("two shares of .3: Pearson", find_pearson, 10, 0.06),
    Row("two shares on the same cases: McNemar, exact", find_mcnemar, 3, 0.05),
    Row("two means: Welch, normal", partial(find_welch, is_skewed=False), 3, 0.07),
    Row("two means: Welch, log-normal", partial(find_welch, is_skewed=True), 3, 0.1),
    Row("effects of five groups, shares: Cochran’s Q", partial(find_groups, of_means=False), 10, 0.06),
    Row("effects of five groups, means: Welch’s F", partial(find_groups, of_means=True), 10, 0.06),
    Row("any of ten comparisons on the same texts: tossed signs, Holm", find_family, 3, 0.055),
    Row("difference of arms, influence: drawn again", find_arms, 3, 0.065, 1_000),
    Row("the same by sentences: Pearson", find_by_sentence, 3, 1),
    Row("10 targets: Friedman’s chi-square", partial(find_friedman, targets=10, key="p"), 6, 0.06, 1_000),
    Row(
        "10 targets: Iman and Davenport’s F", partial(find_friedman, targets=10, key="iman_davenport_p"), 6, 0.07, 1_000
    ),
    Row("any two of 10 targets: Nemenyi", partial(find_nemenyi, targets=10), 6, 0.06),
    Row("any two of 10 targets: Conover, Holm", partial(find_conover, targets=10), 6, 0.06, 1_000),
    Row("3 targets: Friedman’s chi-square", partial(find_friedman, targets=3, key="p"), 6, 0.06, 1_000),
    Row("3 targets: Iman and Davenport’s F", partial(find_friedman, targets=3, key="iman_davenport_p"), 6, 0.07, 1_000),
    Row("any two of 3 targets: Nemenyi", partial(find_nemenyi, targets=3), 6, 0.06),
    Row("any two of 3 targets: Conover, Holm", partial(find_conover, targets=3), 6, 0.06, 1_000),
)


def simulate(row: Row) -> list[float | None]:
    """By size, the share of samples, of those with an interval or a P; None where fewer than half of the samples have one."""
    shares: list[float | None] = []
    for n in SIZES:
        chance = np.random.default_rng(n)
        found = [each for _ in range(row.samples) if (each := row.draw(chance, n)) is not None]
        shares.append(sum(found) / len(found) if 2 * len(found) >= row.samples else None)
    return shares


def write_line(row: Row, shares: list[float | None]) -> str:
    cells = ("–" if share is None else f"{100 * share:.1f} %" for share in shares)
    return f"| {row.name} | {' | '.join(cells)} |"


@pytest.mark.full
@pytest.mark.parametrize("row", [*COVERAGE, *ERRORS], ids=lambda row: row.name)
def test_the_table_of_the_method_has_what_is_simulated_and_no_bad_figure_is_given(row: Row) -> None:
    shares = simulate(row)
    given = [share for size, share in zip(SIZES, shares, strict=True) if size >= row.least and share is not None]
    assert given
    assert min(given) >= row.bound if row in COVERAGE else max(given) <= row.bound
    assert write_line(row, shares) in METHOD.read_text(encoding="utf-8")
