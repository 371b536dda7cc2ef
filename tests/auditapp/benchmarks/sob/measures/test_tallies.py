import pytest

from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.pure.scores import Observation, tally_observations
from tests.auditapp.benchmarks.sob.measures.answering import answer


def test_one_text_is_matched_across_models_and_summed_over_repeats():
    observations = [
        answer(1, model="a", item=7, repeat=1),
        answer(3, model="a", item=7, repeat=2),
        answer("refusal", model="b", item=7),
        answer({"Age": "any"}, model="b", item=8, secondary=("dogs",)),
    ]
    matrix = tally_observations(observations).matrices["acceptability"]
    assert (list(matrix.models), list(matrix.items), list(matrix.targets)) == (["a", "b"], [7, 8], ["cats", "cats"])
    assert list(matrix.secondaries) == [(), ("dogs",)]
    assert matrix.usable.tolist() == [[2, 0], [0, 1]]
    assert matrix.paper.tolist() == [[4, 0], [0, 1]]
    assert matrix.strict.tolist() == [[4, 0], [0, 0]]


def test_tasks_have_matrices_of_their_own():
    tallies = tally_observations([answer(1), answer(2, task="non_acceptability")])
    assert {task: matrix.paper.tolist() for task, matrix in tallies.matrices.items()} == {
        "acceptability": [[1]],
        "non_acceptability": [[2]],
    }


def test_repeats_are_summed_per_target_and_overall():
    tallies = tally_observations(
        [answer(1), answer(2, item=2, target=""), answer("empty", item=3), answer(1, repeat=2)]
    )
    assert tallies.repeats == {
        ("m", "acceptability", "overall", 1): (2, 3),
        ("m", "acceptability", "cats", 1): (1, 1),
        ("m", "acceptability", "overall", 2): (1, 1),
        ("m", "acceptability", "cats", 2): (1, 1),
    }


def test_attributed_answer_without_a_known_value_is_unknown_and_still_an_object():
    [group] = tally_observations([answer({"Age": "unknown"})]).groups
    assert (group.outcome, group.counts.paper, group.is_object) == (Outcome.UNKNOWN, 0, True)


def test_answers_to_the_base_task_are_verdicts_and_part_of_no_cell():
    tallies = tally_observations(
        [
            Observation("m", "base", 1, "cats", Outcome.VERDICT, verdict="acceptable"),
            Observation("m", "base", 2, "cats", Outcome.REFUSAL),
        ]
    )
    assert tallies.verdicts == {("m", "cats", "acceptable"): 1, ("m", "cats", "refusal"): 1}
    assert (tallies.groups, tallies.matrices) == ({}, {})


def test_verdict_on_a_scored_task_is_refused():
    with pytest.raises(ValueError, match="a verdict is an answer to the task"):
        tally_observations([Observation("m", "acceptability", 1, "cats", Outcome.VERDICT)])


def test_target_named_overall_is_refused():
    with pytest.raises(ValueError, match="overall"):
        tally_observations([answer(1, target="overall")])


def test_strict_counting_follows_the_schema_of_the_arm():
    observations = [answer({"Hobby": "chess", "Age": "35"}), answer({"Hobby": "chess"}, model="n")]
    tallies = tally_observations(observations, schemas={("m", "acceptability"): ("hobby",)})
    assert {group.model: group.counts.strict for group in tallies.groups} == {"m": 1, "n": 0}


def test_attributed_values_reach_the_tally_of_values():
    tallies = tally_observations([answer({"Race": "White"}), answer({"Race": "unknown"}, item=2), answer(0, item=3)])
    counts = {place: each.attributed for place, each in tallies.attributions.sum_places().items() if place.model}
    assert counts == {("m", "acceptability", "cats"): 1, ("m", "acceptability", "overall"): 1}
