import itertools

import numpy as np
import pytest
from scipy import stats

from tests.transcripts.agreement.cast import make_table
from transcripts.agreement.pure.measuring import measure_agreement
from transcripts.statistics.figures import Reason
from transcripts.statistics.resampling import (
    Resamples,
    draw_resamples,
    draw_sums,
    find_levels,
    find_percentiles,
    open_stream,
    sum_all_resamples,
    sum_draws,
)


def measure_code(table, *, seed=1, resamples=500):
    [code] = measure_agreement(table, seed=seed, resamples=resamples).codes
    return code


def make_repeating_table(*, by_turn):
    """Thirty turns of eight sentences; the sentences of a turn are all labelled alike."""
    chance = np.random.default_rng(5)
    truth = chance.random(30) < 0.4
    other = truth ^ (chance.random(30) < 0.2)
    rows = [list(np.repeat(each, 8).astype(int)) for each in (truth, other)]
    return make_table(rows, clusters=list(np.arange(240) // 8) if by_turn else None)


def get_width(interval):
    assert interval is not None
    return interval.high - interval.low


def test_drawing_turns_gives_a_wider_interval_where_sentences_of_a_turn_repeat_each_other():
    turns, sentences = (measure_code(make_repeating_table(by_turn=by_turn)) for by_turn in (True, False))
    for name in ("raw", "kappa", "positive_agreement", "alpha", "fleiss"):
        wide, narrow = getattr(turns, name), getattr(sentences, name)
        assert wide.value == narrow.value
        # Eight sentences that say the same are worth one: about the square root of eight.
        assert 2 < get_width(wide.interval) / get_width(narrow.interval) < 4


def test_same_seed_gives_the_same_intervals_and_another_seed_others():
    table = make_repeating_table(by_turn=True)
    assert measure_code(table, seed=7) == measure_code(table, seed=7)
    assert measure_code(table, seed=7).kappa.interval != measure_code(table, seed=8).kappa.interval


def test_seed_and_resamples_are_given_back():
    agreement = measure_agreement(make_repeating_table(by_turn=True), seed=7, resamples=20)
    assert (agreement.seed, agreement.resamples, agreement.n_clusters) == (7, 20, 30)


def test_interval_of_raw_agreement_is_that_of_the_binomial():
    # 200 independent units, 80 % alike: 0.8 +- 1.96 sqrt(0.8 x 0.2 / 200).
    rows = [[1, 0] * 100, [0, 1] * 20 + [1, 0] * 80]
    interval = measure_code(make_table(rows), resamples=4000).raw.interval
    assert interval is not None
    assert interval.low == pytest.approx(0.8 - 0.0554, abs=0.01)
    assert interval.high == pytest.approx(0.8 + 0.0554, abs=0.01)


def test_figures_of_a_resample_are_those_of_the_drawn_turns():
    tallies = np.array([[3, 0, 2], [1, 0, 5]])
    drawn = Resamples(np.array([[2, 0], [1, 0], [0, 3]], dtype=np.uint8))
    assert sum_draws(tallies, drawn) == pytest.approx(np.array([[6, 6], [2, 15]]))


def test_every_draw_has_as_many_clusters_as_there_are():
    drawn = draw_resamples(17, resamples=50, seed=0)
    assert drawn.weights is not None
    assert drawn.weights.shape == (17, 50)
    assert set(drawn.weights.sum(axis=0)) == {17}


def test_few_turns_are_not_drawn_from():
    code = measure_code(make_table([[1, 0, 1, 0], [1, 0, 0, 0]], clusters=[3, 3, 3, 3]))
    assert code.kappa.value == 0.5
    assert (code.kappa.interval, code.kappa.no_interval) == (None, Reason.FEW_DRAWN)


def test_without_resamples_there_are_no_intervals():
    code = measure_code(make_table([[1, 0, 1, 0], [1, 0, 0, 0]]), resamples=0)
    assert (code.raw.interval, code.raw.no_interval) == (None, Reason.NOT_DRAWN)


def test_code_in_one_turn_is_too_rare_for_an_interval_of_kappa():
    code = measure_code(make_table([[1] + [0] * 39, [1] + [0] * 39]))
    assert code.kappa.value == 1.0
    assert (code.kappa.interval, code.kappa.no_interval) == (None, Reason.OFTEN_UNDEFINED)


def test_perfect_agreement_has_no_interval_of_width_zero():
    code = measure_code(make_table([[1, 0] * 20, [1, 0] * 20]))
    assert (code.kappa.interval, code.kappa.no_interval) == (None, Reason.DRAWS_ALIKE)
    assert code.prevalence.interval is not None


def test_mean_over_pairs_has_an_interval_where_one_pair_never_defines_it():
    # ben and cem never used the code; the pairs with anna have kappa 0 in every draw, raw agreement varies.
    code = measure_code(make_table([[1, 0] * 20, [0] * 40, [0] * 40]))
    assert (code.mean_kappa.value, code.mean_kappa.pairs) == (0.0, 2)
    assert code.mean_kappa.no_interval == Reason.DRAWS_ALIKE
    assert code.raw.interval is not None


def test_turn_without_a_shared_sentence_is_not_drawn():
    table = make_table([[1, 0, 1, 0, None], [1, 1, 0, None, 1]], clusters=[0, 0, 1, 2, 3])
    agreement = measure_agreement(table, seed=1, resamples=10)
    assert (agreement.n_clusters, agreement.n_shared, agreement.n_units) == (2, 3, 5)


def test_clusters_need_not_lie_together():
    chance = np.random.default_rng(2)
    rows = [list(map(int, chance.random(60) < 0.5)) for _ in range(2)]
    turns = list(map(int, chance.integers(0, 9, 60)))
    order = np.argsort(turns, kind="stable")
    sorted_rows = [[row[place] for place in order] for row in rows]
    apart = measure_code(make_table(rows, clusters=turns))
    together = measure_code(make_table(sorted_rows, clusters=sorted(turns)))
    assert apart == together


@pytest.mark.parametrize(("seed", "resamples"), [(-1, 10), (1, -1), (1, 10_001)])
def test_seed_and_number_of_resamples_that_cannot_be_used_are_refused(seed, resamples):
    with pytest.raises(ValueError, match=r"seed is -1|resamples were asked for"):
        measure_agreement(make_table([[1, 0], [1, 1]]), seed=seed, resamples=resamples)


def test_interval_over_all_resamples_is_that_of_every_possible_draw():
    values = [0, 1, 1, 4, -2]
    sums = sorted(sum(drawn) for drawn in itertools.product(values, repeat=len(values)))
    low, high = (sums[int(np.ceil(share * len(sums))) - 1] for share in find_levels(len(values)))
    assert sum_all_resamples(np.array(values)) == (low, high)


@pytest.mark.parametrize("values", [[5, 5, 5], [0, 0]])
def test_interval_of_equal_texts_has_no_width(values):
    assert sum_all_resamples(np.array(values)) == (sum(values), sum(values))


def test_drawn_interval_comes_to_that_over_all_resamples():
    values = np.array([0, 0, 0, 1, 2, 3, 10] * 60)
    drawn = draw_sums(values[None, :], resamples=50_000, generator=open_stream(1, "any"))[0]
    exact = sum_all_resamples(values)
    assert exact is not None
    assert find_percentiles(drawn, len(values)) == pytest.approx(exact, abs=4)
    assert drawn.mean() == pytest.approx(values.sum(), abs=3)


def test_sums_far_from_nothing_keep_their_place():
    near = sum_all_resamples(np.array([0, 1, 2] * 100))
    shifted = sum_all_resamples(np.array([7, 8, 9] * 100))
    assert near is not None
    assert shifted == (near.low + 2100, near.high + 2100)
    many = np.array([0] * 10 + [1] * 900)
    drawn = draw_sums(many[None, :], resamples=20_000, generator=open_stream(1, "any"))[0]
    assert sum_all_resamples(many) == pytest.approx(find_percentiles(drawn, len(many)), abs=1)


def test_draws_keep_what_belongs_to_one_text_together():
    values = np.array([[1, 2, 2, 3], [10, 20, 20, 30], [-1, -2, -2, -3]])
    drawn = draw_sums(values, resamples=200, generator=open_stream(3, "any"))
    assert (drawn[1] == 10 * drawn[0]).all()
    assert (drawn[2] == -drawn[0]).all()


@pytest.mark.parametrize("clusters", [10, 20, 1_000])
def test_few_clusters_take_percentiles_farther_out_as_students_t_is_wider_than_the_normal(clusters):
    low, high = find_levels(clusters)
    reach = stats.t.ppf(0.975, clusters - 1) * (clusters / (clusters - 1)) ** 0.5
    assert (low, high) == pytest.approx((stats.norm.cdf(-reach), stats.norm.cdf(reach)))
    assert low < 0.025
    draws = np.random.default_rng(1).normal(size=777)
    assert find_percentiles(draws, clusters) == pytest.approx(tuple(np.quantile(draws, [low, high])))


def test_stream_is_the_same_on_every_machine():
    assert open_stream(42, "m", "t").integers(0, 10**6, 3).tolist() == [735829, 744440, 521677]
