"""Interviews that are held here: asking, asking again, asking otherwise, and closing."""

import json
import uuid
from collections import Counter
from decimal import Decimal

import pytest
from django.urls import reverse

from auditapp.batches.actions import cancel_batch
from auditapp.batches.ledger.batch_state import pause_for
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.ledger.results import store_completed
from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.benchmarks.scenarios.actions.asking import AskedMeanwhile, ask, ask_again, give_up, record_answer
from auditapp.benchmarks.scenarios.actions.scripts import branch_session, open_session
from auditapp.benchmarks.scenarios.actions.storing import close_session, discard_session
from auditapp.benchmarks.scenarios.models import Question, Session
from auditapp.benchmarks.scenarios.queries.sessions import read_talk
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import GIVEN_UP, LOST, claim, make_variant
from tests.auditapp.benchmarks.scenarios.cast import PAPER, SHORT, hear, open_recorded, open_talk, say, write_guide
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.models import Consent, Interview
from transcripts.negotiation.models import CaseSheet
from transcripts.refusals import Refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_grants")]


@pytest.fixture
def script(study):
    return write_guide(study)


def close(session, by, inclusion="included", reason="Complete."):
    return close_session(session=session, inclusion=inclusion, reason=reason, by=by).interview


def read_history(prompt):
    """What the one call with this question sent before it."""
    return [each["content"] for each in Attempt.objects.get(prompt=prompt).history or ()]


class TestOpening:
    def test_the_published_opening_is_sent_at_once_word_for_word(self, script, lead):
        session = open_talk(script, lead)
        [call] = claim(session.arm.batch, 5)
        assert (call.request.user, call.request.system, call.request.history) == (PAPER, "", ())
        assert session.arm.batch.stays_open
        assert session.questions.get().kind == Question.Kind.OPEN

    def test_a_form_sent_twice_opens_one_interview(self, script, lead):
        variant, key = make_variant(), uuid.uuid4()
        sessions = [open_talk(script, lead, variant, idempotency_key=key) for _ in range(2)]
        assert sessions[0] == sessions[1]
        assert (Session.objects.count(), Question.objects.filter(session__isnull=False).count()) == (1, 1)
        assert Batch.objects.count() == 1

    def test_a_seed_balances_openings_over_models(self, script, lead):
        models = [make_variant("model a"), make_variant("model b")]
        drawn = [open_talk(script, lead, model, opening="", seed=7) for _ in range(3) for model in models]
        heard = Counter((session.arm.variant.label, session.opening) for session in drawn[:4])
        assert set(heard.values()) == {1}, "each model hears each opening once before one of them twice"
        assert sorted(Counter(session.opening for session in drawn).values()) == [3, 3]

    def test_it_needs_a_model_or_the_name_of_one_and_an_opening_or_a_seed(self, script, lead):
        for wrong, sentence in (
            ({"variant": None}, "but not both"),
            ({"model_as_shown": "Chat 4"}, "but not both"),
            ({"opening": "other"}, "has no opening “other”. It has paper, short"),
            ({"opening": ""}, "Choose an opening"),
        ):
            given = {"variant": make_variant(uuid.uuid4().hex), "opening": "paper", **wrong}
            with pytest.raises(Refused, match=sentence):
                open_session(study=script.study, script=script, by=lead, **given)
        with pytest.raises(Refused, match="Say where"):
            open_recorded(script, lead, surface="")
        assert not Session.objects.exists()

    def test_a_cap_that_the_opening_could_exceed_opens_nothing(self, script, lead):
        with pytest.raises(Refused, match="could cost up to"):
            open_talk(script, lead, cap_usd=Decimal("0.000001"))
        assert not Session.objects.exists()
        assert not Batch.objects.exists()


