"""Conversations: a cell waits for another, and its call continues that conversation."""

from dataclasses import replace
from decimal import Decimal

import pytest
from django.db import connection
from django.db.models import F
from django.urls import reverse

from auditapp.batches import actions, grids, kinds
from auditapp.batches.kinds import EVERYTHING
from auditapp.batches.launching import LaunchOptions, LaunchPlan, PlannedArm, launch_batch
from auditapp.batches.ledger import results
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Attempt, Cell, Result
from auditapp.batches.pages.costs import estimate_batch, review_launch
from auditapp.batches.pages.live import read_answers, rebuild_request
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import (
    ASKED_BACK,
    GIVEN_UP,
    LOST,
    Scripts,
    Talks,
    answer_request,
    claim,
    finish,
    launch_talks,
    make_variant,
    number_inputs,
    read_histories,
    read_states,
)
from transcripts.audit_trail import trail
from transcripts.refusals import Refused


@pytest.fixture(autouse=True)
def talks(monkeypatch):
    kind = Talks()
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
    monkeypatch.setitem(kinds._kinds, "scripts", Scripts())
    return kind


def say(batch, calls, content=""):
    """Each call is answered by ``answer_request``, or with this."""
    now = read_now()
    group = []
    for call in calls:
        said = answer_request(call.request)
        group.append(CompletedCall(call.leased, replace(said, content=content or said.content), now, now))
    results.store_completed(batch.pk, group)
    batch.refresh_from_db()


def step(batch, count=10, content=""):
    """What can be asked now is asked and answered."""
    calls = claim(batch, count)
    say(batch, calls, content)
    return calls


class TestWaiting:
    def test_only_the_first_question_of_each_session_is_planned(self, study):
        batch = launch_talks(study, sessions=2)
        assert read_states(batch) == {
            11: "planned", 12: "blocked", 13: "blocked", 21: "planned", 22: "blocked", 23: "blocked"
        }  # fmt: skip
        assert batch.has_conversations

    def test_each_repeat_and_each_model_has_conversations_of_its_own(self, study):
        batch = launch_talks(study, make_variant("a"), make_variant("b"), sessions=2, repeats=2)
        followers = Cell.objects.filter(batch=batch, after__isnull=False).select_related("after")
        assert len(followers) == 16
        for cell in followers:
            assert (cell.after.arm_id, cell.after.repeat, cell.after.input_id) == (
                cell.arm_id,
                cell.repeat,
                cell.input_id - 1,
            )

    def test_an_answer_plans_the_next_question_when_it_is_stored(self, study):
        batch = launch_talks(study, sessions=2)
        [first] = claim(batch, 1)
        assert read_states(batch)[12] == "blocked"
        say(batch, [first])
        assert read_states(batch) == {
            11: "done", 12: "planned", 13: "blocked", 21: "planned", 22: "blocked", 23: "blocked"
        }  # fmt: skip

    def test_a_batch_is_done_with_the_last_question(self, study):
        batch = launch_talks(study, sessions=2)
        assert [len(step(batch)) for _ in range(3)] == [2, 2, 2]
        assert (batch.state, batch.reserved_nano) == ("done", 0)

    def test_a_session_that_was_begun_is_finished_before_later_ones_are_begun(self, study):
        batch = launch_talks(study, sessions=2)
        asked = [call.leased.input_id for _ in range(4) for call in step(batch, 1)]
        assert asked == [11, 12, 13, 21]

    def test_an_input_cannot_continue_one_that_is_not_asked_before_it(self, study):
        arms = [PlannedArm(make_variant(), "session", "")]
        with pytest.raises(Refused, match="Input 1 continues input 2"):
            launch_batch(
                study=study, kind="talks", title="T", arms=arms, input_ids=[1, 2], by=trail.SYSTEM, after={1: 2}
            )


