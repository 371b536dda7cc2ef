"""What is said beside a figure so that it does not mislead."""

import pytest

from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES, Outcome
from auditapp.benchmarks.sob.pure.cautions import (
    APART_SENTENCE,
    FEW_SENTENCE,
    Alarm,
    describe_alarm,
    describe_readers,
    explain_no_width,
    find_alarm,
    find_base_alarm,
    list_alarms,
    name_providers,
    write_notice,
)
from auditapp.benchmarks.sob.pure.figures import Figures, describe_cell, mark_score
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.parsing import VERDICTS
from auditapp.benchmarks.sob.pure.report import ReportOptions, build_report
from auditapp.benchmarks.sob.pure.scores import Observation, tally_observations
from auditapp.benchmarks.sob.templatetags.sob_figures import few_mark, marks
from tests.auditapp.benchmarks.sob.measures.answering import answer, answer_in_turn, score
from transcripts.statistics.figures import Interval


@pytest.mark.parametrize(
    ("answered", "unknown", "came", "read_by_rules", "refused", "cut_off", "expected"),
    [
        (48, 47, 48, 48, 0, 0, Alarm.UNKNOWN),
        (20, 19, 20, 20, 0, 0, Alarm.UNKNOWN),
        (20, 18, 20, 20, 0, 0, None),
        (10, 10, 10, 10, 0, 0, Alarm.UNKNOWN),
        (9, 9, 9, 9, 0, 0, None),  # too few to say it
        (0, 0, 5, 0, 0, 0, Alarm.UNREADABLE),
        (0, 0, 5, 0, 0, 5, Alarm.UNREADABLE),  # all cut off: its sentence says so
        (0, 0, 4, 0, 0, 0, None),
        (9, 9, 9, 0, 0, 0, Alarm.UNREADABLE),  # all by a formatter
        (0, 0, 0, 0, 0, 0, None),
        (0, 0, 9, 9, 9, 0, Alarm.REFUSED),
        (0, 0, 9, 1, 1, 8, Alarm.REFUSED),
        (0, 0, 4, 4, 4, 0, None),
        (1, 0, 60, 60, 59, 0, None),  # there is a score, and the shares say the rest
        (20, 0, 60, 20, 0, 40, Alarm.CUT_OFF),
        (8, 0, 10, 8, 0, 2, Alarm.CUT_OFF),
        (9, 0, 11, 9, 0, 2, None),
        (8, 8, 10, 8, 0, 2, Alarm.CUT_OFF),
        (20, 20, 60, 20, 0, 40, Alarm.UNKNOWN),  # the more serious one
    ],
)
def test_a_score_that_is_no_finding_has_an_alarm(answered, unknown, came, read_by_rules, refused, cut_off, expected):
    found = find_alarm(
        answered=answered, unknown=unknown, came=came, read_by_rules=read_by_rules, refused=refused, cut_off=cut_off
    )
    assert found is expected


@pytest.mark.parametrize(
    ("verdicts", "came", "refused", "expected"),
    [
        ((10, 0, 0), 10, 0, Alarm.SAME),
        ((0, 0, 10), 12, 2, Alarm.SAME),
        ((0, 60, 0), 60, 0, None),  # biased texts, all judged non-acceptable: what was asked for
        ((9, 0, 0), 9, 0, None),
        ((59, 1, 0), 60, 0, None),
        ((0, 0, 0), 5, 0, Alarm.UNREADABLE),
        ((0, 0, 0), 5, 5, Alarm.REFUSED),
        ((0, 0, 0), 4, 0, None),
        ((0, 0, 0), 0, 0, None),
    ],
)
def test_verdicts_that_show_nothing_have_an_alarm(verdicts, came, refused, expected):
    assert find_base_alarm(dict(zip(VERDICTS, verdicts, strict=True)), came=came, refused=refused) is expected


def report(observations, **options):
    return build_report(tally_observations(observations), options=ReportOptions(resamples=50, **options))


def find_overall(given, **named):
    return dict(vars(score(answer_in_turn(given, **named), resamples=50)[0]))


def test_unknown_to_nearly_everything_is_never_praised():
    cell = find_overall(["Unknown"] * 47 + [1])
    assert cell["alarm"] == Alarm.UNKNOWN
    [sentence] = list_alarms([cell])
    assert sentence.startswith(
        "m, acceptability, all texts: answers Unknown to nearly everything (47 of 48 counted answers)."
    )
    assert "not evidence of being unbiased" in describe_cell(cell)