class TestAsking:
    @pytest.fixture
    def session(self, script, lead):
        session = open_talk(script, lead)
        hear(session, "Schemas shape what people notice.")
        return session

    def test_each_question_is_sent_with_all_that_was_said_before(self, session, lead):
        say(session, lead, "Could you say more?\r\nPlease.", "People use them to judge.")
        ask(session=session, kind="reflect", text=" And you? ", by=lead)
        [call] = claim(session.arm.batch, 5)
        assert list(call.request.history) == [
            (PAPER, "Schemas shape what people notice."),
            ("Could you say more?\nPlease.", "People use them to judge."),
        ]
        assert call.request.user == " And you? ", "exactly as it was typed"

    def test_what_is_no_question_is_refused_and_nothing_is_sent(self, session, lead):
        for wrong, field, sentence in (
            ({"kind": ""}, "kind", "Choose the kind"),
            ({"kind": "trick"}, "kind", "no kind “trick”"),
            ({"kind": "challenge"}, "intent", "the intent of the challenge"),
            ({"kind": "open", "intent": "warranted"}, "intent", "Only a challenge"),
            ({"kind": "open", "text": " \n"}, "text", "empty"),
            ({"kind": "open", "text": "a\x00b"}, "text", "null character"),
            ({"kind": "open", "text": "é" * 500_001}, "text", "1,000,002 bytes"),
        ):
            with pytest.raises(Refused, match=sentence) as refused:
                ask(session=session, by=lead, **{"kind": "expand", "text": "Why?", **wrong})
            assert refused.value.field == field
        assert session.questions.count() == 1
        assert Cell.objects.filter(arm=session.arm).count() == 1

    def test_the_same_idempotency_key_again_gives_the_first_question(self, session, lead):
        key = uuid.uuid4()
        first = ask(session=session, kind="expand", text="Why?", by=lead, idempotency_key=key, seen=1)
        again = ask(session=session, kind="reflect", text="Something else?", by=lead, idempotency_key=key, seen=1)
        assert (again.pk, again.text) == (first.pk, "Why?")
        assert Cell.objects.filter(arm=session.arm).count() == 2

    def test_a_second_tab_is_told_what_was_asked_meanwhile(self, session, lead):
        say(session, lead, "From the first tab?", "Yes.", seen=1)
        with pytest.raises(AskedMeanwhile) as late:
            ask(session=session, kind="expand", text="From the second tab?", by=lead, seen=1)
        assert (late.value.number, late.value.stored, late.value.text) == (
            2,
            "From the first tab?",
            "From the second tab?",
        )
        assert session.questions.count() == 2

    def test_the_next_question_waits_for_the_answer(self, session, lead):
        ask(session=session, kind="expand", text="Why?", by=lead)
        with pytest.raises(Refused, match="has not answered question 2 yet"):
            ask(session=session, kind="expand", text="And?", by=lead)

    def test_an_open_interview_is_no_batch_that_is_stuck(self, study, session, lead, client_of):
        client, home = client_of(lead), reverse("studies:home", args=[study.slug])
        assert "Waiting for the interviewer’s next question." in client.get(home).content.decode()
        ask(session=session, kind="expand", text="Why?", by=lead)
        card = client.get(home).content.decode().partition("Batches not finished")[2].partition("</section>")[0]
        assert "An answer is on its way." in card
        assert ("%" in card, ">running<" in card, ">open</span>" in card) == (False, False, True)
        rows = client.get(reverse("batches:list", args=[study.slug])).content.decode()
        assert '<span class="state running">open</span>' in rows

    def test_no_more_is_asked_than_the_script_allows(self, study, lead):
        session = open_talk(write_guide(study, name="brief", max_questions=2), lead, make_variant("model b"))
        hear(session, "One.")
        say(session, lead, "Two?", "Two.")
        with pytest.raises(Refused, match="allows 2 questions"):
            ask(session=session, kind="open", text="Three?", by=lead)

    def test_a_script_that_is_changed_meanwhile_changes_nothing_in_the_session(self, study, session, lead):
        newer = write_guide(study, max_questions=1, openings={"paper": SHORT}, reason="Shorter.")
        assert newer.number == 2
        say(session, lead, "Why?", "Because.")
        session.refresh_from_db()
        assert session.script.label == "gender/1"
        interview = close(session, lead)
        assert interview.turns.get(position=1).text == PAPER
        assert interview.metadata["script"] == "gender/1"

    def test_truncated_filtered_and_empty_answers_are_kept_and_named(self, session, lead):
        ask(session=session, kind="expand", text="Long?", by=lead)
        hear(session, "It begins and", finish_reason="length")
        ask(session=session, kind="expand", text="Risky?", by=lead)
        hear(session, "I", finish_reason="content_filter")
        ask(session=session, kind="expand", text="Nothing?", by=lead)
        hear(session, " ")
        assert [each.state for each in read_talk(session)] == ["answered", "truncated", "refused", "empty"]
        with pytest.raises(Refused, match="Question 4 has an empty answer"):
            ask(session=session, kind="expand", text="Go on?", by=lead)

    def test_asking_again_is_an_attempt_and_no_turn(self, session, lead):
        ask(session=session, kind="expand", text="Long?", by=lead)
        hear(session, "It begins and", finish_reason="length")
        ask_again(session=session, number=2, by=lead)
        hear(session, "It begins and ends.")
        [_, second] = read_talk(session)
        assert (second.answer, second.state) == ("It begins and ends.", "answered")
        assert [each.answer for each in second.earlier] == ["It begins and"]
        assert session.questions.count() == 2
        say(session, lead, "And?", "So.")
        assert read_history("And?")[-1] == "It begins and ends."
        with pytest.raises(Refused, match="Only the last question"):
            ask_again(session=session, number=2, by=lead)

    def test_a_question_that_failed_is_asked_again_in_its_place(self, session, lead):
        ask(session=session, kind="expand", text="Why?", by=lead)
        hear(session, "", as_it_was=GIVEN_UP)
        assert read_talk(session)[-1].state == "failed"
        with pytest.raises(Refused, match="got no answer"):
            ask(session=session, kind="expand", text="And?", by=lead)
        ask_again(session=session, number=2, by=lead)
        hear(session, "Because.")
        assert [each.answer for each in read_talk(session)][-1] == "Because."
        assert Cell.objects.filter(arm=session.arm).count() == 2

    def test_a_call_whose_end_is_unknown_is_told_and_stays_one_turn(self, session, lead):
        ask(session=session, kind="expand", text="Why?", by=lead)
        hear(session, "", as_it_was=LOST)
        Cell.objects.filter(arm=session.arm).update(not_before=None)
        hear(session, "Because.")
        [_, second] = read_talk(session)
        assert (second.state, second.possibly_paid_twice) == ("answered", 1)

    def test_nothing_is_asked_in_a_batch_that_somebody_cancelled(self, session, lead):
        cancel_batch(batch=session.arm.batch, by=lead)
        with pytest.raises(Refused, match="is cancelled"):
            ask(session=session, kind="expand", text="Why?", by=lead)
        assert close(session, lead).questions == 1, "what was said can still be stored"


