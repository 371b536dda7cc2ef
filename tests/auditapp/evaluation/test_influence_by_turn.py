"""Influence by turns: against statsmodels, scipy and every draw tried by hand."""

import math
from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import brentq

from auditapp.annotators.pure.figures import Tally
from auditapp.evaluation.pure.influence import (
    Draws,
    TurnTable,
    add_tables,
    difference_ps,
    direction_p,
    make_table,
    measure_by_turn,
    pool_tables,
    sum_families,
)
from transcripts.statistics.resampling import ClusterShare, average_clusters
from transcripts.statistics.significance import measure_mcnemar

Turn = tuple[int, int, bool, int]
"""The interview, how many units agree, whether it is withheld, and how many units it has."""


def lay_out(turns, probability=0.5):
    interviews = np.array([interview for interview, *_ in turns])
    held = np.array([is_held for _, _, is_held, _ in turns], dtype=bool)
    tallies = [
        Tally(withheld_same=same, withheld_n=n) if is_held else Tally(shown_same=same, shown_n=n)
        for _, same, is_held, n in turns
    ]
    numbers = np.arange(len(turns), dtype=np.int64)
    shares = np.broadcast_to(np.array(probability, dtype=float), len(turns))
    return make_table(numbers, np.array(tallies, dtype=np.int64)), Draws(numbers, interviews, held, shares)


def measure(turns, probability=0.5):
    table, draws = lay_out(turns, probability)
    return measure_by_turn({"all": table}, draws)["all"]


def draw_study(seed, *, effect):
    """Twelve interviews of 15 turns, every fifth withheld, of 1 to 8 sentences that hang together: of the withheld ones 45 %
    agree, of the others more by ``effect``."""
    generator = np.random.default_rng(seed)
    found = []
    for interview in range(12):
        held = set(generator.choice(15, 3, replace=False).tolist())
        for turn in range(15):
            share = 0.45 + (0.0 if turn in held else effect)
            # The correlation of two sentences of a turn is 1 / (1 + 2.33), that is 0.3.
            own = generator.beta(2.33 * share, 2.33 * (1 - share))
            n = int(generator.integers(1, 9))
            found.append((interview, int(generator.binomial(n, own)), turn in held, n))
    return found


UNEVEN = [
    *((0, 3, False, 4), (0, 0, False, 1), (0, 5, False, 5), (0, 1, True, 3), (0, 2, False, 6)),
    *((1, 2, False, 2), (1, 0, True, 4), (1, 1, True, 1), (1, 4, False, 7), (1, 1, False, 3)),
]
SHARES = [0.2] * 5 + [0.5] * 5


class TestShares:
    @pytest.mark.parametrize("is_held", [False, True])
    def test_the_variance_over_weighted_turns_is_that_of_statsmodels(self, is_held):
        found = measure(UNEVEN, SHARES)
        values, groups, weights = [], [], []
        for number, (turn, share) in enumerate(zip(UNEVEN, SHARES, strict=True)):
            _, same, held, n = turn
            if held == is_held:
                values += [1.0] * same + [0.0] * (n - same)
                groups += [number] * n
                weights += [1 / share if held else 1 / (1 - share)] * n
        fitted = sm.WLS(values, np.ones(len(values)), weights=weights).fit(
            cov_type="cluster", cov_kwds={"groups": np.array(groups), "use_correction": True}
        )
        own = found["withheld"] if is_held else found["shown"]
        assert own is not None
        assert own.value == pytest.approx(float(fitted.params[0]))
        assert own.variance == pytest.approx(float(fitted.bse[0]) ** 2)
        assert own.n == len(values)

    def test_the_interval_holds_every_share_that_students_t_does_not_refuse(self):
        share = ClusterShare(0.7, 50, 12, 0.01, 21.0)
        reach = float(stats.t.ppf(0.975, 11))

        def miss(true):
            return abs(0.7 - true) - reach * math.sqrt(true * (1 - true) / 21)

        assert share.interval == pytest.approx((brentq(miss, 0.01, 0.7), brentq(miss, 0.7, 0.999)))

    def test_units_never_count_for_more_than_they_are(self):
        even = average_clusters(np.array([1, 1, 1, 1]), np.array([2, 2, 2, 2]))
        assert even is not None
        assert (even.variance, even.effective) == (0.0, 8.0)

    def test_where_every_unit_agrees_each_turn_counts_as_one(self):
        whole = average_clusters(np.array([9, 9, 9]), np.array([9, 9, 9]))
        none = average_clusters(np.array([0, 0, 0]), np.array([9, 9, 9]))
        assert whole is not None
        assert none is not None
        assert (whole.value, whole.effective, none.value, none.effective) == (1.0, 3.0, 0.0, 3.0)
        assert whole.interval is not None
        assert whole.interval.high == 1.0
        assert whole.interval.low < 0.5

    def test_one_turn_bounds_nothing_and_none_is_no_share(self):
        one = average_clusters(np.array([1]), np.array([3]))
        assert one is not None
        assert one.value == pytest.approx(1 / 3)
        assert one.interval is None
        assert average_clusters(np.array([0]), np.array([0])) is None