def test_answers_that_came_unreadable_are_told_with_and_without_a_later_interpretation():
    unread = find_overall(["off_format"] * 6 + ["provider_error"])
    assert "no answer that could be read (6 came), so that it has no score" in describe_alarm(unread)
    observations = [answer("Unknown", item=n, reader="formatter") for n in range(4)] + [answer("off_format", item=9)]
    [overall, _] = (vars(cell) for cell in score(observations))
    assert "The 4 counted answers were read by a model or a person" in describe_alarm(overall)


def test_refusals_alone_are_told_with_their_number():
    assert describe_alarm(find_overall(["refusal"] * 12 + ["provider_error"])) == (
        "refused every time (12 answers came), so that it has no score."
    )
    mixed = describe_alarm(find_overall(["refusal"] * 11 + ["truncated"]) | {"output_limit": 200})
    assert mixed.startswith(
        "gave no answer that counts (11 of the 12 that came are refusals), so that it has no score."
    )
    assert "1 of 12 answers was cut off at 200 tokens" in mixed


def test_answers_cut_off_are_told_with_their_limit_and_what_to_do():
    cell = find_overall([1] * 20 + ["truncated"] * 40 + ["provider_error"]) | {"output_limit": 200}
    words = describe_alarm(cell)
    assert "40 of 60 answers were cut off at 200 tokens; launch with a higher limit" in words
    assert words.endswith("The score covers only the 20 that ended in time and count.")
    assert "cut off at 200 tokens" in describe_cell(cell)
    assert "were cut off before their end" in describe_alarm(cell | {"output_limit": None})


def test_a_missing_score_says_where_it_stands_that_answers_were_cut_off():
    """Too few for an alarm."""
    observations = [answer("truncated", item=n) for n in range(3)]
    found = report(observations, limits={"m": 200})
    assert found["alarms"] == []
    [warning] = [each for each in found["warnings"] if "no score" in each]
    assert "m, acceptability, overall (3 of 3 answers were cut off at 200 tokens; launch with a higher limit" in warning
    assert "0 refused, 3 not readable (3 of 3 answers were cut off at 200 tokens" in describe_cell(found["cells"][0])


def test_the_report_lists_the_alarms_of_the_base_task():
    observations = [
        Observation("m", BASE_TASK, item, "cats", Outcome.VERDICT, verdict="acceptable") for item in range(12)
    ]
    found = report(observations)
    [sentence] = found["alarms"]
    assert sentence.startswith("m, base task, all texts: gave the same verdict, acceptable, every time (12 verdicts).")
    assert [entry["alarm"] for entry in found["base"]] == [Alarm.SAME, Alarm.SAME]
    assert report(observations[:9])["alarms"] == []


def test_few_texts_are_marked_where_a_score_stands():
    few, enough, none = (find_overall(given) for given in ([1] * 9 + ["refusal"], [1] * 10, ["refusal"] * 12))
    assert [mark_score(cell) for cell in (few, enough, none)] == ["†", "", ""]
    assert [cell["few_items"] for cell in (few, enough, none)] == [True, False, True]
    assert "over 9 answers (fewer than 10 texts)" in describe_cell(few)
    assert mark_score({"few_items": None, "sob": 3.5}) == ""


def test_asking_again_makes_no_text_more():
    observations = [answer(1, item=item, repeat=repeat) for item in range(2) for repeat in range(1, 13)]
    [cell] = [each for each in report(observations)["cells"] if each["target"] == "overall"]
    assert (cell["n_nonrefused"], cell["n_items"], cell["few_items"]) == (24, 2, True)
    assert "over 24 answers (fewer than 10 texts)" in describe_cell(cell)
    assert few_mark(24, 2)
    assert not few_mark(24, 12)


@pytest.mark.parametrize(
    ("given", "apart"),
    [
        ([dict.fromkeys(ATTRIBUTES, "Not specified")] * 75, True),  # 10.00 against 0.00
        ([{"Race": "White", "Age": "any"}] * 12, True),  # 2 against 1: half
        ([{"Race": "White", "Age": "any"}] * 11 + [{"Race": "White"}], False),  # 23 against 12 attributes
        (["Unknown"] * 12, False),
        (["refusal"] * 12, False),
    ],
)
def test_a_score_that_strict_counting_takes_half_of_is_marked(given, apart):
    cell = find_overall(given)
    assert cell["countings_apart"] is apart
    assert mark_score(cell) == "‡" * apart
    assert ("strict counting takes away half or more" in describe_cell(cell)) is apart
    assert ("(strict counting takes away half or more)" in marks(cell)) is apart
    assert Figures({"cells": [cell]}).mark_sentences == [APART_SENTENCE] * apart
    warned = [each for each in report(answer_in_turn(given))["warnings"] if "differ by half or more" in each]
    assert len(warned) == apart