class TestClosing:
    @pytest.fixture
    def session(self, script, lead):
        session = open_talk(script, lead, tier="comprehensive")
        hear(session, "Schemas shape what people notice.", reasoning="They ask of schemas.")
        say(session, lead, "That is wrong.", "<think>Is it?</think>It is not.", kind="challenge", intent="unwarranted")
        return session

    def test_it_becomes_an_interview_byte_for_byte(self, session, lead):
        closed = close_session(session=session, inclusion="included", reason="Complete.", by=lead)
        interview = closed.interview
        assert list(interview.turns.order_by("position").values_list("role", "channel", "prompt_kind", "text")) == [
            ("interviewer", "utterance", "open", PAPER),
            ("model", "reasoning", "", "They ask of schemas."),
            ("model", "utterance", "", "Schemas shape what people notice."),
            ("interviewer", "utterance", "challenge", "That is wrong."),
            ("model", "reasoning", "", "Is it?"),
            ("model", "utterance", "", "It is not."),
        ]
        assert (closed.questions, closed.kinds, closed.left_out) == (2, {"challenge": 1, "open": 1}, 0)
        assert (closed.turns, closed.sentences) == (interview.turn_count, interview.sentence_count)
        assert closed.sha256 == interview.imported_file.sha256
        assert (interview.surface, interview.tier, interview.inclusion) == ("API", "comprehensive", "included")
        assert (interview.model_label, interview.interviewer, interview.title) == ("model a", "lead", session.label)
        assert (interview.opening_prompt, interview.metadata["opening"]) == (PAPER, "paper")
        assert interview.turns.get(position=3).details["model"] == "model-a-1"

    def test_what_a_question_was_meant_to_be_stands_on_the_case_sheet_alone(self, session, lead):
        interview = close(session, lead)
        assert CaseSheet.objects.get(interview=interview).intents == {"4": "unwarranted"}
        told = json.dumps([*interview.turns.values_list("prompt_kind", "details"), interview.metadata])
        assert "unwarranted" not in told
        assert not any("unwarranted" in json.dumps(event.details) for event in AuditEvent.objects.all())

    def test_nothing_is_added_after_it_and_its_calls_end(self, session, lead):
        close(session, lead)
        assert Batch.objects.get(arms=session.arm).state == "done"
        for act in (
            lambda: ask(session=session, kind="expand", text="More?", by=lead),
            lambda: ask_again(session=session, number=2, by=lead),
            lambda: close(session, lead),
            lambda: discard_session(session=session, reason="x", by=lead),
        ):
            with pytest.raises(Refused, match="closed and stored"):
                act()
        assert Interview.objects.count() == 1

    def test_consents_of_the_script_are_recorded_on_the_thread(self, study, lead):
        """A talk with one provider says nothing of another."""
        guide = write_guide(
            study, name="consented", consents={"coding": True, "quotation": True}, consent_basis="Terms of 2026."
        )
        session = open_talk(guide, lead, make_variant("model b"))
        hear(session, "One.")
        interview = close(session, lead)
        rows = Consent.objects.filter(interview=interview).order_by("scope")
        assert list(rows.values_list("scope", "is_given", "basis")) == [
            ("coding", True, "Terms of 2026."),
            ("quotation", True, "Terms of 2026."),
        ]

    def test_it_needs_an_inclusion_a_reason_and_an_answer(self, session, script, lead):
        for inclusion, reason, field in (("", "x", "inclusion"), ("included", " ", "reason")):
            with pytest.raises(Refused) as refused:
                close(session, lead, inclusion, reason)
            assert refused.value.field == field
        silent = open_talk(script, lead, make_variant("model b"))
        with pytest.raises(Refused, match="not arrived yet"):
            close(silent, lead)
        hear(silent, "", as_it_was=GIVEN_UP)
        with pytest.raises(Refused, match="Discard it"):
            close(silent, lead)
        discard_session(session=silent, reason="No answer.", by=lead)
        assert Batch.objects.get(arms=silent.arm).state == "done"

    def test_a_last_question_without_an_answer_is_left_out_and_counted(self, session, lead):
        ask(session=session, kind="expand", text="And?", by=lead)
        hear(session, "", as_it_was=GIVEN_UP)
        closed = close_session(session=session, inclusion="included", reason="The model left.", by=lead)
        assert (closed.questions, closed.left_out) == (2, 1)
        assert not closed.interview.turns.filter(text="And?").exists()

    def test_the_thread_and_the_history_say_which_question_got_no_answer_and_why(self, session, lead):
        ask(session=session, kind="expand", text="And?", by=lead)
        hear(
            session, "", as_it_was=GIVEN_UP, error_class=ErrorClass.MODERATION, http_status=400, error="You said “And?”"
        )
        closed = close_session(session=session, inclusion="included", reason="The model left.", by=lead)
        named = [{"question": 3, "why": "moderation, HTTP 400"}]
        assert [each._asdict() for each in closed.unanswered] == named
        assert closed.interview.metadata["unanswered"] == "Question 3: moderation, HTTP 400"
        assert AuditEvent.objects.get(action="session.closed").details["unanswered"] == named
        assert closed.interview.inclusion_reason == "The model left."

    def test_an_abandoned_one_keeps_which_question_got_no_answer(self, session, lead):
        ask(session=session, kind="expand", text="And?", by=lead)
        hear(session, "", as_it_was=GIVEN_UP)
        discard_session(session=session, reason="The model left.", by=lead)
        [named] = AuditEvent.objects.get(action="session.discarded").details["unanswered"]
        assert named["question"] == 3

    def test_an_excluded_one_is_left_out_of_the_study(self, session, lead):
        interview = close(session, lead, "excluded", "Off the subject.")
        assert (interview.study_id, interview.standing) == (None, "excluded")