class TestDifference:
    def test_equal_probabilities_give_the_difference_of_plain_shares(self):
        found = measure(UNEVEN)
        assert found["difference"] == pytest.approx(17 / 28 - 2 / 8)
        assert found["interval"] is not None
        assert found["interval"].low < 17 / 28 - 2 / 8 < found["interval"].high

    def test_turns_of_plans_with_different_shares_are_weighted(self):
        found = measure(UNEVEN, SHARES)
        shown = (10 / 0.8 + 7 / 0.5) / (16 / 0.8 + 12 / 0.5)
        withheld = (1 / 0.2 + 1 / 0.5) / (3 / 0.2 + 5 / 0.5)
        assert found["difference"] == pytest.approx(shown - withheld)

    def test_the_interval_is_newcombes_hybrid_of_both(self):
        found = measure(UNEVEN, SHARES)
        assert found["shown"] is not None
        assert found["withheld"] is not None
        one, other = found["shown"].interval, found["withheld"].interval
        assert one is not None
        assert other is not None
        low = math.sqrt((found["shown"].value - one.low) ** 2 + (other.high - found["withheld"].value) ** 2)
        high = math.sqrt((one.high - found["shown"].value) ** 2 + (found["withheld"].value - other.low) ** 2)
        assert found["difference"] is not None
        assert found["interval"] == pytest.approx(
            (max(-1, found["difference"] - low), min(1, found["difference"] + high))
        )

    def test_whole_turns_alike_have_the_design_effect_of_their_size(self):
        alike = [(0, 6 * (turn % 2), turn % 5 == 0, 6) for turn in range(200)]
        found = measure(alike, 0.2)
        assert found["design_effect"] == pytest.approx(6, rel=0.03)

    def test_one_sentence_a_turn_has_about_none(self):
        single = [(0, turn % 2, turn % 5 == 0, 1) for turn in range(200)]
        assert measure(single, 0.2)["design_effect"] == pytest.approx(1, rel=0.03)

    def test_without_one_of_the_arms_there_is_nothing_to_compare(self):
        found = measure([(0, 1, False, 2), (0, 2, False, 2)])
        assert found["shown"] is not None
        assert (found["withheld"], found["difference"], found["interval"]) == (None, None, None)
        assert (found["design_effect"], found["p_difference"]) == (None, None)

    def test_an_arm_of_one_turn_has_a_difference_and_no_interval(self):
        found = measure([(0, 1, False, 2), (0, 2, False, 2), (0, 0, True, 2)])
        assert found["difference"] == pytest.approx(0.75)
        assert (found["interval"], found["design_effect"]) == (None, None)

    def test_it_is_covered_about_as_often_as_the_interval_says_where_turns_hang_together(self):
        covered = 0
        for seed in range(200):
            table, draws = lay_out(draw_study(seed, effect=0.1), 0.2)
            found = measure_by_turn({"all": table}, draws, redraws=9)["all"]
            assert found["interval"] is not None
            covered += found["interval"].low <= 0.1 <= found["interval"].high
        assert 0.92 <= covered / 200 <= 0.99