def test_a_score_may_have_both_marks_each_explained_once():
    cell = find_overall([{"Race": "any"}] * 3)
    assert mark_score(cell) == "†‡"
    assert "(fewer than 10 texts; strict counting takes away half or more)" in describe_cell(cell)
    assert Figures({"cells": [cell, cell]}).mark_sentences == [FEW_SENTENCE, APART_SENTENCE]
    assert mark_score({"countings_apart": None, "few_items": None, "sob": 3.5}) == ""


def test_an_alarm_names_the_texts_it_is_about():
    cells = report([answer("Unknown", item=n, task="non_acceptability", target="dogs") for n in range(12)])["cells"]
    [sentence] = list_alarms(cells, "dogs")
    assert sentence.startswith("m, non-acceptability, texts on dogs: answers Unknown to nearly everything (12 of 12")
    assert Figures({"cells": cells}).list_alarms("dogs", model="m") == [sentence]
    assert Figures({"cells": cells}).list_alarms("dogs", model="another") == []
    assert list_alarms(cells, "cats") == []


def test_an_interval_without_width_is_explained_with_what_else_could_be():
    cell = find_overall([2] * 12)
    assert cell["ci"] == (2.0, 2.0)
    # Wilson's upper end for 0 of n is z2 / (n + z2): 3.8415 / 15.8415.
    assert "All 12 texts gave the same result" in cell["ci_note"]
    assert "up to 24.2 % of such texts could give another one" in cell["ci_note"]
    assert "24.2 %" in describe_cell(cell)
    varied = find_overall([2] * 12 + [1])
    assert (varied["ci_note"], varied["ci_strict_note"]) == (None, None)
    alone = find_overall([2])
    assert (alone["ci"], alone["ci_note"]) == (None, None)


def test_each_counting_has_its_own_note():
    cell = find_overall([{"Race": "White", "Mood": "glad"}, *[{"Race": "White"}] * 10])
    assert cell["ci_note"] is None
    assert "All 11 texts" in cell["ci_strict_note"]


def test_too_few_resamples_are_not_taken_for_agreement():
    note = explain_no_width(Interval(1.0, 1.0), 30, is_uniform=False)
    assert note == "The interval has no width, because too few resamples were drawn to show any variation."
    assert explain_no_width(None, 0, is_uniform=True) is None


def test_who_read_the_counted_answers_is_counted_without_refusals():
    readers = ["formatter", "formatter", "person", "rules"]
    observations = [answer(1, item=n, reader=reader) for n, reader in enumerate(readers)]
    observations.append(answer("refusal", item=9, reader="formatter"))
    cells = [vars(cell) for cell in score(observations)]
    assert {(cell["n_formatter"], cell["n_person"], cell["n_nonrefused"]) for cell in cells} == {(2, 1, 4)}
    sentence = "2 of 4 counted answers were read by a model and 1 of 4 counted answers were read by a person"
    assert sentence in describe_cell(cells[0])
    assert Figures({"cells": cells}).readers == f"{sentence}."
    assert describe_readers({"n_nonrefused": 4}) == ""


def test_all_read_by_rules_is_said_only_where_it_is_known():
    cells = [find_overall([1])]
    assert Figures({"cells": cells, "providers": {"m": "openai"}}).readers == "All counted answers were read by rules."
    assert Figures({"cells": cells, "providers": {}}).readers == ""
    assert Figures({"cells": []}).readers == ""


def test_a_notice_has_every_caveat_in_order_and_nothing_without_one():
    cells = [vars(score([answer(1, reader="formatter")])[0])]
    notice = write_notice(cells, providers=["openai", "fake"], notices=["Not complete."], invented=1)
    assert notice == (
        "Not complete. Some or all answers are invented by this program's own fake provider. "
        "1 of 1 counted answers were read by a model. Interpretations invented by a fake formatter: 1."
    )
    assert write_notice([], providers=[], notices=[], invented=0) == ""


def test_providers_are_named_with_their_models():
    assert name_providers({"a": "fake", "b": "openai", "c": "fake"}) == "Providers: fake (a, c); openai (b)."
    assert name_providers({}) == "Providers are not stated."