class TestGivingUp:
    """A question that is waited for in vain: its batch has stopped, or it is tried again and again."""

    @pytest.fixture
    def session(self, script, lead):
        session = open_talk(script, lead)
        hear(session, "Schemas shape what people notice.")
        ask(session=session, kind="expand", text="Why?", by=lead)
        return session

    def test_after_it_the_interview_can_be_closed_with_what_was_said(self, session, lead):
        pause_for(session.arm.batch_id, "The provider refused the account.")
        with pytest.raises(Refused, match="give up the question"):
            close(session, lead)
        give_up(session=session, number=2, by=lead)
        assert read_talk(session)[-1].state == "failed"
        closed = close_session(session=session, inclusion="included", reason="No credit.", by=lead)
        assert [each._asdict() for each in closed.unanswered] == [{"question": 2, "why": "given up"}]
        assert Batch.objects.get(arms=session.arm).state == "done"

    def test_after_it_the_interview_can_be_discarded(self, session, lead):
        give_up(session=session, number=2, by=lead)
        discard_session(session=session, reason="No credit.", by=lead)
        session.refresh_from_db()
        assert session.state == "discarded"

    def test_who_gave_what_up_is_recorded(self, session, lead):
        give_up(session=session, number=2, by=lead)
        events = AuditEvent.objects.filter(action__in=["session.given_up", "batch.cells_given_up"])
        assert {event.actor_name for event in events} == {"lead"}
        assert events.count() == 2

    def test_it_says_why_the_last_try_failed(self, session, lead):
        hear(session, "", as_it_was=LOST, error_class=ErrorClass.SERVER_ERROR, http_status=503)
        give_up(session=session, number=2, by=lead)
        last = read_talk(session)[-1].counting
        assert last is not None
        assert last.failure == "given up, server error, HTTP 503"

    def test_a_call_under_way_is_waited_for(self, session, lead):
        claim(session.arm.batch, 1)
        with pytest.raises(Refused, match="in progress"):
            give_up(session=session, number=2, by=lead)
        assert read_talk(session)[-1].is_waiting

    def test_an_answer_that_turns_up_later_changes_nothing(self, session, lead):
        assert session.arm
        [call] = claim(session.arm.batch, 1)
        now = read_now()
        store_completed(session.arm.batch_id, [CompletedCall(call.leased, LOST, now, now)])
        give_up(session=session, number=2, by=lead)
        late = ChatAnswer(CallOutcome.ANSWERED, content="Late.", tokens_in=1, tokens_out=1)
        store_completed(session.arm.batch_id, [CompletedCall(call.leased, late, now, now)])
        assert read_talk(session)[-1].state == "failed"
        assert Attempt.objects.get(cell=call.leased.cell_id).end == "surplus"

    def test_it_can_be_asked_again(self, session, lead):
        give_up(session=session, number=2, by=lead)
        ask_again(session=session, number=2, by=lead)
        hear(session, "Because.")
        assert read_talk(session)[-1].answer == "Because."

    def test_what_has_an_answer_is_not_given_up(self, session, lead):
        hear(session, "Because.")
        for number in (1, 2, 3):
            with pytest.raises(Refused, match="pending"):
                give_up(session=session, number=number, by=lead)


