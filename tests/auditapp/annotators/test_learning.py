import numpy as np
import pytest

from auditapp.annotators.pure import learning
from auditapp.annotators.pure.learning import (
    NOT_LEARNT,
    PARTS,
    Lesson,
    NothingToLearn,
    choose_threshold,
    count_examples,
    deal_parts,
    fit,
    learn,
)
from auditapp.annotators.pure.prompts import list_read_codes, list_taught, read_ranges, write_ranges

INTERVIEWS = np.repeat(np.arange(8), 30)
ABOUT = ("A stereotype is at work in case %d.", "It depends on the weather of day %d.")


def teach(*, share=0.3, interviews=8, noise=0.0):
    """A code that goes with one word, in some interviews; ``noise``: so often the word is wrong."""
    source = np.random.default_rng(7)
    yes = (source.random(len(INTERVIEWS)) < share) & (interviews > INTERVIEWS)
    shown = yes ^ (source.random(len(INTERVIEWS)) < noise)
    texts = [ABOUT[0] % number if each else ABOUT[1] % number for number, each in enumerate(shown)]
    return Lesson(texts, INTERVIEWS, {"code": (np.arange(len(texts)), yes)})


def test_what_a_word_tells_is_learnt_and_judged_on_unseen_interviews():
    reader, outcomes = learn(teach(), seed=1)
    outcome = outcomes["code"]
    assert outcome["reason"] == ""
    assert (outcome["fp"], outcome["fn"]) == (0, 0)
    assert outcome["tp"] == outcome["positives"] >= 20
    assert outcome["parts"] == PARTS
    (first, second) = reader.read(["No stereotype of mine.", "Nothing of the kind."])
    assert second == []
    assert first[0].code == "code"
    assert "No stereotype of mine."[first[0].start : first[0].end] == "stereotype"
    assert "“stereotype" in first[0].rationale


def test_no_part_has_a_say_in_the_threshold_it_is_judged_by(monkeypatch):
    lesson, asked = teach(noise=0.1), []

    def choose(scores, yes):
        asked.append(len(scores))
        return choose_threshold(scores, yes)

    monkeypatch.setattr(learning, "choose_threshold", choose)
    learn(lesson, seed=1)
    *parts, last = asked
    assert (len(parts), last) == (PARTS, len(lesson.texts))
    # Each part is read at what the other four chose.
    assert sum(parts) == (PARTS - 1) * len(lesson.texts)


def test_the_same_examples_give_the_same_reader():
    lesson = teach(noise=0.1)
    reader, outcomes = learn(lesson, seed=1)
    again = fit(lesson, {"code": outcomes["code"]["threshold"] or 0.0})
    assert np.array_equal(reader.score(lesson.texts), again.score(lesson.texts))
    assert learn(lesson, seed=1)[1] == outcomes


def test_what_cannot_be_told_is_not_suggested_and_says_so():
    reader, outcomes = learn(teach(noise=0.5), seed=1)
    assert outcomes["code"]["threshold"] is None
    assert "wrong more often than right" in outcomes["code"]["reason"]
    assert reader.codes == ()
    assert reader.read(["A stereotype."]) == [[]]


def test_a_code_that_is_wrong_more_often_than_right_on_unseen_interviews_is_not_learnt(monkeypatch):
    monkeypatch.setattr(learning, "choose_threshold", lambda scores, _yes: float(scores.min() + scores.max()) / 2)
    _, outcomes = learn(teach(share=0.15, noise=0.2), seed=1)
    outcome = outcomes["code"]
    assert 0 < outcome["tp"] < outcome["fp"]
    # It would be better than chance.
    assert outcome["tp"] / outcome["positives"] > outcome["fp"] / outcome["negatives"]
    assert (outcome["threshold"], outcome["reason"]) == (None, NOT_LEARNT)


def test_a_code_that_is_suggested_for_everything_is_not_learnt_though_most_have_it(monkeypatch):
    monkeypatch.setattr(learning, "choose_threshold", lambda _scores, _yes: 0.0)
    _, outcomes = learn(teach(share=0.6), seed=1)
    outcome = outcomes["code"]
    assert (outcome["fn"], outcome["tn"]) == (0, 0)
    assert outcome["tp"] > outcome["fp"]
    assert outcome["reason"] == NOT_LEARNT


@pytest.mark.parametrize(
    ("share", "interviews", "says"),
    [(0.03, 8, "of 20 needed"), (0.9, 2, "Interviews with an example: 2"), (0.99, 8, "needed for comparison")],
)
def test_a_code_with_too_few_examples_says_what_is_missing(share, interviews, says):
    lesson = teach(share=share, interviews=interviews)
    assert says in count_examples(*lesson.codes["code"], lesson.interviews)["reason"]
    with pytest.raises(NothingToLearn):
        learn(lesson, seed=1)


def test_texts_without_words_teach_nothing():
    lesson = teach()
    with pytest.raises(NothingToLearn, match="no words"):
        learn(lesson._replace(texts=["…"] * len(lesson.texts)), seed=1)


def test_an_interview_is_whole_in_one_part_and_every_part_lacks_only_some_positives():
    lesson = teach(interviews=3)
    _, yes = lesson.codes["code"]
    parts = deal_parts(INTERVIEWS, yes, seed="1 code")
    assert all(len(set(parts[interview == INTERVIEWS].tolist())) == 1 for interview in range(8))
    assert all(yes[parts != part].any() for part in set(parts.tolist()))
    assert np.array_equal(parts, deal_parts(INTERVIEWS, yes, seed="1 code"))


@pytest.mark.parametrize(
    ("scores", "yes", "threshold"),
    [
        # F1 is 2/3 at .9 and 4/5 at .6 (two of three right); halfway to .2.
        ([0.9, 0.8, 0.6, 0.2], [1, 0, 1, 0], 0.4),
        # More than half would be wrong at every threshold.
        ([0.9, 0.8, 0.7], [0, 0, 1], None),
        # So would they here, though the suggestion is likelier where the code is.
        ([0.9, 0.8, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1], [0, 0, 1, 0, 0, 0, 0, 0], None),
        # Equal scores stand or fall together.
        ([0.5, 0.5, 0.5, 0.1], [1, 1, 0, 0], 0.3),
        ([0.5, 0.4], [0, 0], None),
        # All that is said is that everything has the code.
        ([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 0], None),
    ],
)
def test_the_threshold_is_the_best_f1_where_half_is_right(scores, yes, threshold):
    assert choose_threshold(np.array(scores), np.array(yes, dtype=bool)) == threshold


def test_numbers_are_written_as_ranges_and_read_back():
    assert write_ranges([9, 4, 5, 6, 12, 13]) == "4-6 9 12-13"
    assert read_ranges("4-6 9 12-13") == [4, 5, 6, 9, 12, 13]
    assert read_ranges(write_ranges([])) == []


def test_a_recipe_tells_what_is_read_and_what_taught():
    learnt = {
        "set": {"families": {"themes": {"decided": "1-3", "codes": {}}, "moves": {"decided": "3 7", "codes": {}}}},
        "codes": {"a": {"threshold": 0.2}, "b": {"threshold": None}, "c": {}},
    }
    assert list_taught(learnt) == {1, 2, 3, 7}
    assert list_read_codes(learnt) == ["a"]
    assert list_read_codes({"rules": {"a": ["x"], "b": []}}) == ["a"]
