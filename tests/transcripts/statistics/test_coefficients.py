import numpy as np
import pytest

from tests.transcripts.agreement.cast import EXAMPLES, count_raters
from transcripts.statistics.coefficients import SetCounts as Sets
from transcripts.statistics.coefficients import (
    bound_kappa,
    count_pairs,
    measure_ac1,
    measure_binary_alpha,
    measure_exact_match,
    measure_fleiss_kappa,
    measure_jaccard,
    measure_jaccard_of_coded,
    measure_kappa,
    measure_kappa_error,
    measure_pabak,
    measure_positive_agreement,
    measure_prevalence,
    measure_prevalence_index,
    measure_raw_agreement,
)


def count_example(name):
    (both, only_a), (only_b, neither) = EXAMPLES[name]["table"]
    return count_pairs(both, only_a, only_b, neither)


def count_judgements(rows):
    """Of raters who all decided every unit."""
    table = np.array(rows, dtype=float)
    yes = table.sum(axis=0)
    differing = yes * (len(table) - yes) / (len(table) - 1)
    return np.asarray(float(table.size)), np.asarray(yes.sum()), np.asarray(differing.sum())


def test_worked_example_ac21_kappa_of_a_textbook_table_with_its_error_and_interval():
    expected, counts = EXAMPLES["two_coders"], count_example("two_coders")
    kappa, error = float(measure_kappa(counts)), float(measure_kappa_error(counts))
    assert float(measure_raw_agreement(counts)) == pytest.approx(expected["raw"])
    assert kappa == pytest.approx(expected["kappa"])
    assert error == pytest.approx(expected["se"], abs=1e-6)
    assert bound_kappa(kappa, error) == pytest.approx(tuple(expected["ci95"]), abs=1e-6)


def test_worked_example_ac22_a_rare_code_shows_the_paradox_of_kappa():
    expected, counts = EXAMPLES["rare_code"], count_example("rare_code")
    assert float(measure_raw_agreement(counts)) == pytest.approx(expected["raw"])
    assert float(measure_kappa(counts)) == pytest.approx(expected["kappa"], abs=1e-6)
    assert float(measure_pabak(counts)) == pytest.approx(expected["pabak"])
    assert float(measure_ac1(counts)) == pytest.approx(expected["ac1"], abs=1e-6)
    assert float(measure_prevalence_index(counts)) == pytest.approx(expected["prevalence_index"])


def test_worked_example_ac24_alpha_of_two_observers_with_yes_and_no():
    expected = EXAMPLES["two_observers_binary"]
    alpha = float(measure_binary_alpha(*count_judgements(expected["ratings"])))
    assert alpha == pytest.approx(expected["alpha"], abs=1e-6)


def test_worked_example_ac25_fleiss_kappa_of_fourteen_raters():
    expected = EXAMPLES["fourteen_raters"]
    assert float(measure_fleiss_kappa(*count_raters(expected["table"]))) == pytest.approx(expected["fleiss"], abs=1e-6)


def test_positive_agreement_and_prevalence_count_what_was_put():
    counts = count_pairs(1, 2, 1, 4)
    assert float(measure_positive_agreement(counts)) == pytest.approx(2 / 5)
    assert float(measure_prevalence(counts)) == pytest.approx(5 / 16)


def test_kappa_is_exactly_zero_when_one_coder_alone_used_the_code():
    assert float(measure_kappa(count_pairs(0, 0, 1, 7))) == 0.0
    assert float(measure_kappa(count_pairs(0, 3, 0, 50))) == 0.0
    assert float(measure_kappa(count_pairs(0, 9, 0, 0))) == 0.0


def test_kappa_of_minus_one_is_agreement_on_nothing():
    assert float(measure_kappa(count_pairs(0, 5, 5, 0))) == -1.0


@pytest.mark.parametrize("counts", [(0, 0, 0, 9), (9, 0, 0, 0), (0, 0, 0, 0)])
def test_kappa_is_not_defined_without_variation(counts):
    assert np.isnan(measure_kappa(count_pairs(*counts)))
    assert np.isnan(measure_kappa_error(count_pairs(*counts)))


def test_positive_agreement_is_not_defined_where_nobody_used_the_code():
    assert np.isnan(measure_positive_agreement(count_pairs(0, 0, 0, 9)))


def test_raw_agreement_pabak_and_ac1_need_no_variation_but_a_unit():
    unused, nothing = count_pairs(0, 0, 0, 9), count_pairs(0, 0, 0, 0)
    for measure in (measure_raw_agreement, measure_pabak, measure_ac1):
        assert float(measure(unused)) == 1.0
        assert np.isnan(measure(nothing))


@pytest.mark.parametrize("counts", [(3, 0, 0, 5), (0, 0, 1, 7), (0, 6, 0, 0)])
def test_error_of_zero_gives_no_interval(counts):
    table = count_pairs(*counts)
    error = float(measure_kappa_error(table))
    assert error == 0.0
    assert bound_kappa(float(measure_kappa(table)), error) is None


def test_interval_of_kappa_ends_at_one():
    table = count_pairs(9, 0, 1, 40)
    bounds = bound_kappa(float(measure_kappa(table)), float(measure_kappa_error(table)))
    assert bounds is not None
    assert bounds[1] == 1.0


def test_fleiss_kappa_of_two_raters_is_scotts_pi():
    # Scott's pi of 20/5/10/15: chance by the pooled rate 55/100.
    counts = count_raters([[2, 0]] * 20 + [[1, 1]] * 15 + [[0, 2]] * 15)
    chance = 0.55**2 + 0.45**2
    assert float(measure_fleiss_kappa(*counts)) == pytest.approx((0.7 - chance) / (1 - chance))


def test_fleiss_kappa_is_not_defined_for_one_category_or_no_unit():
    assert np.isnan(measure_fleiss_kappa(*count_raters([[3, 0], [3, 0]])))
    assert np.isnan(measure_fleiss_kappa(np.asarray(0.0), np.asarray(0.0), np.zeros(2)))


def test_sets_count_empty_pairs_as_equal_or_not_at_all():
    counts = Sets(*map(np.asarray, (8.0, 1.0, 4.0, 4.0)))
    assert float(measure_jaccard(counts)) == pytest.approx(0.625)
    assert float(measure_jaccard_of_coded(counts)) == pytest.approx(4 / 7)
    assert float(measure_exact_match(counts)) == 0.5
    assert np.isnan(measure_jaccard_of_coded(Sets(*map(np.asarray, (3.0, 3.0, 0.0, 3.0)))))


def test_arrays_give_arrays_of_the_same_shape():
    counts = count_pairs([[20, 0]], [[5, 0]], [[10, 0]], [[15, 9]])
    kappa = measure_kappa(counts)
    assert kappa.shape == (1, 2)
    assert kappa[0, 0] == pytest.approx(0.4)
    assert np.isnan(kappa[0, 1])