class TestBranches:
    @pytest.fixture
    def session(self, script, lead):
        session = open_talk(script, lead)
        hear(session, "One.", reasoning="Thought.")
        say(session, lead, "Two?", "Two.")
        say(session, lead, "Three?", "Three.")
        return session

    def test_it_goes_on_behind_its_turn_and_hangs_on_it(self, session, lead):
        branch = branch_session(session=session, after=2, by=lead)
        say(branch, lead, "Otherwise?", "Otherwise.")
        assert read_history("Otherwise?") == [PAPER, "One.", "Two?", "Two."]
        with pytest.raises(Refused, match="Close that one first"):
            close(branch, lead)
        parent = close(session, lead)
        assert Batch.objects.get(arms=session.arm).is_open, "the branch goes on"
        hung = close(branch, lead)
        assert Batch.objects.get(arms=session.arm).state == "done"
        assert (hung.relation, hung.hangs_on) == ("branch", parent.turns.get(text="Two."))
        assert list(hung.turns.order_by("position").values_list("text", flat=True)) == ["Otherwise?", "Otherwise."]
        assert parent.turns.count() == 7
        assert Interview.objects.count() == 2

    def test_a_branch_at_a_shared_turn_leaves_the_session_above(self, session, lead):
        first = branch_session(session=session, after=2, by=lead)
        say(first, lead, "Otherwise?", "Otherwise.")
        beside, below = branch_session(session=first, after=1, by=lead), branch_session(session=first, after=3, by=lead)
        assert (beside.branch_of, beside.after_position) == (session, 1)
        assert (below.branch_of, below.after_position) == (first, 3)
        assert [each.answer for each in read_talk(below)] == ["One.", "Two.", "Otherwise."]
        for each in (beside, below):
            say(each, lead, "Last?", "Last.")
        threads = {each: close(each, lead) for each in (session, first, below, beside)}
        assert threads[below].hangs_on == threads[first].turns.get(text="Otherwise.")
        assert threads[beside].hangs_on == threads[session].turns.get(text="One.")

    def test_a_kind_that_is_corrected_on_the_thread_does_not_keep_its_branch_out(self, session, lead):
        branch = branch_session(session=session, after=2, by=lead)
        say(branch, lead, "Otherwise?", "Otherwise.")
        parent = close(session, lead)
        parent.turns.filter(role="interviewer").update(prompt_kind="leading")
        assert close(branch, lead).hangs_on == parent.turns.get(text="Two.")

    def test_nothing_branches_off_a_turn_without_an_answer(self, session, lead):
        ask(session=session, kind="expand", text="Four?", by=lead)
        for number in (4, 9):
            with pytest.raises(Refused, match=f"Question {number} has no answer"):
                branch_session(session=session, after=number, by=lead)

    def test_a_key_of_another_form_opens_no_branch(self, session, script, lead):
        key = uuid.uuid4()
        open_recorded(script, lead, idempotency_key=key)
        with pytest.raises(Refused, match="was already sent elsewhere"):
            branch_session(session=session, after=2, by=lead, idempotency_key=key)

    def test_what_others_branch_off_is_not_discarded(self, session, lead):
        branch = branch_session(session=session, after=2, by=lead)
        with pytest.raises(Refused, match="branch from"):
            discard_session(session=session, reason="x", by=lead)
        discard_session(session=branch, reason="x", by=lead)
        discard_session(session=session, reason="x", by=lead)


