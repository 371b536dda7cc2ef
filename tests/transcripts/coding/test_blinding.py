"""Blind first: what a person sees of the machines, and when, decides whether what she codes is blind."""

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import count_events, decide, find_code, last_event, put, take_off
from tests.transcripts.desk.desk_pages import address, read
from transcripts.coding import actions
from transcripts.coding.models import Blinding, Decision, Reveal, Unblinding
from transcripts.refusals import WrongInput


def test_no_suggestions_before_the_own_decision(study, sentence, code, coder):
    put(sentence, code, coder)
    with pytest.raises(actions.NotDecided):
        actions.reveal_suggestions(study=study, sentence=sentence, by=coder)
    assert not Reveal.objects.exists()


def test_another_persons_decision_reveals_nothing(study, sentence, coder, second_coder):
    decide(sentence, second_coder)
    with pytest.raises(actions.NotDecided):
        actions.reveal_suggestions(study=study, sentence=sentence, by=coder)


def test_what_is_coded_after_the_reveal_is_assisted(study, sentence, code, coder):
    blind = put(sentence, code, coder)
    decide(sentence, coder)
    actions.reveal_suggestions(study=study, sentence=sentence, by=coder)
    assisted = put(sentence, find_code(study, "theme.compassion"), coder, reason="The machine saw it")
    assert (blind.blinding, assisted.blinding) == (Blinding.BLIND, Blinding.ASSISTED)


def test_reveal_is_told_once_and_outlives_the_decision(study, sentence, code, coder):
    decide(sentence, coder)
    first = actions.reveal_suggestions(study=study, sentence=sentence, by=coder)
    events = count_events(study)
    put(sentence, code, coder, reason="Seen on a second look")
    assert not Decision.objects.filter(withdrawn_at__isnull=True).exists()
    assert actions.reveal_suggestions(study=study, sentence=sentence, by=coder) == first
    assert count_events(study) == events + 1


def test_reveal_to_one_leaves_the_other_blind(study, sentence, code, coder, second_coder):
    decide(sentence, coder)
    actions.reveal_suggestions(study=study, sentence=sentence, by=coder)
    assert put(sentence, code, second_coder).blinding == Blinding.BLIND


def test_code_that_stands_blind_stays_blind_when_kept_after_the_reveal(study, sentence, code, coder):
    blind = put(sentence, code, coder)
    decide(sentence, coder)
    actions.reveal_suggestions(study=study, sentence=sentence, by=coder)
    assert put(sentence, code, coder) == blind


class TestReasons:
    """Once others' labels were seen, every change says why; what stood before stays readable as the blind label."""

    @pytest.fixture
    def seen(self, study, sentence, code, coder):
        """A blind coding on a sentence whose suggestions were opened."""
        blind = put(sentence, code, coder)
        decide(sentence, coder)
        actions.reveal_suggestions(study=study, sentence=sentence, by=coder)
        return blind

    def test_adding_changing_withdrawing_and_reopening_ask_for_one(self, study, sentence, code, coder, seen):
        decision = Decision.objects.get()
        for attempt in (
            lambda: put(sentence, find_code(study, "theme.compassion"), coder),
            lambda: put(sentence, code, coder, grounding="grounded", reason="  "),
            lambda: take_off(seen, coder),
            lambda: actions.reopen_sentence(study=study, decision=decision, by=coder),
        ):
            with pytest.raises(WrongInput, match="Give the reason for changing your label") as refusal:
                attempt()
            assert refusal.value.field == "reason"

    def test_blind_label_that_is_changed_keeps_its_reason(self, sentence, code, coder, seen):
        kept = put(sentence, code, coder, grounding="grounded", reason="It names\na case")
        seen.refresh_from_db()
        assert (seen.blinding, seen.withdrawal_reason, seen.superseded_by) == (Blinding.BLIND, "It names a case", kept)
        assert (kept.blinding, kept.reason) == (Blinding.ASSISTED, "It names a case")

    def test_blind_label_that_is_withdrawn_keeps_its_reason(self, study, coder, seen):
        take_off(seen, coder, reason="Read too much into it")
        seen.refresh_from_db()
        assert (seen.blinding, seen.withdrawal_reason) == (Blinding.BLIND, "Read too much into it")
        assert Decision.objects.get().withdrawal_reason == "Read too much into it"
        assert "Read" not in str(last_event(study).details)

    def test_reopening_keeps_its_reason(self, study, coder, seen):
        decision = Decision.objects.get()
        actions.reopen_sentence(study=study, decision=decision, by=coder, reason="More to say")
        decision.refresh_from_db()
        assert decision.withdrawal_reason == "More to say"

    def test_without_having_seen_others_nobody_is_asked(self, sentence, code, coder):
        coding = put(sentence, code, coder)
        take_off(coding, coder)
        coding.refresh_from_db()
        assert coding.withdrawal_reason == ""


class TestOpening:
    """Whoever opened colleagues' codings of an interview codes on in the assisted blinding."""

    @pytest.fixture
    def opening(self, interview, coder):
        return Unblinding.objects.create(interview=interview, user=coder, where="compare", unblinded_at=timezone.now())

    def test_new_codings_are_assisted_and_ask_for_a_reason(self, opening, sentence, code, coder):
        with pytest.raises(WrongInput, match="others' labels"):
            put(sentence, code, coder)
        assert put(sentence, code, coder, reason="We talked").blinding == Blinding.ASSISTED
        assert decide(sentence, coder).blinding == Blinding.ASSISTED

    def test_others_stay_blind(self, opening, sentence, code, second_coder):
        assert put(sentence, code, second_coder).blinding == Blinding.BLIND

    def test_it_is_no_word_of_her_own(self, opening, study, sentence, coder):
        with pytest.raises(actions.NotDecided):
            actions.reveal_suggestions(study=study, sentence=sentence, by=coder)

    def test_the_desk_says_so(self, opening, interview, coder, client_of):
        html = read(client_of(coder).get(address("desk", interview)))
        assert ">unblinded<" in html
        assert "data-opened" in html