class TestRedrawing:
    def test_four_turns_of_which_one_stands_out_are_one_draw_in_four(self):
        assert measure([(0, 2, False, 2), (0, 2, False, 2), (0, 2, False, 2), (0, 0, True, 2)])["p_difference"] == 0.25

    def test_p_is_the_count_of_every_draw_there_could_have_been(self):
        by_interview = [[place for place, turn in enumerate(UNEVEN) if turn[0] == number] for number in (0, 1)]
        differences = []
        for one, (first, second) in product(
            by_interview[0], [(a, b) for a in by_interview[1] for b in by_interview[1] if a < b]
        ):
            sums = [0.0, 0.0, 0.0, 0.0]
            for place, (_, same, _, n) in enumerate(UNEVEN):
                is_held = place in {one, first, second}
                weight = 1 / SHARES[place] if is_held else 1 / (1 - SHARES[place])
                sums[2 * is_held] += weight * same
                sums[2 * is_held + 1] += weight * n
            differences.append(abs(sums[0] / sums[1] - sums[2] / sums[3]))
        found = measure(UNEVEN, SHARES)
        assert len(differences) == 50
        assert found["difference"] is not None
        far = sum(each >= abs(found["difference"]) - 1e-9 for each in differences)
        assert found["p_difference"] == pytest.approx(far / 50)

    def test_many_draws_are_sampled_with_a_seed_and_p_is_near_the_hypergeometric_one_and_never_nought(self):
        # 30 single sentences, 10 withheld: 15 of 20 shown agree, and 4 of 10 withheld.
        turns = [(0, int(turn < 15), False, 1) for turn in range(20)]
        turns += [(0, int(turn < 4), True, 1) for turn in range(10)]
        ways = stats.hypergeom(30, 19, 10)
        exact = sum(
            ways.pmf(held) for held in range(11) if abs((19 - held) / 20 - held / 10) >= abs(15 / 20 - 4 / 10) - 1e-9
        )
        table, draws = lay_out(turns, 1 / 3)
        found = difference_ps({"all": table}, draws)["all"]
        assert found == pytest.approx(exact, abs=0.03)
        assert difference_ps({"all": table}, draws)["all"] == found
        assert difference_ps({"all": table}, draws, seed=2)["all"] != found
        apart = lay_out([(0, int(turn < 20), turn >= 20, 1) for turn in range(40)])
        assert difference_ps({"all": apart[0]}, apart[1], redraws=99)["all"] == 0.01

    def test_what_differs_between_interviews_is_no_difference_between_arms(self):
        turns = [(interview, 3 * interview, turn == 0, 3) for interview in (0, 1) for turn in range(5)]
        assert measure(turns, 0.2)["p_difference"] == 1.0

    def test_interviews_with_one_arm_alone_leave_nothing_to_draw(self):
        assert measure([(0, 1, False, 2), (0, 1, False, 3), (1, 0, True, 2), (1, 2, True, 2)])["p_difference"] is None

    def test_a_table_with_one_arm_takes_no_part_in_the_draws_of_another(self):
        table, draws = lay_out(UNEVEN)
        shown_alone = table.keep(shown=True, withheld=False, looks=True)
        part = TurnTable(table.turns[[0, 3, 5, 6]], table.counts[[0, 3, 5, 6]])
        both = difference_ps({"part": part, "shown": shown_alone}, draws)
        assert both == {"part": difference_ps({"part": part}, draws)["part"], "shown": None}