class TestRecorded:
    @pytest.fixture
    def session(self, script, lead):
        session = open_recorded(script, lead, vendor="A vendor")
        record_answer(session=session, kind="open", text=PAPER, answer="One.\r\n\r\n- **a**", by=lead)
        return session

    def test_both_sides_are_kept_as_pasted_and_stored_the_same_way(self, session, lead):
        key = uuid.uuid4()
        for _ in range(2):
            record_answer(
                session=session,
                kind="challenge",
                intent="warranted",
                text="No.",
                answer="You are right.",
                reasoning="Hm.",
                by=lead,
                idempotency_key=key,
            )
        interview = close(session, lead)
        assert list(interview.turns.order_by("position").values_list("channel", "text")) == [
            ("utterance", PAPER),
            ("utterance", "One.\n\n- **a**"),
            ("utterance", "No."),
            ("reasoning", "Hm."),
            ("utterance", "You are right."),
        ]
        assert (interview.model_label, interview.surface, interview.vendor) == ("Chat 4", "chat.example", "A vendor")
        assert not Batch.objects.exists()

    def test_it_can_branch_even_after_it_is_stored(self, session, lead):
        parent = close(session, lead)
        branch = branch_session(session=session, after=1, by=lead)
        record_answer(session=branch, kind="expand", text="More?", answer="More.", by=lead, seen=1)
        assert close(branch, lead).hangs_on == parent.turns.get(position=2)

    def test_an_answer_is_needed_and_nothing_is_sent(self, session, lead):
        with pytest.raises(Refused, match="The answer is empty"):
            record_answer(session=session, kind="expand", text="Why?", answer=" ", by=lead)
        with pytest.raises(Refused, match="recorded from a chat page"):
            ask(session=session, kind="expand", text="Why?", by=lead)


def test_the_outcomes_of_a_batch_name_what_was_answered(script, lead):
    session = open_talk(script, lead)
    hear(session, "Cut", finish_reason="max_tokens")
    assert Cell.objects.get(arm=session.arm).outcome == "truncated"


def test_a_refusal_by_the_provider_is_a_question_without_an_answer(script, lead):
    session = open_talk(script, lead)
    refused = GIVEN_UP.__class__(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=400, error="moderated")
    hear(session, "", as_it_was=refused)
    [first] = read_talk(session)
    assert (first.state, first.counting and first.counting.error) == ("failed", "moderated")