class TestHistory:
    def test_a_call_sends_what_was_said_before_and_an_attempt_keeps_it(self, study):
        batch = launch_talks(study)
        step(batch)
        step(batch)
        [third] = claim(batch, 10)
        exchanges = [("Question 11", "To “Question 11” after 0."), ("Question 12", "To “Question 12” after 1.")]
        assert list(third.request.history) == exchanges
        assert (third.request.system, third.request.user) == ("You are asked.", "Question 13")
        assert read_histories(batch) == {
            11: None,
            12: [
                {"role": "system", "content": "You are asked."},
                {"role": "user", "content": "Question 11"},
                {"role": "assistant", "content": "To “Question 11” after 0."},
            ],
            13: [
                {"role": "system", "content": "You are asked."},
                {"role": "user", "content": "Question 11"},
                {"role": "assistant", "content": "To “Question 11” after 0."},
                {"role": "user", "content": "Question 12"},
                {"role": "assistant", "content": "To “Question 12” after 1."},
            ],
        }

    def test_reasoning_is_stored_and_never_sent_back(self, study):
        batch = launch_talks(study)
        step(batch)
        assert Result.objects.get().reasoning == "Hidden thoughts."
        step(batch, content="<think>Between marks.</think>Words.")
        [third] = claim(batch, 10)
        assert third.request.history[-1] == ("Question 12", "Words.")
        assert Result.objects.get(cell__input_id=12).answer == "<think>Between marks.</think>Words."

    def test_a_request_can_be_written_again_exactly_as_it_was_sent(self, study):
        for kind in ("talks", "scripts"):
            batch = launch_talks(study, make_variant(kind), kind=kind)
            for _ in range(3):
                step(batch)
        attempts = Attempt.objects.select_related("arm__variant__account", "arm__capabilities", "arm__batch")
        assert [rebuild_request(attempt)["agrees"] for attempt in attempts] == [True] * 6

    def test_a_kind_may_answer_what_the_model_asks(self, study):
        batch = launch_talks(study, kind="scripts", repeats=2)
        step(batch, content=ASKED_BACK)
        second = step(batch)
        assert [(call.request.system, call.request.user) for call in second] == [
            ("Session 1.", "Answer 12, repeat 1"),
            ("Session 1.", "Answer 12, repeat 2"),
        ]
        assert [call.request.user for call in step(batch)] == ["Question 13, repeat 1", "Question 13, repeat 2"]

    def test_an_earlier_answer_is_used_again_only_after_the_same_conversation(self, study):
        variant = make_variant()
        first = launch_talks(study, variant)
        for _ in range(3):
            step(first)
        same = launch_talks(study, variant, uses_cache=True)
        for _ in range(3):
            assert claim(same, 10) == []
        same.refresh_from_db()
        assert (same.state, same.spent_nano) == ("done", 0)
        assert read_histories(same) == read_histories(first)
        assert set(Result.objects.values_list("reasoning", flat=True)) == {"Hidden thoughts."}
        other = launch_talks(study, make_variant("other"))
        step(other, content="Something else.")
        hashes = Attempt.objects.filter(cell__input_id=12).values_list("request_hash", flat=True)
        claim(other, 10)
        assert len(set(hashes)) == 2


