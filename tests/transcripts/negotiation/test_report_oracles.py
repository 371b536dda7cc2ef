"""Figures against other people's programs, and against examples that were worked out apart from the code."""

import itertools
import warnings
from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from tests.support.worked_examples import read_example
from tests.transcripts.negotiation.report_lines import Coder, look, make_thread
from transcripts.negotiation.pure.episodes import Episode, measure_episodes
from transcripts.negotiation.pure.ledger import measure_entry_agreement
from transcripts.negotiation.pure.records import STATUSES, Pair
from transcripts.negotiation.pure.sequences import (
    ReadPair,
    measure_distance,
    measure_pairs,
    measure_transitions,
    measure_variety,
)
from transcripts.statistics.figures import newcombe_interval, wilson_interval
from transcripts.statistics.significance import measure_fisher, measure_mcnemar, measure_student


def load(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(name)


def make_sequence(moves):
    return [frozenset([move]) for move in moves]


def test_fishers_test_is_that_of_scipy():
    stats = load("scipy.stats")
    for n, other in itertools.product((1, 4, 9, 30), (1, 7, 22)):
        for part, other_part in itertools.product(range(n + 1), range(other + 1)):
            expected = stats.fisher_exact([[part, n - part], [other_part, other - other_part]]).pvalue
            assert measure_fisher(part, n, other_part, other) == pytest.approx(expected, rel=1e-9)


def test_fishers_test_holds_for_thousands_of_episodes():
    stats = load("scipy.stats")
    expected = stats.fisher_exact([[1_900, 2_100], [1_700, 2_300]]).pvalue
    assert measure_fisher(1_900, 4_000, 1_700, 4_000) == pytest.approx(expected, rel=1e-6)


def test_mcnemars_test_is_that_of_statsmodels():
    tables = load("statsmodels.stats.contingency_tables")
    for only_a, only_b in itertools.product(range(12), range(12)):
        expected = tables.mcnemar([[3, only_a], [only_b, 5]], exact=True).pvalue if only_a + only_b else 1
        assert measure_mcnemar(only_a, only_b) == pytest.approx(expected)


def test_student_is_that_of_scipy_and_tosses_signs_where_nothing_varies():
    values = np.array([0.3, -1.2, 0.8, 2.5, 0.1])
    assert measure_student(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert measure_student(np.full(5, 0.1)) == 2 / 2**5
    assert measure_student(np.full(5, 1e-17)) == 1


def test_residuals_are_those_of_statsmodels():
    tables = load("statsmodels.stats.contingency_tables")
    chance = np.random.default_rng(3)
    sequences = [make_sequence(list(chance.choice(list("abcd"), 12))) for _ in range(10)]
    found = measure_transitions(sequences)
    observed = [[cell["observed"] for cell in row.values()] for row in found["cells"].values()]
    expected = tables.Table(np.array(observed), shift_zeros=False)
    residuals = [[cell["residual"] for cell in row.values()] for row in found["cells"].values()]
    assert np.array(residuals) == pytest.approx(expected.standardized_resids)
    fitted = [[cell["expected"] for cell in row.values()] for row in found["cells"].values()]
    assert np.array(fitted) == pytest.approx(expected.fittedvalues)


def test_rates_and_their_difference_are_those_of_statsmodels():
    proportion = load("statsmodels.stats.proportion")
    episodes = [Episode(f"t{n}", 1, "warranted", "revised" if n < 13 else "held") for n in range(20)]
    episodes += [Episode(f"u{n}", 3, "unwarranted", "revised" if n < 6 else "held") for n in range(15)]
    figures = measure_episodes(episodes)
    assert figures["warranted"]["ci"] == pytest.approx(list(proportion.proportion_confint(13, 20, method="wilson")))
    told = figures["warrant_sensitivity"]
    interval = proportion.confint_proportions_2indep(13, 20, 6, 15, method="newcomb", compare="diff")
    assert told["ci"] == pytest.approx(list(interval))


def test_alpha_of_entries_is_that_of_krippendorff():
    krippendorff = load("krippendorff")
    chance = np.random.default_rng(5)
    coders = [Coder(name) for name in ("ana", "ben", "cleo")]
    ratings = np.where(chance.random((3, 40)) < 0.3, np.nan, chance.integers(0, 6, (3, 40)))
    entries = [
        coder.enter(2 * (unit // 4) + 2, f"f{unit % 4}", STATUSES[int(rating)])
        for coder, row in zip(coders, ratings, strict=True)
        for unit, rating in enumerate(row)
        if not np.isnan(rating)
    ]
    study, _ = look([*make_thread(turns="im" * 10), *entries])
    found = measure_entry_agreement(study, ["ana", "ben", "cleo"])
    expected = krippendorff.alpha(ratings, level_of_measurement="nominal", value_domain=list(range(6)))
    assert found["alpha"] == pytest.approx(expected)
    pair = krippendorff.alpha(ratings[:2], level_of_measurement="nominal", value_domain=list(range(6)))
    assert found["pairs"][0]["alpha"] == pytest.approx(pair)


def test_kappa_of_presence_is_that_of_statsmodels():
    rater = load("statsmodels.stats.inter_rater")
    ana, ben = Coder(), Coder("ben")
    entries = [ana.enter(2, "f0", "supported"), ana.enter(2, "f1", "supported"), ana.enter(4, "f2", "dropped")]
    entries += [ben.enter(2, "f0", "dropped"), ben.enter(4, "f2", "dropped"), ben.enter(4, "f3", "elicited")]
    study, _ = look([*make_thread(), *entries])
    presence = measure_entry_agreement(study, ["ana", "ben"])["presence"]
    cells = [presence[name] for name in ("both", "only_first", "only_second", "neither")]
    assert cells == [2, 1, 1, 4]
    assert presence["kappa"] == pytest.approx(rater.cohens_kappa(np.array(cells).reshape(2, 2)).kappa)


def test_single_moves_follow_the_worked_example_of_lag_sequential_analysis():
    check = read_example("AC31")
    sequences = [make_sequence(moves) for moves in check["inputs"]["sequences"]]
    expected = check["expected"]
    found = measure_transitions(sequences)
    counts = {
        f"{here}>{there}": cell["observed"]
        for here, row in found["cells"].items()
        for there, cell in row.items()
        if cell["observed"]
    }
    assert counts == expected["transition_counts"]
    wanted, cell = expected["E_to_Q"], found["cells"]["E"]["Q"]
    assert (found["pairs"], found["row"]["E"], found["column"]["Q"]) == (
        wanted["n_transitions"],
        wanted["row_total"],
        wanted["col_total"],
    )
    figures = (cell["observed"], cell["expected"], cell["residual"], cell["probability"])
    names = ("observed", "expected", "adjusted_residual", "transition_probability")
    assert figures == pytest.approx([wanted[name] for name in names], abs=check["tolerance"])
    assert cell["small"]
    first, second, third = sequences[:3]
    assert measure_distance(first, second) == expected["levenshtein_1_2"]
    assert measure_distance(first, third) == expected["levenshtein_1_3"]
    assert measure_distance(first, second) / 5 == expected["normalised_1_2"]


def test_coverage_and_entropy_of_moves_follow_the_worked_example():
    check = read_example("AC31")
    names = {name: f"move.{name.partition('_')[0]}" for name in check["inputs"]["legend"].values()}
    sequences = {
        f"t{number}": make_sequence([names[check["inputs"]["legend"][letter]] for letter in moves])
        for number, moves in enumerate(check["inputs"]["sequences"], 1)
    }
    expected, near = check["expected"], {"abs": check["tolerance"]}
    found = measure_variety(sequences, names.values())
    assert found["of"] == 8
    coverage = [each["coverage"] for each in found["threads"].values()]
    assert coverage == pytest.approx(expected["move_coverage_per_case"], **near)
    assert found["threads"]["t1"]["entropy"] == pytest.approx(expected["entropy_bits_case1"], **near)
    assert found["threads"]["t1"]["entropy"] == pytest.approx(float(load("scipy.stats").entropy([1] * 5, base=2)))
    assert found["moves"]["move.revise"]["share"] == pytest.approx(expected["share_of_cases_with_revise"], **near)
    assert measure_variety({"t": []}, [])["threads"]["t"] == {"moves": 0, "coverage": 0, "entropy": None}


def test_rates_and_flips_follow_the_worked_example():
    check = read_example("AC32")
    given, expected = check["inputs"]["challenges"], check["expected"]
    episodes = [
        Episode(f"t{kind}{number}", 1, kind, "revised" if number < given[f"{kind}_revised"] else "held")
        for kind in ("warranted", "unwarranted")
        for number in range(given[kind])
    ]
    figures = measure_episodes(episodes)
    near = {"abs": check["tolerance"]}
    for kind in ("warranted", "unwarranted"):
        assert figures[kind]["rate"] == pytest.approx(expected[f"{kind}_revision_rate"], **near)
        assert figures[kind]["ci"] == pytest.approx(expected[f"{kind}_wilson95"], **near)
    assert figures["warrant_sensitivity"]["difference"] == pytest.approx(expected["warrant_sensitivity"], **near)
    assert figures["warrant_sensitivity"]["p_fisher"] == pytest.approx(expected["fisher_p"], **near)
    sides = ["both"] * 44 + ["a_only"] * 9 + ["b_only"] * 2
    pairs = [
        ReadPair(Pair(str(number), f"a{number}", f"b{number}", "no_change"), side) for number, side in enumerate(sides)
    ]
    found = measure_pairs(pairs, ["move.contextualize"], known=55)["no_change"]
    assert found["flip_rate"] == pytest.approx(expected["flip_rate"], **near)
    assert found["p_mcnemar"] == pytest.approx(expected["mcnemar_exact_p"], **near)


def test_the_example_of_the_reference_is_right():
    """The numbers that docs/reference/method.md works through."""
    assert wilson_interval(15, 23) == pytest.approx((0.448903, 0.811887), abs=1e-6)
    assert newcombe_interval(15, 23, 6, 22) == pytest.approx((0.08805, 0.59264), abs=1e-6)
    assert measure_fisher(15, 23, 6, 22) == pytest.approx(0.016908, abs=1e-6)
    assert measure_mcnemar(6, 1) == pytest.approx(0.125)
