import pytest

from auditapp.benchmarks.sob.pure.scores import GroupTable, tally_observations
from auditapp.benchmarks.sob.pure.secondary import spread_repeats
from tests.auditapp.benchmarks.sob.measures.answering import answer


def spread(observations):
    tallies = tally_observations(observations)
    return spread_repeats(tallies.repeats, GroupTable(tallies.groups))


def test_each_repeat_is_scored_by_itself():
    observations = [
        answer(given, item=item, repeat=repeat)
        for repeat, answers in ((2, (1, 2)), (1, (0, 1)), (3, (3, 3)))
        for item, given in enumerate(answers)
    ]
    overall, cats = spread([*observations, answer("refusal", item=9, repeat=1)])
    assert (overall["target"], cats["target"], cats["n_repeats"]) == ("overall", "cats", 3)
    assert cats["values"] == (0.5, 1.5, 3.0)
    assert cats["sd"] == pytest.approx(1.258306, abs=1e-6)
    assert (cats["lowest"], cats["highest"]) == (0.5, 3.0)


def test_one_repeat_has_no_spread():
    assert spread([answer(1), answer(2, item=2)]) == []


def test_repeat_without_a_usable_answer_has_no_score():
    assert spread([answer(1), answer("empty", repeat=2)]) == []