class TestFailing:
    def test_where_a_question_fails_for_good_the_rest_of_its_session_fails(self, study, talks):
        batch = launch_talks(study, sessions=2)
        step(batch, 1)
        finish(batch, claim(batch, 1), GIVEN_UP)
        assert read_states(batch) == {
            11: "done", 12: "silent", 13: "earlier_failed", 21: "planned", 22: "blocked", 23: "blocked"
        }  # fmt: skip
        assert [(each.input_id, each.error) for each in talks.told if each.answer is None] == [
            (12, "no"),
            (13, "earlier_failed"),
        ]

    def test_a_batch_ends_though_a_whole_session_failed(self, study):
        batch = launch_talks(study)
        finish(batch, claim(batch, 1), GIVEN_UP)
        assert read_states(batch) == {11: "silent", 12: "earlier_failed", 13: "earlier_failed"}
        assert batch.state == "done"

    def test_asking_a_failed_question_again_takes_its_session_up_again(self, study, talks):
        batch = launch_talks(study)
        step(batch)
        finish(batch, claim(batch, 1), GIVEN_UP)
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM) == 2
        assert read_states(batch) == {11: "done", 12: "planned", 13: "blocked"}
        assert len(talks.reopened) == 2
        step(batch)
        step(batch)
        assert batch.state == "done"
        assert read_states(batch) == {11: "done", 12: "done", 13: "done"}

    def test_one_session_can_be_asked_again_alone(self, study):
        batch = launch_talks(study, sessions=2)
        finish(batch, claim(batch, 2), GIVEN_UP)
        chosen = Cell.objects.get(batch=batch, input_id=21)
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM, only=[chosen.pk]) == 3
        assert read_states(batch) == {
            11: "silent", 12: "earlier_failed", 13: "earlier_failed", 21: "planned", 22: "blocked", 23: "blocked"
        }  # fmt: skip

    @pytest.mark.parametrize("chosen", [12, 13])
    def test_a_question_that_failed_with_an_earlier_one_is_asked_again_with_it(self, study, chosen):
        batch = launch_talks(study)
        finish(batch, claim(batch, 1), GIVEN_UP)
        cell = Cell.objects.get(batch=batch, input_id=chosen)
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM, only=[cell.pk]) == 3
        assert read_states(batch) == {11: "planned", 12: "blocked", 13: "blocked"}
        for _ in range(3):
            step(batch)
        assert batch.state == "done"

    def test_what_waits_behind_a_held_call_waits_until_a_person_decides(self, study):
        batch = launch_talks(study, lost_answers="hold")
        finish(batch, claim(batch, 1), LOST)
        assert read_states(batch) == {11: "held", 12: "blocked", 13: "blocked"}
        assert batch.state == "paused"
        with pytest.raises(Refused, match="Only held cells are left"):
            actions.resume_batch(batch=batch, by=trail.SYSTEM)
        actions.release_held(batch=batch, by=trail.SYSTEM, again=True)
        step(batch)
        assert read_states(batch)[12] == "planned"

    def test_a_held_call_that_is_given_up_fails_the_rest(self, study):
        batch = launch_talks(study, lost_answers="hold")
        finish(batch, claim(batch, 1), LOST)
        actions.release_held(batch=batch, by=trail.SYSTEM, again=False)
        assert read_states(batch) == {11: "silent", 12: "earlier_failed", 13: "earlier_failed"}
        assert batch.state == "done"

    def test_cancelling_cancels_what_waits(self, study):
        batch = launch_talks(study)
        calls = claim(batch, 1)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        say(batch, calls)
        assert read_states(batch) == {11: "done", 12: "cancelled", 13: "cancelled"}

    def test_a_drained_batch_begins_no_further_question(self, study):
        batch = launch_talks(study)
        calls = claim(batch, 1)
        actions.drain_batch(batch=batch, by=trail.SYSTEM)
        say(batch, calls)
        assert (batch.state, read_states(batch)[12]) == ("paused", "planned")
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        step(batch)
        step(batch)
        assert batch.state == "done"

    def test_an_answer_that_comes_late_plans_the_next_question_once(self, study):
        batch = launch_talks(study)
        calls = claim(batch, 1)
        say(batch, calls)
        say(batch, calls)
        assert read_states(batch) == {11: "done", 12: "planned", 13: "blocked"}

    def test_a_question_that_is_gone_fails_the_rest_of_its_session(self, study, monkeypatch):
        monkeypatch.setattr(Talks, "write_prompts", lambda *_: {})
        batch = launch_talks(study, sessions=2)
        assert claim(batch, 10) == []
        batch.refresh_from_db()
        assert set(read_states(batch).values()) == {"no_input", "earlier_failed"}
        assert batch.state == "done"


