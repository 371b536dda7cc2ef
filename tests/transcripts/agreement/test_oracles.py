"""Against other people's programs, where they are installed: statsmodels, scikit-learn, krippendorff."""

import warnings
from importlib import import_module

import numpy as np
import pytest

from tests.transcripts.agreement.cast import count_raters
from transcripts.agreement.pure.measuring import LabelTable, measure_agreement
from transcripts.statistics.coefficients import (
    Level,
    count_coincidences,
    count_pairs,
    measure_alpha,
    measure_fleiss_kappa,
    measure_kappa_error,
)


@pytest.fixture
def chance():
    return np.random.default_rng(11)


def load(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(name)


def make_random_table(chance, coders, *, share_decided=1.0):
    truth = chance.random(200) < 0.2
    labels = truth ^ (chance.random((coders, 200)) < 0.1)
    decided = chance.random((coders, 200)) < share_decided
    names = tuple(f"coder {number}" for number in range(coders))
    return LabelTable(names, ("balance",), (labels & decided)[None], decided, np.arange(200))


def measure(table):
    [code] = measure_agreement(table, seed=1, resamples=0).codes
    return code


@pytest.mark.parametrize("number", range(5))
def test_kappa_and_its_error_are_those_of_statsmodels(number):
    rater = load("statsmodels.stats.inter_rater")
    code = measure(make_random_table(np.random.default_rng(number), 2))
    assert code.counts is not None
    both, only_a, only_b, neither = code.counts.values()
    expected = rater.cohens_kappa([[both, only_a], [only_b, neither]])
    found = code.kappa_error
    assert code.kappa.value == pytest.approx(expected.kappa)
    assert found.value == pytest.approx(expected.std_kappa)
    assert found.interval == pytest.approx((expected.kappa_low, expected.kappa_upp))


def test_kappa_and_jaccard_are_those_of_scikit_learn(chance):
    metrics = load("sklearn.metrics")
    labels = chance.random((3, 2, 50)) < 0.3
    table = LabelTable(("a", "b"), ("x", "y", "z"), labels, np.ones((2, 50), dtype=bool), np.arange(50))
    agreement = measure_agreement(table, seed=1, resamples=0)
    for code, (a, b) in zip(agreement.codes, labels, strict=True):
        assert code.kappa.value == pytest.approx(metrics.cohen_kappa_score(a, b))
        assert code.positive_agreement.value == pytest.approx(metrics.f1_score(a, b))
    ours = agreement.mean_jaccard.value
    sets_a, sets_b = labels[:, 0].T, labels[:, 1].T
    assert ours == pytest.approx(metrics.jaccard_score(sets_a, sets_b, average="samples", zero_division=1.0))
    assert agreement.exact_match.value == pytest.approx(metrics.accuracy_score(sets_a, sets_b))


@pytest.mark.parametrize("categories", [2, 5])
def test_fleiss_kappa_is_that_of_statsmodels(categories, chance):
    rater = load("statsmodels.stats.inter_rater")
    table = chance.multinomial(6, [1 / categories] * categories, size=40)
    assert float(measure_fleiss_kappa(*count_raters(table))) == pytest.approx(rater.fleiss_kappa(table))


def test_fleiss_kappa_of_codes_is_that_of_statsmodels(chance):
    rater = load("statsmodels.stats.inter_rater")
    table = make_random_table(chance, 4)
    yes = table.labels[0].sum(axis=0)
    assert measure(table).fleiss.value == pytest.approx(rater.fleiss_kappa(np.stack([4 - yes, yes], axis=1)))


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("coders", [2, 3, 7])
def test_alpha_is_that_of_krippendorff(level, coders, chance):
    krippendorff = load("krippendorff")
    ratings = chance.integers(0, 6, (coders, 60)).astype(float)
    ratings[:, 0] = 0
    ratings[chance.random(ratings.shape) < 0.3] = np.nan
    ours = float(measure_alpha(count_coincidences(ratings), level)[0])
    assert ours == pytest.approx(krippendorff.alpha(ratings, level_of_measurement=level))


@pytest.mark.parametrize("coders", [2, 5])
def test_alpha_of_codes_with_gaps_is_that_of_krippendorff(coders, chance):
    krippendorff = load("krippendorff")
    table = make_random_table(chance, coders, share_decided=0.7)
    ratings = np.where(table.decided, table.labels[0].astype(float), np.nan)
    expected = krippendorff.alpha(ratings, level_of_measurement="nominal")
    assert measure(table).alpha.value == pytest.approx(expected)


def test_error_of_kappa_of_the_textbook_table_is_that_of_statsmodels():
    rater = load("statsmodels.stats.inter_rater")
    expected = rater.cohens_kappa([[20, 5], [10, 15]])
    assert float(measure_kappa_error(count_pairs(20, 5, 10, 15))) == pytest.approx(expected.std_kappa)
