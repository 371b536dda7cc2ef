"""How often intervals contain the truth, and how often tests find a difference where there is none.

Most intervals and tests of the product; docs/reference/method.md names those that are not here. Its tables are what comes out here.
Where a figure here is bad the product gives no interval and no verdict, or says so: docs/reference/method.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from numpy.random import Generator

from auditapp.annotators.pure.figures import CrossTable, Tally
from auditapp.benchmarks.experiments.pure.effects import Tally as UnitTally
from auditapp.benchmarks.experiments.pure.effects import (
    compare_groups,
    compare_means,
    compare_shares,
    find_p,
    measure_allocation,
    report_experiment,
    tally_units,
)
from auditapp.benchmarks.experiments.pure.plans import Unit, make_plan
from auditapp.benchmarks.gender_cues.pure.tables import measure_counts
from auditapp.benchmarks.scenarios.pure.measures import SessionOutcome, measure_groups, measure_retention
from auditapp.benchmarks.sob.pure import ranks
from auditapp.benchmarks.sob.pure.audits import estimate_score
from auditapp.benchmarks.sob.pure.ranks import compare_conover, compare_nemenyi, rank_blocks
from auditapp.benchmarks.sob.pure.scores import ItemMatrix, Sample, resample_scores
from auditapp.benchmarks.sob.pure.secondary import contrast_secondary
from auditapp.evaluation.pure.calibration import bound_f1
from auditapp.evaluation.pure.corrected_rates import Sample as Labelled
from auditapp.evaluation.pure.corrected_rates import correct_rate_by_turn
from auditapp.evaluation.pure.influence import Draws, make_table, measure_by_turn
from tests.transcripts.agreement import cast
from tests.transcripts.statistics.test_clusters import draw as draw_clusters
from transcripts.agreement.pure.measuring import measure_agreement
from transcripts.negotiation.pure.scoring import Counts, SignTest, compare_conditions
from transcripts.negotiation.pure.sequences import is_starred, measure_transitions
from transcripts.statistics.differences import Moments, Paired, compare_family
from transcripts.statistics.figures import (
    BINS,
    MIN_STATED,
    Interval,
    Share,
    Stated,
    measure_calibration,
    paired_difference_interval,
    wilson_interval,
)
from transcripts.statistics.resampling import (
    average_clusters,
    correlate_shares,
    draw_sums,
    find_percentiles,
    subtract_shares,
)
from transcripts.statistics.significance import measure_chi_square, measure_fisher, measure_mcnemar

SIZES = (3, 5, 10, 20, 50)
RANK_SIZES = (3, 5, 6, 10, 20, 50)
"""Of models: ranks have a P from six on."""
SAMPLES = 2_000
RESAMPLES = 400
METHOD = Path(__file__).parents[1] / "docs" / "reference" / "method.md"

EXPERIMENT, OF_NUMBERS = (
    make_plan({"outcome": "o", "baseline": "old", "variant": "new", "allocation": {"old": 1, "new": 1}} | more)
    for more in ({}, {"numbers": {"o": {"lowest": 0, "highest": 1}}})
)

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
    sizes: tuple[int, ...] = SIZES


def contain(interval, truth):
    return None if interval is None else interval.low <= truth <= interval.high


def find(p):
    return None if p is None else p < 0.05


def count(chance, n, share):
    return int(chance.binomial(n, share))


def take(values):
    return Moments(len(values), float(values.mean()), float(((values - values.mean()) ** 2).sum()))


def cover_any_share(chance, n):
    share = chance.random()
    return contain(wilson_interval(count(chance, n, share), n), share)


def draw_paired(chance, n, part):
    """Cases that are hard or easy for both sides; the second side does ``part`` as well as the first."""
    ease = chance.random(n)
    return list((chance.random(n) < ease) * 1.0), list((chance.random(n) < part * ease) * 1.0)


def make_interval(ends):
    return None if ends is None else Interval(*ends)


def cover_difference(chance, n, share, other):
    found = compare_shares(Share(count(chance, n, share), n), Share(count(chance, n, other), n))
    return contain(make_interval(found["ci"]), share - other)


def retain(chance, n, part, *, most):
    """The retention of ``part``, of cases that are hard or easy, each played up to ``most`` times with the prompt and without."""
    ease, times = chance.random(n), chance.integers(1, most + 1, n).tolist()
    sessions = [
        SessionOutcome(str(case), "model", condition, repeat, bool(chance.random() < each * ease[case]))
        for condition, each in (("prompted", 1), ("unprompted", part))
        for case in range(n)
        for repeat in range(times[case])
    ]
    return measure_retention(sessions)["model"]


def cover_ratio(chance, n, *, most):
    return contain(make_interval(retain(chance, n, 0.7, most=most)["retention"]["ci"]), 0.7)


def find_retention(chance, n, *, most):
    return find(retain(chance, n, 1, most=most)["p_mcnemar"])


def cover_gap(chance, n):
    """Four groups that fare alike on the same cases."""
    ease = chance.random(n)
    sessions = [
        SessionOutcome(
            f"{case}{group}", "model", "prompted", 1, bool(chance.random() < ease[case]), group, pair=str(case)
        )
        for case in range(n)
        for group in "abcd"
    ]
    gap = measure_groups(sessions)["gap"]
    return contain(make_interval(gap["ci"]) if gap else None, 0)


def compare_texts(chance, n):
    """Two models that attribute alike, on texts that differ in how much any model attributes: many counts are 0."""
    rates = chance.gamma(0.7, 1.5, n)
    [found] = compare_family([Paired(chance.poisson(rates) - chance.poisson(rates))])
    return found


def compare_cases(chance, n, *, is_uneven):
    """Two models that are as often right, but not in the same cases, of 1 to 7 questions; uneven: one of 40, the others of 3."""
    sizes = [40, *[3] * (n - 1)] if is_uneven else chance.integers(1, 8, n)
    cases, ease = np.repeat(np.arange(n), sizes), chance.random((2, n))
    first, second = (chance.random((2, len(cases))) < ease[:, cases]).astype(np.int64)
    [found] = compare_family([Paired(first - second, clusters=cases.tolist())])
    return found


def draw_means(chance, n, *, is_skewed):
    """Two means that are the same."""
    if is_skewed:
        return take(chance.lognormal(0, 1, n)), take(chance.lognormal(0.375, 0.5, n))
    return take(chance.normal(0, 1, n)), take(chance.normal(0, 3, n))


def cover_welch(chance, n, *, is_skewed):
    return contain(make_interval(compare_means(*draw_means(chance, n, is_skewed=is_skewed))["ci"]), 0)


def cover_f1(chance, n):
    """J is 1/2."""
    return contain(bound_f1(CrossTable(*chance.multinomial(n, (0.2, 0.1, 0.1, 0.6)).tolist())), 2 / 3)


def cover_same_clusters(chance, n):
    """Two shares of the same threads, .5 and .35, of 1 to 7 units each."""
    own, units, others = chance.random(n), chance.integers(1, 8, n), chance.integers(1, 8, n)
    parts, other_parts = chance.binomial(units, own), chance.binomial(others, 0.7 * own)
    shares = average_clusters(parts, units), average_clusters(other_parts, others)
    return contain(subtract_shares(*shares, correlate_shares(parts, units, other_parts, others)).interval, 0.5 - 0.35)


def bootstrap_share(chance, n, *, correlation, is_expanded):
    """A share of .5 of clusters of 1 to 7 units, by 1,000 draws of whole clusters."""
    units, spread = chance.integers(1, 8, n), (1 / correlation - 1) / 2
    parts = chance.binomial(units, chance.beta(spread, spread, n))
    sums = draw_sums(np.vstack([parts, units]), resamples=1_000, generator=chance)
    draws = sums[0] / sums[1]
    return contain(find_percentiles(draws, n) if is_expanded else Interval(*np.quantile(draws, [0.025, 0.975])), 0.5)


def cover_clusters(chance, n, *, correlation, share):
    found = draw_clusters(chance, n, correlation, share)
    return contain(found.interval if found else None, share)


def draw_agreement(chance, n, *, resamples=RESAMPLES, sentences=(1, 7)):
    """Two coders in turns of 1 to 7 sentences whose rates correlate by 0.3; kappa and alpha are 0.6 + 0.4 x 0.3."""
    turns = np.repeat(np.arange(n), chance.integers(*sentences, n, endpoint=True))
    rate = chance.beta(0.7, 7 / 3 - 0.7, n)[turns]
    first = chance.random(len(turns)) < rate
    second = np.where(chance.random(len(turns)) < 0.6, first, chance.random(len(turns)) < rate)
    table = cast.make_table([list(map(int, first)), list(map(int, second))], clusters=turns.tolist())
    return measure_agreement(table, seed=1, resamples=resamples).codes[0]


def cover_kappa(chance, n, *, sentences):
    [pair] = draw_agreement(chance, n, resamples=0, sentences=sentences).pairs
    return contain(pair.kappa_error.interval, 0.72)


def cover_superiority(chance, n):
    first, second = np.array([0.1, 0.2, 0.3, 0.4]), np.full(4, 0.25)
    truth = sum(first[a] * second[b] * (1.0 if a > b else 0.5 if a == b else 0.0) for a in range(4) for b in range(4))
    one, other = (Counts(tuple(chance.multinomial(n, each).tolist())) for each in (first, second))
    return contain(compare_conditions(one, other, ("a", "b"), seed=1, resamples=RESAMPLES).interval, truth)


def draw_texts(chance, n, *names):
    """Texts that differ in how much any model attributes: 1.05 attributes on average."""
    return Sample(names, np.ones(n, np.int64), chance.poisson(chance.gamma(0.7, 1.5, n))[None, :])


def cover_score(chance, n):
    [found] = resample_scores([draw_texts(chance, n)], seed=1, resamples=1)
    return contain(found[0] if found else None, 1.05)


def cover_contrast(chance, n):
    """Texts with a further target, and as many without, that are alike."""
    sums, texts = chance.poisson(chance.gamma(0.7, 1.5, 2 * n))[:, None], 2 * n
    further = [("other",) if text < n else () for text in range(texts)]
    matrix = ItemMatrix(["model"], range(texts), [""] * texts, further, np.ones_like(sums), sums, sums)
    [row] = contrast_secondary({"task": matrix}, seed=1, resamples=RESAMPLES)
    ends = row["ci"]
    return contain(ends, 0)


def cover_audit(chance, n):
    """Of 500 readings, of which 15 % miss or invent an attribute and 4 % are taken for unusable."""
    machine = chance.poisson(1.5, 500)
    person = np.maximum(machine + chance.choice((-1, 0, 1), 500, p=(0.1, 0.85, 0.05)), 0)
    usable = chance.random(500) >= 0.04
    frame = int(usable.sum()), int((machine * usable).sum())
    chosen = chance.choice(500, n, replace=False)
    differences = [(float(person[each] - machine[each] * usable[each]), float(not usable[each])) for each in chosen]
    return contain(estimate_score((500, *frame), differences)[1], person.sum() / 500)


def cover_corrected(chance, n):
    """Turns of four sentences, a fifth of them labelled by people; the machine overcalls."""
    turns = np.repeat(np.arange(5 * n), 4)
    truth = np.repeat(chance.random(5 * n) < 0.25, 4) ^ (chance.random(20 * n) < 0.05)
    machine = truth | (chance.random(20 * n) < 0.15)
    held = np.isin(turns, chance.choice(5 * n, n, replace=False))
    weights = np.where(held, 5.0, 1.25)
    people, own, others = (each.astype(float) for each in (truth[held], machine[held], machine[~held]))
    sample = Labelled(people, own, turns[held], weights[held], others, turns[~held], weights[~held])
    return contain(correct_rate_by_turn(sample).interval, 0.25 * 0.95 + 0.75 * 0.05)


def draw_turns(chance, n):
    """Turns of two interviews of n turns, n withheld: which, how many units, and how many of them agree. Nothing has an effect."""
    held = np.concatenate([chance.permutation(np.arange(n) % 2 == side) for side in (0, 1)])
    units = chance.integers(1, 8, 2 * n)
    return held, units, chance.binomial(units, chance.beta(1.2, 0.8, 2 * n))


def measure_turns(chance, n):
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


def cover_arms(chance, n):
    return contain(measure_turns(chance, n)["interval"], 0)


def find_arms(chance, n):
    return find(measure_turns(chance, n)["p_difference"])


def find_by_sentence(chance, n):
    held, units, same = draw_turns(chance, n)
    tested = measure_chi_square(*(int(each[side].sum()) for side in (held, ~held) for each in (same, units)))
    return find(tested.p if tested else None)


def cover_bin(chance, n):
    """Cases of 1 to 5 plays that state 55 % and come true in 55 %, each as often as it is easy; and others."""
    ease, sessions = chance.beta(1.1, 0.9, n), chance.integers(1, 6, n)
    stated = [
        Stated(case, 0.55, bool(chance.random() < ease[case])) for case in range(n) for _ in range(sessions[case])
    ]
    stated += [Stated(("other", case), 0.05, False) for case in range(MIN_STATED)]
    return contain(measure_calibration(stated).bins[BINS // 2].interval, 0.55)


def draw_bounds(chance, n, *, missing):
    """Truly the arms differ by .2; of outcomes that are no and yes these shares are missing."""
    units = []
    for arm, share in (("new", 0.5), ("old", 0.3)):
        for number in range(n):
            outcome = bool(chance.random() < share)
            known = outcome if chance.random() >= missing[outcome] else None
            units.append(Unit(f"{arm}{number}", arm, "", {"o": known}))
    return Interval(*report_experiment(tally_units(units), EXPERIMENT)["missing"]["o"]["bounds_ci"])


def cover_bounds(chance, n):
    """Three in ten outcomes that are no are missing, and one in ten of the others: the true bounds are -.06 and .38."""
    found = draw_bounds(chance, n, missing=(0.3, 0.1))
    return found.low <= -0.06 and found.high >= 0.38


def cover_bounds_of_means(chance, n, *, is_within):
    """Numbers from 0 to 1 with the means 1/2 and 1/3, a fifth of them missing: the true bounds are -1/15 and 1/3."""
    units = []
    for arm, values in (("new", chance.random(n)), ("old", chance.beta(1, 2, n))):
        known = chance.random(n) >= 0.2
        units += [
            Unit(f"{arm}{number}", arm, "", {"o": float(values[number]) if known[number] else None})
            for number in range(n)
        ]
    ends = report_experiment(tally_units(units), OF_NUMBERS)["missing"]["o"]["bounds_ci"]
    if ends is None:
        return None
    return bool(ends[0] <= 1 / 6 <= ends[1] if is_within else ends[0] <= -1 / 15 and ends[1] >= 1 / 3)


def find_fisher(chance, n):
    return find(measure_fisher(count(chance, n, 0.3), n, count(chance, n, 0.3), n))


def find_chosen(chance, n, *, share):
    """By the test that Table 1 of the probe chooses."""
    return find(measure_counts(count(chance, n, share), n, count(chance, n, share), n)["p"])


def find_allocation(chance, n):
    """Two arms of n units each as planned."""
    own = count(chance, 2 * n, 0.5)
    return find(measure_allocation({"old": own, "new": 2 * n - own}, EXPERIMENT.allocation)["p"])


def find_signs(chance, n):
    """Pairs of threads with scores from 0 to 3."""
    steps = chance.integers(0, 4, n) - chance.integers(0, 4, n)
    return find(SignTest(int((steps > 0).sum()), int((steps < 0).sum()), int((steps == 0).sum())).p)


STARS = 2.955
"""The residual of which P is .05 over 16 cells."""


def find_star(chance, n, *, has_habits, is_by_residual):
    """Whether any step of four moves is found more or less common, in threads of 6 to 30 moves. With habits each thread has its own
    chances of what follows what; without, steps are independent."""
    sequences = []
    for _ in range(n):
        levels = (chance.dirichlet([1] * 4, size=4) if has_habits else np.full((4, 4), 0.25)).cumsum(axis=1)
        place, places = 0, []
        for each in chance.random(chance.integers(6, 31)):
            place = min(int(levels[place].searchsorted(each)), 3)
            places.append(frozenset("abcd"[place]))
        sequences.append(places)
    cells = [cell for row in measure_transitions(sequences)["cells"].values() for cell in row.values()]
    if is_by_residual:
        return any(cell["residual"] is not None and abs(cell["residual"]) > STARS for cell in cells)
    return any(map(is_starred, cells)) if any(cell["p_holm"] is not None for cell in cells) else None


def find_mcnemar(chance, n):
    first, second = np.array(draw_paired(chance, n, 1))
    return find(measure_mcnemar(int((first > second).sum()), int((first < second).sum())))


def find_welch(chance, n, *, is_skewed):
    return find(find_p(compare_means(*draw_means(chance, n, is_skewed=is_skewed))))


def find_groups(chance, n, *, of_means):
    """Whether the effects of five groups differ, n units to each arm of a group."""
    tally, groups = UnitTally(), list("abcde")
    for group in groups:
        means = draw_means(chance, n, is_skewed=False) if of_means else None
        for place, (arm, share) in enumerate((("new", 0.5), ("old", 0.3))):
            tally.known["o", arm][group] = n
            if means:
                tally.moments.setdefault(("o", arm), {})[group] = means[place]
            else:
                tally.yes["o", arm][group] = count(chance, n, share)
    found = compare_groups(tally, OF_NUMBERS if of_means else EXPERIMENT, groups)
    return find(found["p"] if found else None)


def find_family(chance, n):
    """Whether any of ten comparisons on the same texts has a verdict by its adjusted P."""
    rates = chance.gamma(0.7, 1.5, n)
    compared = compare_family([Paired(chance.poisson(rates) - chance.poisson(rates)) for _ in range(10)])
    found = [find(each.p_adjusted) for each in compared]
    return None if None in found else any(found)


def draw_blocks(chance, n, targets):
    """Models whose targets have the same chance of a high score; scores have two decimals, and ties."""
    scores = (chance.poisson(100, (n, targets)) / 100 + chance.random((n, 1)).round(2)).round(2)
    return {
        str(block): {str(target): float(score) for target, score in enumerate(row)} for block, row in enumerate(scores)
    }


def name_targets(targets):
    return list(map(str, range(targets)))


def rank(chance, n, targets):
    return rank_blocks(draw_blocks(chance, n, targets), name_targets(targets))


def find_friedman(chance, n, *, targets, key):
    with mock.patch.object(ranks, "TOO_FEW_BLOCKS", 0):
        return find(ranks.compare_targets(draw_blocks(chance, n, targets), name_targets(targets), task="any")[key])


def find_nemenyi(chance, n, *, targets):
    return any(pair["p"] < 0.05 for pair in compare_nemenyi(rank(chance, n, targets), task="any")["pairs"])


def find_conover(chance, n, *, targets):
    return any(pair["p_adjusted"] < 0.05 for pair in compare_conover(rank(chance, n, targets), task="any")["pairs"])


COVERAGE = (
    Row(
        "share of .2: Wilson",
        lambda chance, n: contain(wilson_interval(count(chance, n, 0.2), n), 0.2),
        3,
        0.89,
    ),
    Row("any share: Wilson", cover_any_share, 3, 0.94),
    Row("difference of two shares, .3 and .3: Newcombe", partial(cover_difference, share=0.3, other=0.3), 3, 0.93),
    Row("difference of two shares, .5 and .2: Newcombe", partial(cover_difference, share=0.5, other=0.2), 3, 0.92),
    Row(
        "difference on the same cases: Newcombe, paired",
        lambda chance, n: contain(paired_difference_interval(*draw_paired(chance, n, 0.7)), 0.15),
        10,
        0.93,
    ),
    Row(
        "largest difference of four groups on the same cases, at 1 - .05/6: Newcombe, paired",
        cover_gap,
        10,
        0.93,
        1_000,
    ),
    Row("ratio on the same cases: delta method", partial(cover_ratio, most=1), 3, 0.93),
    Row("ratio, cases played 1 to 3 times: delta method", partial(cover_ratio, most=3), 3, 0.88),
    Row(
        "difference on the same texts: Student, paired",
        lambda chance, n: contain(compare_texts(chance, n).interval, 0),
        3,
        0.935,
    ),
    Row(
        "difference over cases of 1 to 7 questions: Student, paired",
        lambda chance, n: contain(compare_cases(chance, n, is_uneven=False).interval, 0),
        3,
        0.85,
    ),
    Row(
        "difference over cases, one of 40 questions and the others of 3: Student, paired",
        lambda chance, n: contain(compare_cases(chance, n, is_uneven=True).interval, 0),
        3,
        0.5,
    ),
    *(
        Row(
            f"share of .{share} over clusters that correlate by .{each}: Wilson, Student’s t",
            partial(cover_clusters, correlation=each / 10, share=share / 10),
            3,
            0.925,
            1_000,
        )
        for share in (2, 5)
        for each in (1, 4)
    ),
    *(
        Row(
            f"share of .5 over clusters that correlate by .{each}: bootstrap, {name}",
            partial(bootstrap_share, correlation=each / 10, is_expanded=is_expanded),
            10,
            0.92 if is_expanded else 0.9,
            1_000,
        )
        for is_expanded, name in ((True, "expanded percentile"), (False, "2.5 and 97.5 %"))
        for each in (1, 4)
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
    Row(
        "kappa of one pair, turns of 1 to 7 sentences: by formula",
        partial(cover_kappa, sentences=(1, 7)),
        10,
        0.9,
        1_000,
    ),
    Row(
        "kappa of one pair, turns of 10 to 30 sentences: by formula",
        partial(cover_kappa, sentences=(10, 30)),
        10,
        0.85,
        1_000,
    ),
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
    Row(
        "bounds of missing outcomes, the true difference within: Newcombe",
        lambda chance, n: contain(draw_bounds(chance, n, missing=(0.3, 0.1)), 0.2),
        3,
        0.95,
        1_000,
    ),
    Row("bounds of missing outcomes, both true bounds within: Newcombe", cover_bounds, 3, 0.8, 1_000),
    Row(
        "bounds where nothing is missing, the true difference within: Newcombe",
        lambda chance, n: contain(draw_bounds(chance, n, missing=(0, 0)), 0.2),
        3,
        0.92,
        1_000,
    ),
    Row(
        "bounds of missing numbers, the true difference within: Welch",
        partial(cover_bounds_of_means, is_within=True),
        3,
        0.95,
        1_000,
    ),
    Row(
        "bounds of missing numbers, both true bounds within: Welch",
        partial(cover_bounds_of_means, is_within=False),
        3,
        0.8,
        1_000,
    ),
    Row("corrected score of an audit: Student, linearised", cover_audit, 3, 0.93),
    Row("corrected rate: linearised over turns", cover_corrected, 30, 0.92, 1_000),
)

ERRORS = (
    Row("two shares of .3: Fisher", find_fisher, 3, 0.05),
    *(
        Row(f"two shares of .{share}: Pearson or Fisher", partial(find_chosen, share=share / 10), 10, 0.06)
        for share in (1, 3, 5)
    ),
    Row("two shares on the same cases: McNemar, exact", find_mcnemar, 3, 0.05),
    Row("pairs of threads, scores: sign test", find_signs, 3, 0.05),
    Row("retention, cases played 1 to 3 times: tossed signs", partial(find_retention, most=3), 10, 0.06, 1_000),
    Row("two on the same texts: tossed signs", lambda chance, n: find(compare_texts(chance, n).p), 10, 0.065),
    Row(
        "two over cases of 1 to 7 questions: tossed signs",
        lambda chance, n: find(compare_cases(chance, n, is_uneven=False).p),
        10,
        0.065,
    ),
    Row(
        "two over cases, one of 40 questions and the others of 3: tossed signs",
        lambda chance, n: find(compare_cases(chance, n, is_uneven=True).p),
        10,
        0.065,
    ),
    Row("assignment to two arms: chi-square", find_allocation, 3, 0.07),
    Row("two means: Welch, normal", partial(find_welch, is_skewed=False), 3, 0.07),
    Row("two means: Welch, log-normal", partial(find_welch, is_skewed=True), 3, 0.1),
    Row("effects of five groups, shares: Cochran’s Q", partial(find_groups, of_means=False), 10, 0.06),
    Row("effects of five groups, means: Welch’s F", partial(find_groups, of_means=True), 10, 0.06),
    Row("any of ten comparisons on the same texts: tossed signs, Holm", find_family, 10, 0.055),
    Row("difference of arms, influence: drawn again", find_arms, 3, 0.065, 1_000),
    Row("the same by sentences: Pearson", find_by_sentence, 3, 1),
    *(
        Row(
            f"stars of four moves, {habits}: {name}",
            partial(find_star, has_habits=habits != "steps independent", is_by_residual=name != "t over threads"),
            10,
            bound,
            400,
        )
        for habits, name, bound in (
            ("steps independent", "t over threads", 0.09),
            ("steps independent", "the residual", 0.09),
            ("each thread has habits", "t over threads", 0.15),
            ("each thread has habits", "the residual", 1),
        )
    ),
)

RANKS = tuple(
    Row(name, partial(draw, **settings), 6, bound, samples, RANK_SIZES)
    for targets in (10, 3)
    for name, draw, settings, bound, samples in (
        (f"{targets} targets: Friedman’s chi-square", find_friedman, {"targets": targets, "key": "p"}, 0.06, 1_000),
        (
            f"{targets} targets: Iman and Davenport’s F",
            find_friedman,
            {"targets": targets, "key": "iman_davenport_p"},
            0.07,
            1_000,
        ),
        (f"any two of {targets} targets: Nemenyi", find_nemenyi, {"targets": targets}, 0.06, 500),
        (f"any two of {targets} targets: Conover, Holm", find_conover, {"targets": targets}, 0.06, 1_000),
    )
)


def simulate(row):
    """By size, the share of samples, of those with an interval or a P; None where fewer than half of the samples have one."""
    shares = []
    for n in row.sizes:
        chance = np.random.default_rng(n)
        found = [each for _ in range(row.samples) if (each := row.draw(chance, n)) is not None]
        shares.append(sum(found) / len(found) if 2 * len(found) >= row.samples else None)
    return shares


def write_line(row, shares):
    cells = ("–" if share is None else f"{100 * share:.1f} %" for share in shares)
    return f"| {row.name} | {' | '.join(cells)} |"


@pytest.mark.full
@pytest.mark.parametrize("row", [*COVERAGE, *ERRORS, *RANKS], ids=lambda row: row.name)
def test_the_table_of_the_method_has_what_is_simulated_and_no_bad_figure_is_given(row):
    shares = simulate(row)
    given = [share for size, share in zip(row.sizes, shares, strict=True) if size >= row.least and share is not None]
    assert given
    assert min(given) >= row.bound if row in COVERAGE else max(given) <= row.bound
    assert write_line(row, shares) in METHOD.read_text(encoding="utf-8")