class TestMoney:
    def test_the_reservation_counts_the_history(self, study):
        batch = launch_talks(study)
        step(batch, content="x" * 1000)
        reserved = Attempt.objects.get().reserved_nano
        [second] = claim(batch, 1)
        assert second.leased.reserved_nano >= reserved + 1000 * 1000

    def test_a_cap_that_the_history_would_exceed_stops_the_batch(self, study):
        batch = launch_talks(study, cap_usd=Decimal("0.0006"))
        step(batch, content="x" * 1000)
        assert claim(batch, 1) == []
        assert read_states(batch)[12] == "planned"

    @pytest.mark.django_db
    def test_the_review_counts_the_history_growing_with_each_question(self):
        variant = make_variant()
        inputs, after = number_inputs(2, 3)
        arms = [PlannedArm(variant, "session", "You are asked.")]
        alone = review_launch(LaunchPlan("talks", arms, inputs), LaunchOptions())["arms"][0]
        linked = review_launch(LaunchPlan("talks", arms, inputs, after=after), LaunchOptions())["arms"][0]
        # By hand: an answer of at most 100 tokens and a question of 11 bytes go along once with the second question and twice
        # with the third, with 32 tokens for the format of each pair; two sessions.
        assert linked["tokens_in"] - alone["tokens_in"] == 2 * 3 * (100 + 11 + 32)
        assert linked["tokens_out"] == alone["tokens_out"] == 600
        assert linked["highest_nano"] - alone["highest_nano"] == 2 * 3 * (100 + 11 + 32) * 1000

    @pytest.mark.django_db
    def test_the_review_says_what_answers_of_usual_length_would_cost(self):
        inputs, after = number_inputs(2, 3)
        arms = [PlannedArm(make_variant(), "session", "You are asked.")]
        plan = LaunchPlan("talks", arms, inputs, after=after, expected_answer=20)
        review = review_launch(plan, LaunchOptions())
        # By hand, in bytes: 14 of instructions, 64 for the format, 11 of each question, 32 for each earlier pair. Four make a
        # token: 89 / 4 = 23, (89 + 43) / 4 = 33 and (89 + 86) / 4 = 44. Earlier answers: 0, 20 and 40 tokens. Answers: 3 x 20.
        tokens_in, tokens_out = 2 * (23 + 33 + 20 + 44 + 40), 2 * 60
        assert review["likely_nano"] == review["arms"][0]["likely_nano"] == (tokens_in * 1 + tokens_out * 2) * 1000
        assert review["likely_nano"] < review["highest_nano"]

    @pytest.mark.django_db
    def test_no_answer_is_expected_to_be_longer_than_its_model_may_write(self):
        inputs, after = number_inputs(1, 2)
        arms = [PlannedArm(make_variant(), "session", "You are asked.")]
        found = [
            review_launch(LaunchPlan("talks", arms, inputs, after=after, expected_answer=tokens), LaunchOptions())
            for tokens in (100, 5000)
        ]
        assert found[0]["likely_nano"] == found[1]["likely_nano"] > 0

    @pytest.mark.django_db
    def test_without_a_usual_length_the_review_names_no_likely_cost(self):
        inputs, after = number_inputs(1, 2)
        plan = LaunchPlan("talks", [PlannedArm(make_variant(), "session", "")], inputs, after=after)
        assert review_launch(plan, LaunchOptions())["likely_nano"] is None


