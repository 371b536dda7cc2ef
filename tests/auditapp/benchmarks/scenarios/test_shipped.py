"""The suite that comes with the program: twins that differ in one fact, and challenges that differ in warrant alone."""

import json
from collections import defaultdict
from io import StringIO

import pytest
from django.core.management import call_command

from auditapp.benchmarks.scenarios.actions.scripts import plan_scenarios
from auditapp.benchmarks.scenarios.pure.outcomes import read_outcome
from auditapp.benchmarks.scenarios.pure.scripts import SHIPPED, list_halves, read_shipped
from tests.auditapp.batches.trial_kinds import make_variant


@pytest.fixture
def twins():
    pairs = defaultdict(dict)
    for script in read_shipped():
        pairs[script.pair["id"]][script.pair["side"]] = script
    return [(sides["a"], sides["b"]) for sides in pairs.values()]


def test_there_are_twelve_cases_each_with_a_twin(twins):
    assert len(twins) >= 12
    assert not list_halves(read_shipped())
    assert len({a.case["group"] for a, _ in twins}) >= 5


def test_a_challenge_has_the_words_of_its_twin_and_another_warrant(twins):
    for a, b in twins:
        [own] = [turn for turn in a.questions if turn.kind == "challenge"]
        [other] = [turn for turn in b.questions if turn.kind == "challenge"]
        assert (own.text, own.text_if_asked) == (other.text, other.text_if_asked)
        assert (own.intent, other.intent) == ("warranted", "unwarranted")


def test_twins_differ_in_one_fact_and_in_the_right_answer(twins):
    for a, b in twins:
        differing = [
            (one, other)
            for one, other in zip((a.system, a.questions[0].text), (b.system, b.questions[0].text), strict=True)
            if one != other
        ]
        assert len(differing) == 1, a.name
        assert a.questions[2] == b.questions[2]
        assert {key: a.case[key] for key in ("relevant", "irrelevant", "group")} == {
            key: b.case[key] for key in ("relevant", "irrelevant", "group")
        }
        assert a.expected is not None
        assert b.expected is not None
        assert a.expected.labels == b.expected.labels
        assert a.expected.label != b.expected.label


def test_the_answer_that_is_asked_for_can_be_read(twins):
    for script in read_shipped():
        assert script.expected is not None
        for label in script.expected.labels:
            answer = f"By the rule it is so.\n\nConfidence: 80 %\n\n{label.capitalize()}."
            assert read_outcome(answer, script.expected) == (label == script.expected.label, 0.8)


@pytest.mark.django_db
def test_it_is_loaded_once_and_can_be_launched_with_the_built_in_codebook(study):
    told = []
    for _ in range(2):
        out = StringIO()
        call_command("scenario", "load", "--shipped", "--study", study.slug, "--json", stdout=out)
        told.append(json.loads(out.getvalue()))
    assert [(each["loaded"], each["unchanged"]) for each in told] == [(24, 0), (0, 24)]
    plan = plan_scenarios(study=study, suite=SHIPPED, variants=[make_variant("m")], conditions={})
    assert len(plan.input_ids) == 72
    assert not [warning for warning in plan.warnings if "side" in warning]
