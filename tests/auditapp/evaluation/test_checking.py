"""The figures of checks, by hand."""

import json

import pytest

from auditapp.annotators.pure.checking import (
    Answer,
    AskedAgain,
    build_reask_report,
    build_report,
    find_degenerate,
    follow_swap,
    judge_check,
    list_figures,
    measure_rate,
    tabulate_labels,
)
from transcripts.statistics.figures import Share, wilson_interval

CODES = ["a", "b", "c"]
SWAPPED = {"a": "b", "b": "c", "c": "a"}


def said(condition, picks, *, asked=(), codes=tuple(CODES)):
    """An answer that puts the letters of a word on each sentence."""
    sentences = frozenset(picks)
    return Answer(
        condition,
        list(codes),
        frozenset(asked) or sentences,
        sentences,
        {sentence: frozenset(word) for sentence, word in picks.items()},
    )


def report(*answers, definitions=SWAPPED):
    return build_report(answers, codes=CODES, definitions=definitions)


def test_a_share_of_nothing_is_undefined():
    assert (Share(0, 0).value, Share(0, 0).interval) == (None, None)
    assert Share(3, 4).value == 0.75


def test_flips_are_counted_over_the_sentences_that_both_answers_reached():
    found = report(said("repeat-1", {1: "a", 2: "a", 3: "", 4: "a"}), said("reversed", {1: "a", 2: "", 3: "b"}))
    a, b, c = found["order"]
    assert (a["code"], a["flips"], a["kept"]) == ("a", Share(1, 3), Share(1, 2))
    assert (b["flips"], b["kept"]) == (Share(1, 3), Share(0, 1))
    assert (c["flips"], c["kept"]) == (Share(0, 3), Share(0, 0))
    assert a["flips"].interval == wilson_interval(1, 3)


def test_stability_asks_for_all_repeats_to_agree():
    found = report(
        said("repeat-1", {1: "a", 2: "a", 3: ""}),
        said("repeat-2", {1: "a", 2: "", 3: ""}),
        said("repeat-3", {1: "a", 2: "a", 3: ""}),
    )
    assert found["repeats"] == 3
    assert (found["stability"][0]["flips"], found["stability"][0]["kept"]) == (Share(1, 3), Share(1, 2))


def test_one_repeat_tells_nothing_of_stability():
    assert report(said("repeat-1", {1: "a"}))["stability"] == []


def test_a_condition_without_answers_has_no_rows():
    found = report(said("repeat-1", {1: "a"}))
    assert (found["order"], found["generic"], found["swaps"]) == ([], [], [])


def test_questions_by_code_lie_side_by_side():
    labels = tabulate_labels([said("repeat-1", {1: "a"}, codes=["a"]), said("repeat-1", {1: "", 2: "b"}, codes=["b"])])
    assert labels["repeat-1"] == {"a": {1: True}, "b": {1: False, 2: True}}


class TestSwaps:
    """b's definition stands under a, c's under b, a's under c."""

    def follow(self, before, after):
        labels = tabulate_labels([said("repeat-1", {1: before}), said("swapped", {1: after})])
        return follow_swap(labels, "a", SWAPPED).get(1, "")

    def test_who_reads_definitions_puts_the_name_that_has_it_now(self):
        assert self.follow("a", "c") == "definition"

    def test_who_reads_names_puts_the_same_name(self):
        assert self.follow("a", "a") == "name"

    def test_both_and_neither_are_told_apart(self):
        assert (self.follow("a", "ac"), self.follow("a", ""), self.follow("a", "b")) == ("both", "neither", "neither")

    @pytest.mark.parametrize("before", ["ac", "ab", "abc"])
    def test_a_sentence_on_which_both_explanations_expect_the_same_counts_for_nothing(self, before):
        assert self.follow(before, "ac") == "unclear"

    def test_a_sentence_that_did_not_bear_the_code_says_nothing(self):
        assert self.follow("b", "a") == ""

    def test_the_share_is_of_those_that_follow_one_of_the_two(self):
        found = report(
            said("repeat-1", {1: "a", 2: "a", 3: "a", 4: "a", 5: "ac"}),
            said("swapped", {1: "c", 2: "c", 3: "a", 4: "", 5: "c"}),
        )
        row = found["swaps"][0]
        assert tuple(row[name] for name in ("definition", "name", "both", "neither", "unclear")) == (2, 1, 0, 1, 1)
        assert (row["told_apart"], row["share"]) == (4, Share(2, 3))


class TestLabels:
    def test_unknown_codes_are_counted_against_all_that_were_named(self):
        answer = said("repeat-1", {1: "a", 2: "ab"})._replace(
            rejected={"unknown code": 2, "no quote": 1, "sentence was not asked about": 4}, refused=3, unknown=2
        )
        assert report(answer)["legal"] == Share(4, 6)

    def test_sentences_without_an_answer_are_counted_against_all_that_were_asked_about(self):
        found = report(said("repeat-1", {1: "a", 2: ""}, asked=[1, 2, 3]), said("reversed", {1: "a", 2: "", 3: ""}))
        assert (found["answered"], found["sentences"]) == (Share(5, 6), 3)


