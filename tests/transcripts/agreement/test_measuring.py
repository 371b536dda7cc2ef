import json
from itertools import combinations

import numpy as np
import pytest

from tests.transcripts.agreement.cast import EXAMPLES, make_sets_table, make_table
from transcripts.agreement.pure.figures import CELLS
from transcripts.agreement.pure.measuring import LabelTable, measure_agreement
from transcripts.statistics.figures import Mark, Reason

SEVERAL = EXAMPLES["several_codes"]


def measure(table, *, resamples=0):
    return measure_agreement(table, seed=1, resamples=resamples)


def measure_code(table):
    [code] = measure(table).codes
    return code


def list_counts(found):
    return list((found.counts or {}).values())


def test_worked_example_ac26_each_code_is_a_judgement_of_its_own():
    agreement = measure(make_sets_table({"anna": SEVERAL["anna"], "ben": SEVERAL["ben"]}))
    assert {code.code for code in agreement.codes} == set(SEVERAL["codes"])
    for code in agreement.codes:
        expected = SEVERAL["codes"][code.code]
        assert code.counts == {name: expected[name] for name in CELLS}
        assert code.kappa.value == pytest.approx(expected["kappa"], abs=1e-6)
        assert code.positive_agreement.value == pytest.approx(expected["positive_agreement"])
    assert agreement.mean_jaccard.value == pytest.approx(SEVERAL["mean_jaccard"])
    assert agreement.mean_jaccard_excluding_empty.value == pytest.approx(
        SEVERAL["mean_jaccard_excluding_empty"], abs=1e-6
    )
    assert agreement.exact_match.value == SEVERAL["exact_match"]


def test_only_units_that_both_decided_count():
    code = measure_code(make_table([[1, 1, 0, None, 0, 1], [1, 0, 0, 1, None, None]]))
    assert code.n_units == 3
    assert list_counts(code) == [1, 1, 0, 1]
    assert code.prevalence.value == pytest.approx(3 / 6)
    assert code.raw.value == pytest.approx(2 / 3)


def test_label_on_a_unit_that_its_coder_has_not_decided_does_not_count():
    table = make_table([[1, 0, 1], [1, 0, 1], [1, 0, 1]])
    table.decided[1, 2] = False
    code = measure_code(table)
    assert [list_counts(pair) for pair in code.pairs] == [[1, 0, 0, 1], [2, 0, 0, 1], [1, 0, 0, 1]]
    assert code.prevalence.value == pytest.approx(5 / 8)


def test_three_coders_have_means_over_pairs_and_no_cohens_kappa():
    rows = [[1, 1, 0, 0, 1], [1, 0, 0, 0, 1], [1, 1, 1, 0, None]]
    code = measure_code(make_table(rows))
    alone = [measure_code(make_table([rows[a], rows[b]])) for a, b in combinations(range(3), 2)]
    assert code.kappa.value is None
    assert code.kappa.reason == Reason.MORE_THAN_TWO
    assert code.counts is None
    kappas = [each.kappa.value for each in alone if each.kappa.value is not None]
    assert code.mean_kappa.value == pytest.approx(np.mean(kappas))
    assert code.mean_kappa.pairs == 3
    assert code.raw.value == pytest.approx(np.mean([each.raw.value for each in alone if each.raw.value is not None]))
    assert [(pair.a, pair.b, pair.n_units) for pair in code.pairs] == [
        ("anna", "ben", 5),
        ("anna", "cem", 4),
        ("ben", "cem", 4),
    ]
    assert [pair.counts for pair in code.pairs] == [each.counts for each in alone]


def test_mean_over_pairs_says_how_many_pairs_define_it():
    # ben and cem never used the code: their kappa is not defined, the other two are 0.
    code = measure_code(make_table([[1, 0, 0], [0, 0, 0], [0, 0, 0]]))
    assert (code.mean_kappa.value, code.mean_kappa.pairs) == (0.0, 2)
    assert (code.raw.pairs, len(code.pairs)) == (3, 3)


def test_pair_without_a_shared_unit_is_not_listed():
    code = measure_code(make_table([[1, 0, None, None], [1, 1, 0, 1], [None, None, 0, 1]]))
    assert [(pair.a, pair.b) for pair in code.pairs] == [("anna", "ben"), ("ben", "cem")]
    assert code.raw.pairs == 2


def test_fleiss_kappa_is_of_the_units_with_the_usual_number_of_raters():
    rows = [
        [1, 1, 0, 0, 1, 0],
        [1, 0, 0, 0, 1, None],
        [1, 1, 0, 1, None, None],
        [None, None, None, None, 0, 1],
    ]
    code = measure_code(make_table(rows))
    assert (code.fleiss_raters, code.fleiss_units) == (3, 5)
    only = measure_code(make_table([row[:5] for row in rows]))
    assert code.fleiss.value == only.fleiss.value


def test_of_two_equally_usual_numbers_of_raters_the_larger_is_taken():
    code = measure_code(make_table([[1, 0, 1, 0], [1, 0, 0, 0], [1, 1, None, None]]))
    assert (code.fleiss_raters, code.fleiss_units) == (3, 2)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[1, 0, 1]], Reason.NO_PAIR),
        ([[1, None], [None, 1]], Reason.NOTHING_SHARED),
        ([[None, None], [None, None]], Reason.NOTHING_SHARED),
        ([[0, 0], [0, 0]], Reason.NEVER_USED),
        ([[1, 1], [1, 1]], Reason.ALWAYS_USED),
    ],
)
def test_what_is_not_defined_is_none_with_a_reason(rows, reason):
    code = measure_code(make_table(rows))
    for figure in (code.kappa, code.mean_kappa, code.fleiss, code.alpha):
        assert figure.value is None
        assert figure.reason == reason
        assert figure.interval is None
    assert code.kappa_error.value is None
    assert code.kappa_error.reason == reason


