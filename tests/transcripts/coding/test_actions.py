"""Rules of coding: what may be put where, and that every act is stored once."""

from unittest.mock import patch
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import (
    count_events,
    decide,
    find_code,
    last_event,
    put,
    restore,
    standing_codes,
    take_off,
)
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding import actions, queries
from transcripts.coding.actions.boundary_edits import split_sentence
from transcripts.coding.models import Blinding, Coding
from transcripts.corpus.models import Sentence, Turn
from transcripts.corpus.pure.boundaries import Extent
from transcripts.refusals import WrongInput


def publish_second_version(study, identifier):
    """Version 2 with one code of version 1, and published."""
    before = find_code(study, identifier)
    now = timezone.now()
    version = CodebookVersion.objects.create(
        study=study, number=2, title="Second", created_at=now, status="published", published_at=now
    )
    family = CodeFamily.objects.create(
        version=version, identifier="themes", name="Themes", position=1, carries_level=True
    )
    return Code.objects.create(
        version=version, family=family, identifier=identifier, name=before.name, key=before.key, position=1
    )


class TestPutting:
    def test_a_code_is_stored_with_its_blinding_and_one_event(self, study, sentence, code, coder):
        events = count_events(study)
        coding = put(sentence, code, coder)
        assert (coding.blinding, coding.level, coding.withdrawn_at) == (Blinding.BLIND, "semantic", None)
        assert standing_codes(sentence, coder) == ["theme.balance"]
        assert count_events(study) == events + 1
        event = last_event(study)
        assert (event.action, event.actor_name) == ("coding.added", "coder")
        assert event.details["sentence"] == sentence.pk
        assert trail.find_first_break(trail.study_stream(study.pk)) is None

    def test_same_act_sent_twice_is_stored_once(self, study, sentence, code, coder):
        idempotency_key = uuid4()
        first = put(sentence, code, coder, idempotency_key=idempotency_key)
        events = count_events(study)
        assert put(sentence, code, coder, idempotency_key=idempotency_key) == first
        assert count_events(study) == events

    def test_replay_after_withdrawal_does_not_put_the_code_back(self, sentence, code, coder):
        idempotency_key = uuid4()
        coding = put(sentence, code, coder, idempotency_key=idempotency_key)
        take_off(coding, coder)
        assert put(sentence, code, coder, idempotency_key=idempotency_key) == coding
        assert standing_codes(sentence, coder) == []

    def test_idempotency_key_of_another_act_is_refused(self, study, sentence, code, coder):
        idempotency_key = uuid4()
        put(sentence, code, coder, idempotency_key=idempotency_key)
        with pytest.raises(actions.UsedForAnother):
            put(sentence, find_code(study, "theme.compassion"), coder, idempotency_key=idempotency_key)

    def test_two_people_may_use_the_same_idempotency_key(self, sentence, code, coder, second_coder):
        idempotency_key = uuid4()
        first = put(sentence, code, coder, idempotency_key=idempotency_key)
        assert put(sentence, code, second_coder, idempotency_key=idempotency_key) != first

    def test_code_that_stands_is_left_as_it_is(self, sentence, code, coder):
        first = put(sentence, code, coder)
        assert put(sentence, code, coder) == first
        assert Coding.objects.count() == 1

    def test_other_level_supersedes(self, study, sentence, code, coder):
        before = put(sentence, code, coder)
        after = put(sentence, code, coder, level="latent", note="  Reads a picture\nof the class ")
        before.refresh_from_db()
        assert before.withdrawn_at is not None
        assert before.superseded_by == after
        assert after.note == "Reads a picture of the class"
        assert last_event(study).action == "coding.changed"
        assert standing_codes(sentence, coder) == ["theme.balance"]

    def test_same_code_of_newer_version_supersedes(self, study, sentence, code, coder):
        before = put(sentence, code, coder)
        after = put(sentence, publish_second_version(study, code.identifier), coder)
        before.refresh_from_db()
        assert before.superseded_by == after

    def test_code_of_older_published_version_is_pinned_as_such(self, study, sentence, code, coder):
        publish_second_version(study, "theme.compassion")
        assert put(sentence, code, coder).code.version.number == 1

    def test_several_codes_share_a_sentence(self, study, sentence, code, coder):
        put(sentence, code, coder)
        put(sentence, find_code(study, "move.revise"), coder, enactment="enacted")
        assert standing_codes(sentence, coder) == ["move.revise", "theme.balance"]

    def test_code_of_turns_stands_on_the_first_sentence_of_the_turn(self, study, sentence, coder):
        last = sentence.turn.sentences.select_related("turn").order_by("-position")[0]
        assert put(last, find_code(study, "feature.task"), coder).sentence == sentence

    def test_failed_act_leaves_nothing(self, study, sentence, code, coder):
        before = put(sentence, code, coder)
        with (
            patch.object(trail, "record", side_effect=RuntimeError("disk full")),
            pytest.raises(RuntimeError, match="disk full"),
        ):
            put(sentence, code, coder, level="latent", note="Reads it")
        before.refresh_from_db()
        assert before.withdrawn_at is None
        assert Coding.objects.count() == 1