class TestEstimate:
    """After two sessions of three questions: the costs are set by hand."""

    def answer_two_sessions(self, study):
        batch = launch_talks(study, sessions=4, pilot=5)
        for _ in range(3):
            step(batch)
        assert batch.state == "waiting"
        costs = {1: (100, 140), 2: (200, 220), 3: (300, 360)}
        for question, pair in costs.items():
            attempts = Attempt.objects.filter(
                cell__batch=batch, cell__input_id__in=[10 * session + question for session in range(1, 5)]
            ).order_by("pk")
            for attempt, cost in zip(attempts, pair, strict=True):
                Attempt.objects.filter(pk=attempt.pk).update(cost_nano=cost)
        return batch

    def test_each_depth_is_averaged_apart(self, study):
        batch = self.answer_two_sessions(study)
        # By hand: two sessions are left. Means 120, 210, 330; two calls left of each: 2 x 660.
        [arm] = estimate_batch(batch)["arms"]
        assert (arm["n"], arm["left"], arm["mid"]) == (6, 6, 1320)

    def test_sessions_that_were_begun_have_their_dearer_questions_left(self, study):
        batch = self.answer_two_sessions(study)
        actions.confirm_batch(batch=batch, by=trail.SYSTEM)
        calls = step(batch, 2)
        Attempt.objects.filter(cell__in=[call.leased.cell_id for call in calls]).update(cost_nano=120)
        # Two calls of the second and two of the third question are left: 2 x (210 + 330), and not 4 x the mean of all.
        [arm] = estimate_batch(batch)["arms"]
        assert (arm["left"], arm["mid"]) == (4, 1080)

    def test_before_any_call_the_most_counts_the_history(self, study):
        batch = launch_talks(study)
        inputs, after = number_inputs(1, 3)
        arm = batch.arms.select_related("variant__account").get()
        planned = PlannedArm(arm.variant, "session", "You are asked.")
        review = review_launch(LaunchPlan("talks", [planned], inputs, after=after), LaunchOptions())
        assert estimate_batch(batch)["high"] == review["highest_nano"]


class TestPages:
    def read(self, client, name, *keys):
        return client.get(reverse(f"batches:{name}", args=keys)).content.decode()

    def test_the_page_of_a_batch_counts_what_waits(self, study, lead, client_of):
        batch = launch_talks(study, sessions=2)
        assert "4 waiting for an earlier answer" in self.read(client_of(lead), "detail", study.slug, batch.pk)

    def test_the_page_of_an_attempt_shows_what_was_said_before_and_the_reasoning(self, study, lead, client_of):
        batch = launch_talks(study)
        step(batch)
        step(batch)
        attempt = Attempt.objects.get(cell__input_id=12)
        page = self.read(client_of(lead), "attempt", study.slug, batch.pk, attempt.pk)
        assert "3 messages before the question, exactly as sent" in page
        assert "<h3>Assistant</h3>" in page
        assert "To “Question 11” after 0." in page
        assert "hash matches" in page
        assert "Hidden thoughts." in page

    def test_the_stream_of_answers_has_both(self, study):
        batch = launch_talks(study)
        step(batch)
        step(batch)
        first, second = read_answers(batch, visibility=EVERYTHING)
        assert (first["history"], first["reasoning"]) == (None, "Hidden thoughts.")
        assert second["history"] == read_histories(batch)[12]


