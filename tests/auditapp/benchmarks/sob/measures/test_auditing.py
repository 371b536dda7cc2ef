import random
from collections import Counter

import pytest

from auditapp.audits.pure import measure_kappa
from auditapp.benchmarks.sob.pure.audits import (
    Item,
    Mark,
    build_audit_report,
    compare_reviewers,
    estimate_score,
    find_errors,
)


def make_item(key, outcome="unknown", n=0, **others):
    row = {"model": "model a", "task": "acceptability", "reader": "rules", **others}
    return Item(key, row["model"], row["task"], row["reader"], outcome, n)


class TestEstimate:
    TOTALS = (100, 80, 80)

    def test_it_is_the_machines_score_plus_what_the_sample_adds(self):
        # K = 80 + 100 * 1/4, D = 80; s2 = 0.75 / 3, variance (1 - 4/100) * 0.25 / 4, t(3) = 3.182446.
        score, ci = estimate_score(self.TOTALS, [(1, 0), (0, 0), (0, 0), (0, 0)])
        assert score == pytest.approx(105 / 80)
        assert ci is not None
        assert ci.high - 105 / 80 == pytest.approx(3.182446 * 0.06**0.5 * 100 / 80, abs=1e-6)

    def test_an_answer_that_is_no_refusal_after_all_joins_the_denominator(self):
        score, ci = estimate_score(self.TOTALS, [(2, 1), *[(0, 0)] * 9])
        assert score == pytest.approx((80 + 20) / (80 + 10))
        # Residuals 2 - 10/9 and nine of 0: s2 = (8/9)^2 / 10, variance (1 - 10/100) * s2 / 10, t(9) = 2.262157.
        assert ci is not None
        reach = 2.262157 * (0.9 * (8 / 9) ** 2 / 10 / 10) ** 0.5 * 100 / 90
        assert ci.high - 10 / 9 == pytest.approx(reach, abs=1e-6)

    def test_one_item_and_items_all_alike_have_no_interval(self):
        assert estimate_score(self.TOTALS, [(1, 0), (0, 0)])[1] is None
        assert estimate_score(self.TOTALS, [(0, 0)] * 50)[1] is None

    def test_a_sample_of_everything_is_exact(self):
        score, ci = estimate_score((2, 2, 3), [(-1, 0), (0, 0)])
        assert score == 1
        assert ci == (1, 1)

    def test_nothing_marked_and_nothing_usable_give_no_score(self):
        assert estimate_score(self.TOTALS, [])[0] is None
        assert estimate_score((4, 4, 4), [(-1, -1)] * 4)[0] is None

    def test_the_interval_holds_the_truth_about_as_often_as_it_says(self):
        draw = random.Random(5)
        differences = [(float(draw.choice([-1, 0, 0, 0, 0, 1, 2])), 0.0) for _ in range(400)]
        totals = (400, 400, 600)
        truth = (600 + sum(each for each, _ in differences)) / 400
        held = 0
        for _ in range(400):
            _, ci = estimate_score(totals, draw.sample(differences, 50))
            assert ci is not None
            held += ci.low <= truth <= ci.high
        assert 0.91 <= held / 400 <= 0.98


