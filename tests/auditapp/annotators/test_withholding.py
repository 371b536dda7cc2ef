"""Turns are drawn once, with exactly the share that is on record, and what is withheld is never shown."""

import random
from collections import Counter

import pytest

from auditapp.annotators.models import TurnArm, WithholdingPlan
from auditapp.annotators.withholding import (
    choose_withheld,
    count_drawn,
    ensure_arms,
    find_arms,
    list_withheld_answers,
    set_withholding,
)
from tests.conftest import make_user
from tests.transcripts.coding.cast import last_event
from tests.transcripts.rounds.cast import bring_in
from transcripts.corpus.models import Turn
from transcripts.refusals import Refused
from transcripts.studies.models import Study


def model_turns(interview):
    return list(
        Turn.objects.filter(interview=interview, role="model").order_by("position").values_list("pk", flat=True)
    )


class TestDraw:
    def test_the_first_draw_makes_a_plan_of_twenty_per_cent_and_draws_every_turn_of_the_model(
        self, study, interview, lead
    ):
        assert ensure_arms(study=study, interviews=[interview.pk], by=lead) == 2
        plan = WithholdingPlan.objects.get()
        assert (plan.number, plan.share_percent) == (1, 20)
        arms = find_arms(model_turns(interview))
        assert {arm.probability for arm in arms.values()} == {0.2}
        assert set(arms) == set(model_turns(interview))
        event = last_event(study)
        assert (event.action, event.details["turns"]) == ("annotators.arms.drawn", 2)

    def test_a_turn_is_drawn_once_whatever_the_plan_says_later(self, study, interview, lead):
        set_withholding(study=study, share_percent=100, reason="All of it.", by=lead)
        assert ensure_arms(study=study, interviews=None, by=lead) == 2
        set_withholding(study=study, share_percent=0, reason="None of it.", by=lead)
        assert ensure_arms(study=study, interviews=None, by=lead) == 0
        assert list_withheld_answers(study) == set(model_turns(interview))
        [later] = bring_in(study, lead, ["Model A"])
        assert ensure_arms(study=study, interviews=[later.pk], by=lead) > 0
        assert {arm.arm for arm in find_arms(model_turns(later)).values()} == {"shown"}
        assert [row["plans"] for row in count_drawn(study)] == [[1], [2]]

    def test_the_same_seed_draws_the_same_turns(self, study, interview, lead):
        set_withholding(study=study, share_percent=50, reason="Half.", by=lead, seed=7)
        ensure_arms(study=study, interviews=[interview.pk], by=lead)
        first = list_withheld_answers(study)
        TurnArm.objects.all().delete()
        ensure_arms(study=study, interviews=[interview.pk], by=lead)
        assert list_withheld_answers(study) == first
        assert len(first) == 1

    def test_every_turn_is_withheld_with_a_probability_of_exactly_the_share(self):
        turns = list(range(7))
        source = random.Random(1)
        draws = [choose_withheld(turns, 20, source) for _ in range(20_000)]
        assert {len(draw) for draw in draws} == {1, 2}
        counts = Counter(turn for draw in draws for turn in draw)
        assert all(abs(counts[turn] / 20_000 - 0.2) < 0.015 for turn in turns)

    def test_nought_withholds_nothing_and_a_hundred_everything(self):
        source = random.Random(1)
        assert choose_withheld([1, 2, 3], 0, source) == set()
        assert choose_withheld([1, 2, 3], 100, source) == {1, 2, 3}
        assert choose_withheld([], 20, source) == set()


class TestPlan:
    @pytest.mark.parametrize(
        ("share", "reason", "words"), [(101, "x", "0 to 100"), (-1, "x", "0 to 100"), (20, " ", "Give a reason")]
    )
    def test_a_share_that_is_none_or_without_a_reason_is_refused(self, study, lead, share, reason, words):
        with pytest.raises(Refused, match=words):
            set_withholding(study=study, share_percent=share, reason=reason, by=lead)
        assert not WithholdingPlan.objects.exists()

    def test_plans_are_numbered_and_none_is_changed(self, study, lead):
        for share in (20, 30):
            set_withholding(study=study, share_percent=share, reason="So.", by=lead)
        plans = WithholdingPlan.objects.order_by("number").values_list("number", "share_percent", "made_by_name")
        assert list(plans) == [(1, 20, "lead"), (2, 30, "lead")]

    def test_two_studies_do_not_draw_for_each_other(self, study, interview, lead):
        other = Study.objects.create(slug="other", name="Other", created_at=study.created_at)
        set_withholding(study=other, share_percent=100, reason="Theirs.", by=make_user("stranger"))
        assert ensure_arms(study=other, interviews=None, by=lead) == 0
        ensure_arms(study=study, interviews=None, by=lead)
        assert TurnArm.objects.filter(plan__study=other).count() == 0