class TestPilot:
    def test_a_pilot_draws_whole_sessions(self, study):
        batch = launch_talks(study, sessions=9, pilot=5)
        chosen = Cell.objects.filter(batch=batch, pilot=True)
        sessions = {number // 10 for number in chosen.values_list("input_id", flat=True)}
        assert (batch.state, batch.pilot_cells, len(chosen), len(sessions)) == ("pilot", 6, 6, 2)

    def test_a_pilot_ends_with_the_last_question_of_its_sessions(self, study):
        batch = launch_talks(study, sessions=9, pilot=3)
        assert [len(step(batch)) for _ in range(3)] == [1, 1, 1]
        assert batch.state == "waiting"
        actions.confirm_batch(batch=batch, by=trail.SYSTEM)
        assert len(claim(batch, 100)) == 8

    @pytest.mark.django_db
    def test_the_review_names_its_calls(self):
        inputs, after = number_inputs(9, 3)
        plan = LaunchPlan("talks", [PlannedArm(make_variant(), "session", "")], inputs, after=after)
        assert review_launch(plan, LaunchOptions(pilot=5))["pilot_cells"] == 6


@pytest.mark.django_db(transaction=True)
def test_a_large_launch_links_its_conversations_too(study, monkeypatch):
    monkeypatch.setattr(grids, "SMALL_SIZE", 10)
    monkeypatch.setattr(grids, "CELLS_AT_A_TIME", {connection.vendor: 4})
    batch = launch_talks(study, sessions=5, repeats=2, pilot=6)
    assert (batch.state, batch.pilot_cells) == ("pilot", 6)
    pairs = Cell.objects.filter(batch=batch, state="blocked").values_list("input_id", "after__input_id", "repeat")
    assert sorted(pairs) == sorted(
        (10 * session + question, 10 * session + question - 1, repeat)
        for session in range(1, 6)
        for question in (2, 3)
        for repeat in (1, 2)
    )
    assert not Cell.objects.filter(batch=batch, after__isnull=False).exclude(after__repeat=F("repeat")).exists()


def test_cells_planned_one_after_the_other_have_growing_keys(study):
    """Cells of conversations choose their keys; those that come later, of a conversation or not, get further ones."""
    variant = make_variant()
    batches = [launch_talks(study, variant, sessions=2, questions=questions) for questions in (3, 1, 2)]
    keys = [list(Cell.objects.filter(batch=each).order_by("pk").values_list("pk", "input_id")) for each in batches]
    assert [number for _, number in keys[0]] == [11, 12, 13, 21, 22, 23]
    found = [key for batch in keys for key, _ in batch]
    assert found == sorted(found)


class TestInvariants:
    """Each break is made in the rows themselves: the product makes none."""

    def test_a_finished_conversation_breaks_none(self, study):
        batch = launch_talks(study, kind="scripts", sessions=2, repeats=2)
        assert verify_batches() == []
        for _ in range(3):
            step(batch)
            assert verify_batches() == []

    def test_nor_does_one_that_failed_and_is_taken_up_again(self, study):
        batch = launch_talks(study, sessions=2)
        step(batch)
        finish(batch, claim(batch, 1), GIVEN_UP)
        assert verify_batches() == []
        actions.retry_failed(batch=batch, by=trail.SYSTEM)
        assert verify_batches() == []

    def find_break(self):
        return " ".join(sentence for broken, _, sentence in verify_batches() if broken == "I9")

    def test_a_history_that_is_not_what_was_said_is_found(self, study):
        batch = launch_talks(study)
        step(batch)
        step(batch)
        attempt = Attempt.objects.get(cell__input_id=12)
        assert attempt.history is not None
        attempt.history[-1]["content"] += " And more."
        attempt.save()
        assert "sent another history" in self.find_break()

    def test_a_call_that_was_written_before_the_answer_is_found(self, study):
        batch = launch_talks(study)
        step(batch)
        step(batch)
        Attempt.objects.filter(cell__input_id=12).update(written_at=batch.created_at)
        assert "before the answer it continues" in self.find_break()

    def test_a_cell_that_still_waits_behind_an_answer_is_found(self, study):
        batch = launch_talks(study)
        step(batch)
        Cell.objects.filter(batch=batch, input_id=12).update(state="blocked")
        assert "still wait although" in self.find_break()

    def test_a_cell_that_did_not_wait_is_found(self, study):
        batch = launch_talks(study)
        Cell.objects.filter(batch=batch, input_id=12).update(state="planned")
        assert "did not wait" in self.find_break()

    def test_a_cell_that_waits_for_none_is_found(self, study):
        batch = launch_talks(study)
        Cell.objects.filter(batch=batch, input_id=12).update(after=None)
        assert "wait for no other cell" in self.find_break()