def test_code_that_pairs_use_always_or_never_has_no_mean_kappa():
    code = measure_code(make_table([[1, None], [1, None], [None, 0], [None, 0]]))
    assert (code.mean_kappa.value, code.mean_kappa.reason) == (None, Reason.NO_PAIR_DEFINES)
    assert code.alpha.value == 1.0


def test_perfect_agreement_has_no_large_sample_interval():
    code = measure_code(make_table([[1, 0, 1, 0], [1, 0, 1, 0]]))
    assert (code.kappa.value, code.kappa_error.value) == (1.0, 0.0)
    assert code.kappa_error.interval is None
    assert code.as_dict()["reasons"] == {"kappa_ci95": Reason.NO_ERROR}


def test_sets_are_compared_on_the_codes_that_both_decided():
    table = make_sets_table({"anna": [["a", "b"], ["a"], []], "ben": [["a"], ["b"], []]})
    decided = np.ones((2, 2, 3), dtype=bool)
    decided[1, 1, 0] = False  # ben has not decided about b on the first unit
    agreement = measure(table._replace(decided=decided))
    assert agreement.mean_jaccard.value == pytest.approx((1 + 0 + 1) / 3)
    assert agreement.exact_match.value == pytest.approx(2 / 3)
    assert {code.code: code.n_units for code in agreement.codes} == {"a": 3, "b": 2}
    assert {code.code: list_counts(code) for code in agreement.codes} == {"a": [1, 1, 0, 1], "b": [0, 0, 1, 1]}


def test_sets_without_any_code_are_said_to_be_so():
    agreement = measure(make_table([[0, 0], [0, 0]]))
    assert (agreement.mean_jaccard.value, agreement.exact_match.value) == (1.0, 1.0)
    assert agreement.mean_jaccard_excluding_empty.value is None
    assert agreement.mean_jaccard_excluding_empty.reason == Reason.NOTHING_CODED


def test_many_coders_are_taken_in_blocks_of_pairs():
    chance = np.random.default_rng(3)
    labels = chance.random((1, 15, 40)) < 0.4
    coders = tuple(f"coder {number}" for number in range(15))
    decided = chance.random((15, 40)) < 0.8
    table = LabelTable(coders, ("balance",), labels & decided, decided, np.arange(40, dtype=np.intp) // 4)
    agreement = measure(table, resamples=50)
    [code] = agreement.codes
    assert len(code.pairs) == 105
    assert code.mean_kappa.value == pytest.approx(
        np.mean([pair.kappa.value for pair in code.pairs if pair.kappa.value is not None])
    )
    last = code.pairs[-1]
    shared = decided[13] & decided[14]
    assert (last.a, last.b, last.n_units) == ("coder 13", "coder 14", int(shared.sum()))
    assert last.counts is not None
    assert last.counts["both"] == int((labels[0, 13] & labels[0, 14] & shared).sum())


def test_everything_fits_into_json():
    tables = [make_table([[1, 0, 1, None], [1, 1, 0, 0]]), make_table([[0, 0]]), make_table([[], []])]
    for table in tables:
        answer = json.loads(json.dumps(measure(table, resamples=20).as_dict(), allow_nan=False))
        assert {"codes", "mean_jaccard", "exact_match", "coders", "units", "seed"} <= set(answer)
        figures = answer["codes"]["balance"]
        assert {"n_units", "prevalence", "raw", "kappa", "pabak", "ac1", "fleiss", "alpha"} <= set(figures)
        assert set(figures["reasons"]) >= {name for name in ("kappa", "alpha") if figures[name] is None}


def test_a_mean_of_absolute_values_has_no_interval_that_could_leave_it_out():
    # Both 3, neither 3: the index is 0, and every draw that tips to one side lies above it.
    rows = [[1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1]]
    [code] = measure(make_table(rows), resamples=500).codes
    assert code.raw.interval is not None
    assert code.prevalence_index.value == 0
    assert (code.prevalence_index.interval, code.prevalence_index.no_interval) == (None, Reason.ABSOLUTE)


def test_interval_and_mark_of_a_pair_are_by_the_turns_that_it_shares():
    anna = [1, 1, 0, 0] * 10
    ben = [1, 0, 0, 0] * 10
    cem = [1, 0, 0, 0, 1, 1, 0, 1] + [None] * 32
    code = measure_code(make_table([anna, ben, cem], clusters=[unit // 4 for unit in range(40)]))
    found = {(pair.a, pair.b): pair for pair in code.pairs}
    assert {pair: each.raw.clusters for pair, each in found.items()} == {
        ("anna", "ben"): 10,
        ("anna", "cem"): 2,
        ("ben", "cem"): 2,
    }
    assert found["anna", "ben"].kappa_error.interval is not None
    assert found["anna", "ben"].as_dict()["mark"] == Mark.ROUGH
    few = found["anna", "cem"]
    assert few.kappa_error.value is not None
    assert (few.kappa_error.interval, few.as_dict()["clusters"], few.as_dict()["mark"]) == (None, 2, Mark.FEW)
    assert few.as_dict()["reasons"] == {"kappa_ci95": Reason.FEW_DRAWN}
    alone = measure_code(make_table([anna, cem], clusters=[unit // 4 for unit in range(40)]))
    assert (alone.kappa_error.interval, alone.kappa_error.value) == (None, few.kappa_error.value)