class TestRefusals:
    def test_latent_needs_a_line(self, sentence, code, coder):
        with pytest.raises(WrongInput, match="one line") as refusal:
            put(sentence, code, coder, level="latent", note="  ")
        assert refusal.value.field == "note"

    def test_level_only_where_the_family_carries_it(self, study, sentence, coder):
        with pytest.raises(WrongInput, match="Codes of Case features have no level"):
            put(sentence, find_code(study, "feature.task"), coder, level="latent", note="Reads it")

    def test_enactment_only_where_the_family_carries_it(self, sentence, code, coder):
        with pytest.raises(WrongInput, match="Codes of Themes have no enactment"):
            put(sentence, code, coder, enactment="enacted")

    def test_a_move_needs_its_enactment(self, study, sentence, coder):
        words = "Revise needs its enactment. Choose enacted, demonstrated or described."
        with pytest.raises(WrongInput, match=words) as refused:
            put(sentence, find_code(study, "move.revise"), coder, enactment="")
        assert refused.value.field == "enactment"
        assert not Coding.objects.exists()

    def test_the_codes_of_any_family_that_carries_enactment_need_it(self, sentence, code, coder):
        code.family.carries_enactment = True
        with pytest.raises(WrongInput, match="Balance needs its enactment"):
            put(sentence, code, coder, enactment="")

    def test_what_was_stored_without_enactment_is_restored_as_it_was_and_changed_only_with_one(
        self, study, sentence, coder
    ):
        code = find_code(study, "move.revise")
        old = put(sentence, code, coder)
        Coding.objects.update(enactment="")
        with pytest.raises(WrongInput, match="needs its enactment"):
            put(sentence, code, coder, enactment="", grounding="grounded")
        take_off(old, coder)
        old.refresh_from_db()
        back = restore(old, sentence, coder)
        assert (back.enactment, back.blinding) == ("", "blind")
        assert last_event(study).details["restores"] == old.pk
        assert put(sentence, code, coder, enactment="described").enactment == "described"

    def test_a_coding_is_restored_only_where_it_was(self, study, sentence, coder, second_coder):
        old = put(sentence, find_code(study, "move.revise"), coder)
        Coding.objects.update(enactment="")
        old.refresh_from_db()
        take_off(old, coder)
        other = sentence.turn.sentences.select_related("turn__interview").order_by("-position")[0]
        with pytest.raises(actions.WrongPlace, match=f"removed from sentence {sentence.label}, and undo restores"):
            restore(old, other, coder)
        with pytest.raises(actions.NotYours):
            restore(old, sentence, second_coder)
        assert not Coding.objects.active().exists()

    def test_a_coding_is_restored_on_what_a_split_made_of_its_sentence(self, study, sentence, coder, lead):
        middle = sentence.start + 6
        old = put(sentence, find_code(study, "theme.balance"), coder, quote=Extent(sentence.start, middle + 2))
        take_off(old, coder)
        edit = split_sentence(study=study, sentence=sentence, at=middle, by=lead, idempotency_key=uuid4())
        piece = edit.made.select_related("turn__interview").order_by("start")[0]
        back = restore(old, piece, coder)
        assert (back.sentence, back.quote) == (piece, (piece.start, piece.end))

    def test_a_question_that_the_codebook_requires_is_answered(self, study, sentence, coder):
        code = find_code(study, "theme.compassion")
        code.attributes[0]["required"] = True
        words = (
            r"Compassion needs an answer to “In which direction\?” \(direction\). "
            "Choose towards the user or others or about self."
        )
        with pytest.raises(WrongInput, match=words):
            put(sentence, code, coder, attributes={"direction": "  "})
        assert put(sentence, code, coder, attributes={"direction": "about self"}).attributes

    @pytest.mark.parametrize(("level", "enactment"), [("hidden", ""), ("semantic", "acted")])
    def test_unknown_choice(self, study, sentence, coder, level, enactment):
        with pytest.raises(WrongInput, match="There is no"):
            put(sentence, find_code(study, "move.revise"), coder, level=level, enactment=enactment)

    @pytest.mark.parametrize("note", ["a\x00b", "half \ud800", "x" * 1001])
    def test_note_that_cannot_be_stored(self, sentence, code, coder, note):
        with pytest.raises(WrongInput):
            put(sentence, code, coder, note=note)
        assert not Coding.objects.exists()

    def test_sentence_of_another_study(self, sentence, owner):
        other = start_study(slug="other", name="Other", by=owner)
        with pytest.raises(actions.WrongPlace):
            actions.add_coding(
                study=other,
                sentence=sentence,
                code=find_code(other, "theme.balance"),
                by=owner,
                idempotency_key=uuid4(),
            )

    def test_code_of_another_study(self, sentence, owner):
        other = start_study(slug="other", name="Other", by=owner)
        with pytest.raises(actions.WrongPlace):
            put(sentence, find_code(other, "theme.balance"), owner)

    def test_code_of_a_draft(self, study, sentence, coder):
        code = publish_second_version(study, "theme.balance")
        CodebookVersion.objects.filter(pk=code.version_id).update(status="draft", published_at=None)
        code = Code.objects.get(pk=code.pk)
        with pytest.raises(actions.WrongPlace, match="draft"):
            put(sentence, code, coder)

    def test_what_a_tool_gave_back_is_not_coded(self, sentence, code, coder):
        Turn.objects.filter(pk=sentence.turn_id).update(channel="tool_result")
        sentence = Sentence.objects.select_related("turn__interview__study").get(pk=sentence.pk)
        with pytest.raises(actions.WrongPlace, match="tool result"):
            put(sentence, code, coder)

    def test_nobody_takes_off_what_another_put(self, sentence, code, coder, lead):
        coding = put(sentence, code, coder)
        with pytest.raises(actions.NotYours):
            take_off(coding, lead)
        assert standing_codes(sentence, coder) == ["theme.balance"]

    def test_nobody_takes_back_another_decision(self, study, sentence, coder, lead):
        decision = decide(sentence, coder)
        with pytest.raises(actions.NotYours):
            actions.reopen_sentence(study=study, decision=decision, by=lead)