class TestRates:
    def test_nearly_always_and_nearly_never_sound_the_alarm(self):
        alarms = find_degenerate({"often": (91, 100), "edge": (90, 100), "rarely": (9, 1000), "line": (10, 1000)})
        assert [(each.code, each.alarm) for each in alarms] == [("often", "often"), ("rarely", "rarely")]

    def test_nothing_read_is_no_alarm(self):
        assert find_degenerate({"a": (0, 0)}) == []

    def test_few_units_sound_it_with_a_caveat(self):
        few = measure_rate("a", 0, 50)
        assert (few.alarm, few.is_certain) == ("rarely", False)
        assert few.words == "applied to 0 of 50 units, under 1 %; the sample is too small to be sure"
        many = measure_rate("a", 0, 400)
        assert (many.alarm, many.is_certain) == ("rarely", True)
        assert "too small" not in many.words
        assert measure_rate("a", 48, 50).is_certain is False
        assert measure_rate("a", 99, 100).is_certain is True


class TestVerdicts:
    def states(self, *answers):
        return {verdict["check"]: verdict["state"] for verdict in judge_check(report(*answers))}

    def test_a_steady_reader_passes_and_what_was_not_asked_is_said_to_be_so(self):
        picks = {number: "a" if number % 2 else "b" for number in range(1, 41)}
        states = self.states(said("repeat-1", picks), said("repeat-2", picks), said("reversed", picks))
        assert states == {
            "legal": "passed",
            "answered": "passed",
            "order": "passed",
            "generic": "nothing",
            "swapped": "nothing",
            "stability": "passed",
            "rates": "passed",
        }

    def test_rare_codes_that_all_change_are_looked_at_though_few_sentences_do(self):
        before = {number: "a" if number == 1 else "" for number in range(1, 101)}
        after = dict.fromkeys(before, "")
        assert self.states(said("repeat-1", before), said("reversed", after))["order"] == "look"

    def test_a_code_that_changes_on_many_sentences_is_looked_at_though_most_of_what_was_put_stays(self):
        before = {number: "a" if number <= 24 else "" for number in range(1, 41)}
        after = {number: "a" if number <= 29 else "" for number in before}
        assert self.states(said("repeat-1", before), said("reversed", after))["order"] == "look"

    def test_nothing_put_at_all_is_nothing_to_tell_by(self):
        empty = dict.fromkeys(range(1, 10), "")
        assert self.states(said("repeat-1", empty), said("reversed", empty))["order"] == "nothing"

    def test_one_code_everywhere_is_looked_at(self):
        assert self.states(said("repeat-1", dict.fromkeys(range(1, 10), "a")))["rates"] == "look"

    def test_verdicts_call_codes_by_their_names(self):
        before = dict.fromkeys(range(1, 41), "a")
        found = judge_check(
            report(said("repeat-1", before), said("reversed", dict.fromkeys(before, ""))), {"a": "Alpha"}
        )
        words = {verdict["check"]: verdict["said"] for verdict in found}
        assert words["order"].startswith("Alpha changes most often, on 40 of 40")
        assert words["rates"].startswith("Alpha applied to")

    def test_every_verdict_names_its_line(self):
        assert all(verdict["line"] for verdict in judge_check(report(said("repeat-1", {1: "a"}))))


class TestAskedAgain:
    def test_the_drop_is_what_carries_other_codes(self):
        first = AskedAgain(
            CODES, {1: frozenset("a"), 2: frozenset(), 3: frozenset("b")}, {1: frozenset("a"), 2: frozenset("c")}
        )
        flagged = AskedAgain(CODES, {7: frozenset("a")}, {7: frozenset()}, is_flagged=True)
        found = build_reask_report([first, flagged], [], CODES)
        assert (found["turns"], found["same"], found["drop"], found["lost"]) == (
            2,
            Share(1, 3),
            Share(2, 3),
            Share(1, 4),
        )
        assert (found["flagged"], found["unflagged"], found["flagged_drop"]) == (Share(0, 1), Share(1, 2), 0.5)
        assert [(row["code"], row["flips"], row["kept"]) for row in found["codes"]] == [
            ("a", Share(1, 3), Share(1, 2)),
            ("b", Share(0, 3), Share(0, 0)),
            ("c", Share(1, 3), Share(0, 1)),
        ]

    def test_control_sentences_count_as_right_with_exactly_their_codes(self):
        controls = [
            (1, frozenset("a"), frozenset("a")),
            (1, frozenset("a"), frozenset("ab")),
            (2, frozenset(), frozenset()),
            (3, frozenset("bc"), frozenset()),
        ]
        found = build_reask_report([], controls, CODES)
        assert (found["controls"], found["control_drop"]) == (Share(2, 4), Share(2, 4))
        assert (found["missed"], found["false"]) == (Share(2, 4), Share(1, 3))

    def test_without_flagged_turns_there_is_no_difference(self):
        found = build_reask_report([], [], CODES)
        assert (found["flagged_drop"], found["flagged_interval"], found["drop"].value) == (None, None, None)


def test_every_figure_can_be_written_as_json():
    written = list_figures(report(said("repeat-1", {1: "a"}), said("swapped", {1: "c"})))
    assert json.loads(json.dumps(written))["swapped"]["a"]["follows_definition"]["count"] == 1
