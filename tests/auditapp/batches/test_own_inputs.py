"""Arms with inputs of their own: what is planned, drawn for the pilot, reviewed and put on record."""

import uuid

import pytest

from auditapp.batches import kinds
from auditapp.batches.launching import LaunchOptions, LaunchPlan, PlannedArm, check_launch, launch_batch
from auditapp.batches.models import Batch, Cell
from auditapp.batches.pages.costs import review_launch
from tests.auditapp.batches.trial_kinds import Numbers, answer, make_variant
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

pytestmark = pytest.mark.usefixtures("numbers")


def plan_two(few=(4, 9), **more):
    """An arm that takes the batch's inputs, and one that has its own."""
    variant = make_variant(f"model {uuid.uuid4().hex[:6]}")
    return [PlannedArm(variant, "task", "Say it."), PlannedArm(variant, "again", "Say it again.", {}, few, **more)]


def launch_two(study, arms, *, inputs=20, **options):
    numbers = list(range(1, inputs + 1))
    return launch_batch(
        study=study,
        kind="numbers",
        title="Numbers",
        arms=arms,
        input_ids=numbers,
        by=trail.SYSTEM,
        options=LaunchOptions(**options),
    )


def review(arms, *, inputs=20, **options):
    return review_launch(LaunchPlan("numbers", arms, list(range(1, inputs + 1))), LaunchOptions(**options))


def list_inputs(batch, task, **chosen):
    cells = Cell.objects.filter(arm=batch.arms.get(task=task), **chosen).order_by("pk")
    return list(cells.values_list("repeat", "input_id"))


def test_an_arm_is_asked_about_its_own_inputs_and_the_others_about_the_batch_s(study):
    batch = launch_two(study, plan_two(), inputs=3, repeats=2)
    assert list_inputs(batch, "task") == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert list_inputs(batch, "again") == [(1, 4), (1, 9), (2, 4), (2, 9)]


def test_all_of_them_are_answered(study):
    batch = launch_two(study, plan_two(), inputs=3)
    answer(batch, 10)
    assert batch.state == "done"


def test_of_a_smaller_arm_all_cells_are_in_the_pilot(study):
    batch = launch_two(study, plan_two(), pilot=5)
    assert (batch.state, batch.pilot_cells) == ("pilot", 7)
    assert len(list_inputs(batch, "task", pilot=True)) == 5
    assert list_inputs(batch, "again", pilot=True) == [(1, 4), (1, 9)]


def test_a_pilot_is_drawn_from_the_arms_own_inputs(study):
    own = range(100, 200)
    batch = launch_two(study, plan_two(own), inputs=3, pilot=5)
    assert (batch.state, batch.pilot_cells) == ("pilot", 8)
    drawn = {number for _, number in list_inputs(batch, "again", pilot=True)}
    assert len(drawn) == 5
    assert drawn <= set(own)


def test_there_is_no_pilot_where_no_arm_is_larger_than_it(study):
    batch = launch_two(study, plan_two(), inputs=3, pilot=3)
    assert (batch.state, batch.pilot_cells) == ("running", 0)


def test_the_event_counts_the_cells_of_every_arm(study):
    batch = launch_two(study, plan_two(), pilot=5)
    [event] = AuditEvent.objects.filter(target=f"batches.batch:{batch.pk}")
    assert (event.details["cells"], event.details["pilot"]) == (22, 7)


@pytest.mark.parametrize(("few", "words"), [([], "nothing to ask about"), ([4, 4], "Each text can be named only once")])
def test_inputs_of_its_own_are_checked_as_the_batch_s_are(study, few, words):
    arms = plan_two(few)
    with pytest.raises(Refused, match=words):
        launch_two(study, arms)
    with pytest.raises(Refused, match=words):
        check_launch(arms, [1], LaunchOptions())
    assert not Batch.objects.exists()


def test_a_batch_whose_arms_all_have_inputs_of_their_own_needs_no_others(study):
    batch = launch_two(study, plan_two()[1:], inputs=0)
    assert list_inputs(batch, "again") == [(1, 4), (1, 9)]


def test_a_review_counts_and_prices_each_arm_by_its_own_inputs(study):
    found = review(plan_two(), pilot=5, repeats=1)
    assert [(arm["cells"], arm["pilot_cells"]) for arm in found["arms"]] == [(20, 5), (2, 2)]
    assert (found["cells"], found["pilot_cells"]) == (22, 7)
    first, own = found["arms"]
    assert first["highest_nano"] is not None
    assert own["highest_nano"] is not None
    assert first["highest_nano"] > own["highest_nano"] == own["pilot_nano"]
    assert not any("pilot" in warning["code"] for warning in found["warnings"])


def test_a_review_says_that_a_pilot_would_be_everything(study):
    warnings = review(plan_two(), inputs=3, pilot=3)["warnings"]
    assert {"code": "pilot_is_everything", "pilot": 3, "cells": 3} in warnings


class Listener(Numbers):
    """Remembers for which tasks messages were written."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def write_prompts(self, arm, input_ids):
        self.asked.append((arm.task, len(input_ids)))
        return super().write_prompts(arm, input_ids)


@pytest.mark.parametrize(("messages", "times"), [("same", 1), ("", 2)])
def test_messages_that_arms_share_are_written_once_for_the_review(study, monkeypatch, messages, times):
    listener = Listener()
    monkeypatch.setitem(kinds._kinds, "numbers", listener)
    variant = make_variant()
    arms = [PlannedArm(variant, task, f"Say {task}.", messages=messages) for task in ("one", "two")]
    found = review(arms)
    assert len(listener.asked) == times
    assert all(arm["highest_nano"] for arm in found["arms"])