class TestWithdrawing:
    def test_row_stays(self, study, sentence, code, coder):
        coding = put(sentence, code, coder)
        take_off(coding, coder)
        coding.refresh_from_db()
        assert coding.withdrawn_at is not None
        assert last_event(study).action == "coding.withdrawn"

    def test_twice_is_once(self, study, sentence, code, coder):
        coding = put(sentence, code, coder)
        take_off(coding, coder)
        events = count_events(study)
        take_off(Coding.objects.get(pk=coding.pk), coder)
        assert count_events(study) == events

    def test_last_code_takes_the_decision_with_it(self, sentence, code, coder):
        coding = put(sentence, code, coder)
        decision = decide(sentence, coder)
        assert not decision.none_applies
        take_off(coding, coder)
        decision.refresh_from_db()
        assert decision.withdrawn_at is not None

    def test_one_of_two_codes_leaves_the_decision(self, study, sentence, code, coder):
        coding = put(sentence, code, coder)
        put(sentence, find_code(study, "theme.compassion"), coder)
        decision = decide(sentence, coder)
        take_off(coding, coder)
        decision.refresh_from_db()
        assert decision.withdrawn_at is None


class TestDeciding:
    def test_without_codes_none_applies(self, study, sentence, coder):
        decision = decide(sentence, coder)
        assert decision.none_applies
        assert last_event(study).action == "coding.decided"

    def test_code_of_the_turn_says_nothing_about_its_first_sentence(self, study, sentence, coder):
        put(sentence, find_code(study, "feature.task"), coder)
        decision = decide(sentence, coder)
        assert decision.none_applies
        put(sentence, find_code(study, "feature.power"), coder)
        decision.refresh_from_db()
        assert decision.withdrawn_at is None

    def test_code_put_later_withdraws_none_applies(self, study, sentence, code, coder):
        decision = decide(sentence, coder)
        put(sentence, code, coder)
        decision.refresh_from_db()
        assert decision.withdrawn_at is not None
        assert last_event(study).details["reopened"] == decision.pk

    def test_twice_is_once(self, study, sentence, coder):
        idempotency_key = uuid4()
        first = decide(sentence, coder, idempotency_key)
        events = count_events(study)
        assert decide(sentence, coder, idempotency_key) == first
        assert decide(sentence, coder) == first
        assert count_events(study) == events

    def test_reopened_sentence_can_be_decided_again(self, study, sentence, coder):
        first = decide(sentence, coder)
        actions.reopen_sentence(study=study, decision=first, by=coder)
        assert last_event(study).action == "coding.reopened"
        assert decide(sentence, coder) != first


class TestRaces:
    """Another request stores the same thing between the look and the write."""

    def test_loser_of_a_race_gets_the_standing_row(self, sentence, code, coder):
        winner = put(sentence, code, coder)
        with patch.object(queries, "read_active_labels", return_value=queries.ActiveLabels()):
            assert put(sentence, code, coder) == winner
        assert Coding.objects.count() == 1

    def test_loser_of_a_race_with_itself_gets_its_own_row(self, sentence, code, coder):
        idempotency_key = uuid4()
        winner = put(sentence, code, coder, idempotency_key=idempotency_key)
        with (
            patch.object(queries, "read_active_labels", return_value=queries.ActiveLabels()),
            patch.object(queries, "lock_sentence", return_value=(None, True)),
        ):
            assert put(sentence, code, coder, idempotency_key=idempotency_key) == winner

    def test_loser_of_a_race_to_decide_gets_the_standing_row(self, sentence, coder):
        winner = decide(sentence, coder)
        with patch.object(queries, "read_active_labels", return_value=queries.ActiveLabels()):
            assert decide(sentence, coder) == winner

    def test_race_leaves_no_event(self, study, sentence, code, coder):
        put(sentence, code, coder)
        events = count_events(study)
        with patch.object(queries, "read_active_labels", return_value=queries.ActiveLabels()):
            put(sentence, code, coder)
        assert count_events(study) == events