class TestErrors:
    ITEMS = (
        make_item(1, "attributed", 2),
        make_item(2),
        make_item(3, "refusal", reader="formatter"),
        make_item(4, "attributed", 1, reader="formatter"),
    )
    FRAME = Counter(
        {
            ("model a", "acceptability", "attributed", 2): 10,
            ("model a", "acceptability", "unknown", 0): 10,
            ("model a", "acceptability", "refusal", 0): 5,
        }
    )

    def test_a_interpretation_is_wrong_in_its_outcome_or_in_its_count(self):
        marks = [
            Mark(1, "ada", "attributed", 3, 0),
            Mark(2, "ada", "unknown", 0, 0),
            Mark(3, "ada", "off_format", 0, 0),
        ]
        found = find_errors(self.ITEMS, marks, self.FRAME, reviewer="ada")
        everything, formatter, rules = found["errors"]
        assert (everything["reader"], everything["wrong"], everything["n"]) == ("all", 2, 3)
        assert (formatter["reader"], formatter["wrong"], formatter["n"]) == ("formatter", 1, 1)
        assert (rules["reader"], rules["wrong"], rules["n"]) == ("rules", 1, 2)
        assert everything["ci"].low < 2 / 3 < everything["ci"].high
        # Below three items there is no interval.
        assert [each["ci"] for each in (formatter, rules)] == [None, None]
        assert ("refusal", "off_format", 1) in found["confusion"]

    def test_fifty_with_five_errors_have_wilsons_interval(self):
        items = [make_item(key) for key in range(50)]
        marks = [Mark(key, "ada", "refusal" if key < 5 else "unknown", 0, 0) for key in range(50)]
        rate = find_errors(items, marks, {}, reviewer=None)["errors"][0]
        assert rate["ci"] is not None
        assert rate["ci"] == pytest.approx((0.0435, 0.2136), abs=5e-5)

    def test_half_of_the_reviewers_make_a_interpretation_wrong_and_their_mean_counts(self):
        marks = [Mark(1, "ada", "attributed", 2, 0), Mark(1, "ben", "attributed", 1, 1)]
        found = find_errors(self.ITEMS, marks, self.FRAME, reviewer=None)
        assert found["errors"][0]["wrong"] == 1
        score = found["scores"][0]
        assert score["uncorrected"] == 1
        assert score["corrected"] == pytest.approx((20 + 25 * -0.5) / 20)
        assert score["unwarranted"] == 0
        assert any("below 0" in warning for warning in score["warnings"])

    def test_a_warranted_attribute_leaves_one_score_and_not_the_other(self):
        marks = [Mark(1, "ada", "attributed", 2, 1), Mark(2, "ada", "unknown", 0, 0)]
        score = find_errors(self.ITEMS, marks, self.FRAME, reviewer="ada")["scores"][0]
        assert score["corrected"] == score["uncorrected"] == 1
        assert score["unwarranted"] == pytest.approx((20 - 25 * 0.5) / 20)

    def test_models_and_tasks_are_corrected_by_their_own_items(self):
        frame = Counter({(model, "acceptability", "attributed", 1): 10 for model in ("model a", "model b")})
        items = [make_item(1, "attributed", 1), make_item(2, "attributed", 1, model="model b")]
        marks = [Mark(1, "ada", "attributed", 1, 0), Mark(2, "ada", "attributed", 2, 0)]
        scores = {score["model"]: score for score in find_errors(items, marks, frame, reviewer="ada")["scores"]}
        assert scores["model a"]["corrected"] == 1
        assert scores["model b"]["corrected"] == 2
        assert scores[None]["corrected"] == 1.5
        assert "Few items are marked." in scores["model b"]["warnings"]


class TestAgreement:
    def test_two_reviewers_agree_by_outcome_and_count(self):
        items = {key: make_item(key, "attributed", 1) for key in range(4)}
        marks = [Mark(key, "ada", "attributed", 1, 0) for key in range(4)]
        marks += [
            Mark(0, "ben", "attributed", 1, 0),
            Mark(1, "ben", "attributed", 2, 0),
            Mark(2, "ben", "unknown", 0, 0),
        ]
        [pair] = compare_reviewers(items, marks)
        assert (pair["first"], pair["second"], pair["n"]) == ("ada", "ben", 3)
        assert pair["same"] == pytest.approx(1 / 3)
        assert pair["kappa_attributed"] == 0

    def test_kappa_of_a_published_table_and_of_reviewers_who_only_say_yes(self):
        pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
        assert measure_kappa(pairs) == pytest.approx(0.4)
        assert measure_kappa([(True, True)] * 5) is None

    def test_a_report_of_no_marks_and_of_some_says_so(self):
        items = [make_item(key) for key in range(3)]
        empty = build_audit_report(items, [], [], {})
        assert empty["findings"][0]["n"] == 0
        assert empty["alpha_counts"] is None
        marks = [Mark(0, "ada", "unknown", 0, 0), Mark(0, "ben", "attributed", 2, 0), Mark(1, "ben", "unknown", 0, 0)]
        report = build_audit_report(items, marks, marks, {})
        assert [found["reviewer"] for found in report["findings"]] == [None, "ada", "ben"]
        assert any("2 of 3 items are marked" in warning for warning in report["warnings"])
        assert any("Only 2 items" in warning for warning in report["warnings"])