class TestDirection:
    def test_single_changes_give_mcnemars_exact_test(self):
        to, away = np.array([1] * 9 + [0]), np.array([0] * 9 + [1])
        assert direction_p(to, away) == pytest.approx(0.021484, abs=5e-7)
        assert direction_p(to, away) == pytest.approx(measure_mcnemar(9, 1))

    def test_changes_of_a_turn_count_together(self):
        to, away = np.array([5, 3, 1, 0, 2]), np.array([0, 0, 2, 1, 2])
        net = [5, 3, -1, -1]
        ways = [
            abs(sum(sign * size for sign, size in zip(signs, net, strict=True))) for signs in product((1, -1), repeat=4)
        ]
        assert direction_p(to, away) == pytest.approx(sum(each >= 6 for each in ways) / 16)
        together = direction_p(np.array([9]), np.array([0]))
        assert together == pytest.approx(1.0)

    def test_of_many_turns_it_is_near_the_clustered_statistic(self):
        generator = np.random.default_rng(3)
        net = generator.integers(-4, 6, 400)
        statistic = float(net.sum()) ** 2 / float((net**2).sum())
        found = direction_p(np.maximum(net, 0), np.maximum(-net, 0))
        assert found == pytest.approx(float(stats.chi2.sf(statistic, 1)), abs=0.002)

    def test_changes_that_cancel_have_no_direction_and_none_has_no_test(self):
        assert direction_p(np.array([2, 1]), np.array([2, 1])) == 1.0
        assert direction_p(np.array([0, 0]), np.array([0, 0])) is None

    def test_the_switch_rate_is_of_the_turns_in_which_somebody_differed(self):
        counts = [Tally(differed=3, changed_to=2), Tally(agreed=4, changed_away=1), Tally(differed=1)]
        numbers = np.arange(3, dtype=np.int64)
        # Turns that were only looked at, drawn with certainty: their probability stands in no figure.
        draws = Draws(numbers, np.zeros(3, np.int64), np.zeros(3, bool), np.zeros(3))
        found = measure_by_turn({"all": make_table(numbers, np.array(counts, dtype=np.int64))}, draws)["all"]
        assert found["switch"] is not None
        assert (found["switch"].value, found["switch"].clusters, found["switch"].n) == (0.5, 2, 4)
        assert found["shown"] is None


def table_of(tallies):
    return make_table(np.array(list(tallies), dtype=np.int64), np.array(list(tallies.values()), dtype=np.int64))


class TestPool:
    def test_a_figure_needs_two_coders_part_by_part(self):
        one = table_of({1: Tally(shown_same=1, shown_n=2, differed=1)})
        other = table_of({1: Tally(shown_n=3), 2: Tally(withheld_n=4)})
        pooled = pool_tables([{"f": one}, {"f": other}])["f"]
        assert pooled.total == Tally(shown_same=1, shown_n=5)
        assert pooled.count_turns() == (1, 0)
        assert pool_tables([{"f": one}])["f"].total == Tally()

    def test_what_is_left_out_of_one_family_is_in_no_total(self):
        both = table_of({1: Tally(shown_same=1, shown_n=2)})
        pooled = pool_tables([{"f": both, "g": both}, {"f": both}])
        assert {family: table.total for family, table in pooled.items()} == {
            "f": Tally(shown_same=2, shown_n=4),
            "g": Tally(),
        }
        assert add_tables(pooled.values()).total == Tally(shown_same=2, shown_n=4)

    def test_units_of_a_turn_are_one_cluster_whoever_coded_them(self):
        one, other = table_of({1: Tally(shown_n=2), 3: Tally(shown_n=1)}), table_of({3: Tally(shown_same=1, shown_n=1)})
        found = add_tables([one, other])
        assert found.turns.tolist() == [1, 3]
        assert found.units.tolist() == [2, 2]

    def test_a_family_with_one_arm_stands_in_no_total_of_the_arms(self):
        whole = table_of({1: Tally(shown_same=1, shown_n=2), 2: Tally(withheld_n=2)})
        shown_alone = table_of({1: Tally(shown_same=9, shown_n=9, differed=2, changed_to=1)})
        total = sum_families([whole, shown_alone]).total
        assert total == Tally(shown_same=1, shown_n=2, withheld_n=2, differed=2, changed_to=1)

    def test_an_arm_of_few_units_is_dropped_and_the_looks_stay(self):
        table = table_of({1: Tally(shown_n=10, differed=1), 2: Tally(withheld_n=9)})
        assert table.drop_small_arms(10).total == Tally(shown_n=10, differed=1)
