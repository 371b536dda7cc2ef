"""The arithmetic of an audit of positives and of annotators side by side, against numbers worked out by hand."""

import numpy as np
import pytest

from auditapp.evaluation.pure.calibration import compare_annotators
from auditapp.evaluation.pure.positives import Mark, build_report, settle

A, D, U = "applies", "does_not", "unclear"


def make_report(verdicts, *, codes, populations):
    """The rates of all readers together; ``verdicts`` of a reader are those of the items in order, "" for none."""
    items = dict(enumerate(codes))
    marks = [
        Mark(place, reader, verdict) for reader, own in verdicts.items() for place, verdict in enumerate(own) if verdict
    ]
    return build_report(items, marks, marks, populations)["findings"][0]["rates"]


def test_the_rate_is_over_what_was_said_yes_or_no_to_and_unclear_stands_apart():
    verdicts = [D] * 12 + [A] * 44 + [U] * 4
    [rate] = make_report({"lead": verdicts}, codes=["x"] * 60, populations={"x": 400})
    assert (rate["marked"], rate["applies"], rate["does_not"], rate["unclear"], rate["decided"]) == (60, 44, 12, 4, 56)
    assert rate["rate"] == pytest.approx(12 / 56)
    assert rate["interval"] is not None
    # Wilson for 12 of 56, by hand: z = 1.95996, z² = 3.84146.
    # middle (.214286 + .034299) / 1.068598; reach 1.95996 · √(.214286·.785714/56 + 3.84146/12544) / 1.068598
    assert rate["interval"].low == pytest.approx(0.12706, abs=1e-5)
    assert rate["interval"].high == pytest.approx(0.33820, abs=1e-5)
    assert rate["warnings"] == []


def test_codes_are_counted_apart_and_their_populations_kept():
    rates = make_report({"lead": [D, A, A, D]}, codes=["x", "x", "y", "y"], populations={"x": 9, "y": 2})
    assert [(rate["code"], rate["population"], rate["drawn"], rate["does_not"]) for rate in rates] == [
        ("x", 9, 2, 1),
        ("y", 2, 2, 1),
    ]
    assert "Only 2 decided items" in rates[0]["warnings"][0]
    assert rates[1]["warnings"] == [
        "Every suggestion of this code is in the audit. The interval is for other suggestions like them."
    ]


def test_without_a_decided_item_there_is_no_rate():
    [rate] = make_report({"lead": [U, ""]}, codes=["x", "x"], populations={"x": 5})
    assert (rate["rate"], rate["interval"], rate["marked"], rate["unclear"]) == (None, None, 1, 1)
    assert any(warning.startswith("1 of 1 cannot be decided, ") for warning in rate["warnings"])


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [([A], A), ([D, D, A], D), ([A, D], ""), ([A, D, U], ""), ([U, A], A), ([U, U], U), ([D, U, U], D)],
)
def test_of_several_readers_the_larger_number_of_yes_and_no_decides(verdicts, together):
    assert settle(verdicts) == together


def test_what_readers_contest_is_in_no_rate_and_each_has_figures_of_her_own():
    items = dict.fromkeys(range(4), "x")
    marks = [Mark(place, "ann", word) for place, word in enumerate([D, D, A, A])]
    marks += [Mark(place, "bea", word) for place, word in enumerate([D, A, A, U])]
    report = build_report(items, marks, marks, {"x": 40})
    together, ann, bea = report["findings"]
    assert [
        (each["reviewer"], each["rates"][0]["does_not"], each["rates"][0]["decided"]) for each in (together, ann, bea)
    ] == [
        (None, 1, 3),
        ("ann", 2, 4),
        ("bea", 1, 3),
    ]
    assert together["rates"][0]["contested"] == 1
    [pair] = report["agreement"]
    # On three items both said yes or no: (D, D), (D, A), (A, A). p_o = 2/3, p_e = (2·1 + 1·2)/9 = 4/9, kappa = .4.
    assert (pair["n"], pair["same"], pair["n_decided"]) == (4, 0.5, 3)
    assert pair["kappa"] == pytest.approx(0.4)


def test_agreement_rests_on_first_marks_and_rates_on_the_last_ones():
    items = {0: "x"}
    report = build_report(items, [Mark(0, "ann", A), Mark(0, "bea", A)], [Mark(0, "ann", D), Mark(0, "bea", A)], {})
    assert report["findings"][0]["rates"][0]["applies"] == 1
    assert report["agreement"][0]["same"] == 0
    assert report["agreement"][0]["kappa"] == 0


def test_a_half_marked_audit_says_so():
    report = build_report({0: "x", 1: "x"}, [Mark(0, "ann", A)], [], {"x": 9})
    assert report["warnings"][0].startswith("1 of 2 items are marked.")
    assert report["agreement"] == []


def labels(sentences, put):
    return np.array(sentences), np.isin(sentences, put)


class TestSpread:
    def test_annotators_are_compared_on_what_all_of_them_read(self):
        spread = compare_annotators(
            "x",
            {1: labels([1, 2, 3, 4, 5], [1, 2, 5]), 2: labels([1, 2, 3, 4], [1, 3]), 3: labels([2, 3, 4, 9], [9])},
            [1, 2, 3],
        )
        assert spread["n"] == 3
        assert [(each["annotator"], each["read"], each["put"], each["n"]) for each in spread["rates"]] == [
            (1, 5, 1, 3),
            (2, 4, 1, 3),
            (3, 4, 0, 3),
        ]
        assert spread["lowest"] == 0
        assert spread["highest"] == pytest.approx(1 / 3)

    def test_annotators_that_share_no_sentence_have_no_rates(self):
        spread = compare_annotators("x", {1: labels([1, 2], [1]), 2: labels([3], [3])}, [1, 2])
        assert [each["rate"] for each in spread["rates"]] == [None, None]
        assert (spread["n"], spread["lowest"], spread["highest"], spread["pairs"]) == (0, None, None, [])

    def test_every_two_have_figures_and_there_is_none_of_all(self):
        every = list(range(10))
        spread = compare_annotators("x", {1: labels(every, [0, 1, 2, 3]), 2: labels(every, [0, 1, 2, 4])}, [1, 2])
        [pair] = spread["pairs"]
        assert (pair["both"], pair["only_first"], pair["only_second"], pair["neither"]) == (3, 1, 1, 5)
        # p_o = .8, p_e = .16 + .36 = .52, kappa = .28 / .48; positive agreement 6 / 8.
        assert pair["kappa"] == pytest.approx(0.28 / 0.48)
        assert pair["positive_agreement"] == pytest.approx(0.75)
        assert "kappa" not in spread

    def test_where_nobody_puts_it_nothing_is_defined(self):
        [pair] = compare_annotators("x", {1: labels([1, 2], []), 2: labels([1, 2], [])}, [1, 2])["pairs"]
        assert (pair["kappa"], pair["positive_agreement"]) == (None, None)

    def test_who_did_not_read_for_a_code_is_named_and_takes_nothing_from_the_others(self):
        spread = compare_annotators("x", {1: labels([1, 2], [1]), 2: labels([1, 2], [1])}, [1, 2, 3])
        assert (spread["n"], spread["lacking"]) == (2, [3])
        alone = compare_annotators("x", {1: labels([1, 2], [1])}, [1, 2])
        assert (alone["n"], alone["pairs"], alone["rates"][0]["rate"]) == (0, [], None)
