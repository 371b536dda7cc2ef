"""What the page of a batch says of answers that are worth nothing."""

import pytest

from auditapp.batches import kinds
from auditapp.batches.models import Arm
from auditapp.batches.pure.estimates import describe_unreadable
from auditapp.llm.models import ModelVariant


def alarm(kind, outcomes, *more, task="acceptability"):
    """The alarms of a batch of one model, one arm for each count of outcomes."""
    variant = ModelVariant(label="m", max_tokens=200)
    return kinds.get_kind(kind).find_alarms([(Arm(variant=variant, task=task), counts) for counts in (outcomes, *more)])


@pytest.mark.parametrize(
    ("came", "readable", "no_room", "expected"),
    [
        (5, 0, 0, "none of its 5 answers could be read."),
        (4, 0, 0, ""),
        (1_200, 1, 0, ""),
        (
            6,
            0,
            1,
            "none of its 6 answers could be read. 1 of them is empty, because the model used up its output limit",
        ),
        (
            6,
            0,
            6,
            "none of its 6 answers could be read. All of them are empty, because the model used up its output limit",
        ),
    ],
)
def test_an_alarm_says_that_none_of_enough_answers_could_be_read(came, readable, no_room, expected):
    said = describe_unreadable(came, readable, no_room)
    assert said.removesuffix(" before it answered.") == expected


@pytest.mark.parametrize("kind", ["preannotation", "preannotation_check"])
@pytest.mark.parametrize(
    ("arms", "is_alarm"),
    [
        ([{"invalid": 3}, {"invalid": 2}], True),
        ([{"invalid": 4, "no_room": 1}], True),
        ([{"invalid": 9, "partial": 1}], False),
        ([{"valid": 9}], False),
        ([{"invalid": 4, "provider_error": 9, "no_input": 9}], False),
    ],
)
def test_an_annotator_is_judged_by_its_answers_to_all_codes(kind, arms, is_alarm):
    found = alarm(kind, *arms)
    assert [each.startswith("m: none of its 5 answers could be read.") for each in found] == [True] * is_alarm


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        ([{"upheld": 12}, {"upheld": 8}], "m: as a critic it upheld all of the 20 suggestions that it tested."),
        ([{"upheld": 12}, {"upheld": 7}], ""),
        ([{"upheld": 400, "rejected": 1}], ""),
        ([{"rejected": 20}], ""),
        ([{"invalid": 20}], "m: none of its 20 answers could be read."),
        ([{"invalid": 200, "upheld": 20}], "m: as a critic it upheld all of the 20"),
    ],
)
def test_a_critic_that_never_says_no_has_an_alarm(arms, said):
    found = alarm("preannotation_critic", *arms)
    assert len(found) == bool(said)
    assert "".join(found).startswith(said)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"refusal": 12, "provider_error": 3}, "m, acceptability: refused every time (12 answers came)."),
        ({"off_format": 5}, "m, acceptability: gave no answer that could be read as it came (5 came)."),
        (
            {"truncated": 40, "attributed": 20},
            "40 of 60 answers were cut off at 200 tokens; launch with a higher limit",
        ),
        ({"no_room": 6}, "6 of 6 answers were cut off at 200 tokens"),
        ({"unknown": 10}, "m, acceptability: answers Unknown to nearly everything (10 of 10 counted answers)."),
        ({"attributed": 9, "refusal": 9, "off_format": 9}, ""),
        ({"provider_error": 99}, ""),
    ],
)
def test_a_group_of_answers_that_is_no_evidence_is_named(counts, said):
    found = alarm("sob", counts)
    assert len(found) == bool(said)
    assert said in "".join(found)
    assert "so that it has no score" not in "".join(found), "somebody may have read them since"


@pytest.mark.parametrize(("counts", "said"), [({"verdict": 60}, []), ({"refusal": 6}, ["m, base: refused every time"])])
def test_verdicts_of_the_base_task_are_read_like_answers(counts, said):
    assert [each[: len("m, base: refused every time")] for each in alarm("sob", counts, task="base")] == said


@pytest.mark.parametrize(
    ("counts", "is_alarm"),
    [
        ({"unreadable": 3, "invented_value": 1, "no_evidence": 1}, True),
        ({"unreadable": 5, "off_format": 1}, False),
        ({"unreadable": 4, "provider_error": 9}, False),
    ],
)
def test_a_formatter_that_could_read_nothing_has_an_alarm(counts, is_alarm):
    assert alarm("sob_format", counts) == ["m: none of its 5 answers could be read."] * is_alarm


def test_a_kind_without_alarms_has_none():
    assert alarm("scenario", {"invalid": 99}) == []
