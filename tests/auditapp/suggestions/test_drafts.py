"""Draft interviews: suggestions before the own decision, and none of it in a measure."""

import pytest
from django.urls import reverse

from auditapp.annotators.models import DraftInterview
from auditapp.annotators.queries.machine_labels import read_machine_labels
from auditapp.annotators.withholding import close_draft_interview, open_draft_interview
from auditapp.suggestions.actions import accept_suggestion
from auditapp.suggestions.models import Showing
from tests.auditapp.suggestions.cast import add_annotator, decide, look, read, show_all, withhold_all
from tests.support.databases import stored
from tests.transcripts.coding.cast import find_code, last_event, put, take_off
from transcripts.coding.actions import NotDecided
from transcripts.coding.blind import read_blind
from transcripts.coding.models import Blinding, Coding, Reveal, Unblinding
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused

BALANCE = "theme.balance"


@stored
def annotator(study, interview):
    show_all(study)
    return add_annotator(study)


@stored
def draft(study, interview, lead):
    return open_draft_interview(study=study, interview=interview, reason="To try it out.", by=lead)


class TestAtTheDesk:
    def test_suggestions_open_before_a_decision_and_that_opens_the_interview_for_good(
        self, annotator, draft, sentence, coder
    ):
        read(annotator, sentence, [BALANCE])
        shown = look(sentence, coder)
        assert shown.is_draft
        assert len(shown.offers) == 1
        assert Unblinding.objects.get().where == "draft"
        assert Showing.objects.get().is_draft
        assert not Reveal.objects.exists()

    def test_everything_coded_there_afterwards_is_assisted_and_in_no_measure(
        self, annotator, draft, study, interview, sentence, coder, second_coder
    ):
        [made] = read(annotator, sentence, [BALANCE])
        other = Sentence.objects.select_related("turn").filter(turn=sentence.turn).exclude(pk=sentence.pk)[0]
        look(sentence, coder)
        accept_suggestion(suggestion=made, study=study, by=coder)
        put(other, find_code(study, "theme.compassion"), coder, reason="As I see it.")
        decide(other, coder)
        assert set(Coding.objects.values_list("blinding", flat=True)) == {Blinding.ASSISTED}
        put(sentence, find_code(study, BALANCE), second_coder)
        turn_answers = read_blind(study)
        assert turn_answers.coders == (second_coder.pk,)
        table = turn_answers.arrange("themes", "sentence", [BALANCE])
        assert table.labels.sum() == 1
        # What calibration and agreement rest on are these turn answers and the machine's labels: nobody's draft.
        assert read_machine_labels(annotator).labels.sum() == 1

    def test_closing_it_asks_for_a_decision_again_and_makes_nothing_blind(
        self, annotator, draft, study, sentence, coder, lead
    ):
        other = Sentence.objects.select_related("turn").filter(turn=sentence.turn).exclude(pk=sentence.pk)[0]
        read(annotator, sentence, [BALANCE])
        look(sentence, coder)
        close_draft_interview(study=study, draft=draft, by=lead)
        with pytest.raises(NotDecided):
            look(other, coder)
        assert put(other, find_code(study, BALANCE), coder, reason="So.").blinding == Blinding.ASSISTED

    def test_withheld_turns_stay_withheld_and_open_nothing(self, study, interview, draft, sentence, coder):
        withhold_all(study, interview)
        read(add_annotator(study), sentence, [BALANCE])
        assert look(sentence, coder).is_withheld
        assert not Unblinding.objects.exists()
        assert put(sentence, find_code(study, BALANCE), coder).blinding == Blinding.BLIND

    def test_who_opened_nothing_there_stays_blind(self, annotator, draft, study, sentence, coder):
        read(annotator, sentence, [BALANCE])
        assert put(sentence, find_code(study, BALANCE), coder).blinding == Blinding.BLIND

    def test_what_she_put_before_she_opened_one_stays_her_blind_turn_answer(
        self, annotator, draft, study, sentence, coder
    ):
        read(annotator, sentence, [BALANCE])
        own = put(sentence, find_code(study, "theme.compassion"), coder)
        look(sentence, coder)
        take_off(own, coder, reason="Not so.")
        put(sentence, find_code(study, BALANCE), coder, reason="As suggested.")
        table = read_blind(study).arrange("themes", "sentence", ["theme.compassion", BALANCE])
        assert table.labels.sum(axis=(1, 2)).tolist() == [1, 0]

    def test_a_look_that_shows_nothing_does_not_say_that_she_is_assisted_from_now_on(
        self, study, interview, draft, sentence, coder, client_of
    ):
        address = reverse("suggestions:panel", args=[study.slug, sentence.pk])
        show_all(study)
        assert "assisted" not in client_of(coder).post(address).content.decode()
        read(add_annotator(study), sentence, [BALANCE])
        assert "is assisted" in client_of(coder).post(address).content.decode()

    def test_the_desk_says_plainly_that_it_is_a_draft(self, annotator, draft, study, interview, coder, client_of):
        client, desk = client_of(coder), reverse("desk:desk", args=[study.slug, interview.pk])
        page = client.get(desk).content.decode()
        assert 'id="draft"' in page
        assert "Open suggestions before deciding" in page
        close_draft_interview(study=study, draft=draft, by=coder)
        page = client.get(desk).content.decode()
        assert 'id="draft"' not in page
        assert "Open suggestions before deciding" not in page

    def test_the_panel_tells_the_desk_that_reasons_are_asked_for_from_now_on(
        self, annotator, draft, study, sentence, coder, client_of
    ):
        read(annotator, sentence, [BALANCE])
        answer = client_of(coder).post(reverse("suggestions:panel", args=[study.slug, sentence.pk]))
        assert "draft-opened" in answer.headers["HX-Trigger"]
        assert "left out of every measure" in answer.content.decode()


class TestOpening:
    def test_needs_a_reason_and_happens_once(self, study, interview, lead):
        with pytest.raises(Refused, match="Give a reason"):
            open_draft_interview(study=study, interview=interview, reason="  ", by=lead)
        open_draft_interview(study=study, interview=interview, reason="So.", by=lead)
        with pytest.raises(Refused, match="already"):
            open_draft_interview(study=study, interview=interview, reason="So.", by=lead)
        assert last_event(study).action == "annotators.draft.opened"
        assert "So." not in str(last_event(study).details)

    def test_after_it_was_closed_it_can_be_opened_again(self, draft, study, interview, lead):
        close_draft_interview(study=study, draft=draft, by=lead)
        close_draft_interview(study=study, draft=draft, by=lead)
        open_draft_interview(study=study, interview=interview, reason="Again.", by=lead)
        assert DraftInterview.objects.filter(closed_at__isnull=True).count() == 1

    def test_a_lead_opens_and_closes_drafts_on_their_page(self, study, interview, lead, coder, client_of):
        address = reverse("suggestions:drafts", args=[study.slug])
        assert client_of(coder).get(address).status_code == 403
        client = client_of(lead)
        assert client.post(address, {"interview": interview.pk}).status_code == 422
        assert client.post(address, {"interview": interview.pk, "reason": "To try."}).status_code == 302
        assert "To try." in client.get(address).content.decode()
        turn_answer = DraftInterview.objects.get()
        assert client.post(reverse("suggestions:close_draft", args=[study.slug, turn_answer.pk])).status_code == 302
        assert DraftInterview.objects.get().closed_at is not None


def test_a_lead_sets_the_share_on_its_page(study, interview, lead, coder, client_of):
    address = reverse("suggestions:withholding", args=[study.slug])
    assert client_of(coder).get(address).status_code == 403
    client = client_of(lead)
    assert "The first draw creates one with 20 %" in client.get(address).content.decode()
    assert client.post(address, {"share_percent": 120, "reason": "x"}).status_code == 422
    assert client.post(address, {"share_percent": 100, "reason": "All."}).status_code == 302
    withhold_all(study, interview)
    assert "2 of 2 model turns are withheld" in client.get(address).content.decode()
