"""Accepting, rejecting and editing suggestions, taking an answer back, and the panel as pages show it."""

import json
import re

import pytest
from django.urls import reverse

from auditapp.annotators.models import TurnAnswer
from auditapp.suggestions.actions import accept_suggestion, redo_response, reject_suggestion, undo_response
from auditapp.suggestions.models import Response, Showing
from tests.auditapp.suggestions.cast import REASON, add_annotator, decide, look, read, show_all, withhold_all
from tests.support.databases import stored
from tests.transcripts.coding.cast import find_code, last_event, put, standing_codes, take_off
from tests.transcripts.rounds.cast import find_assignment, open_round
from transcripts.coding.models import Blinding, Coding, Decision, Reveal
from transcripts.refusals import Refused
from transcripts.rounds.actions import complete_assignment

BALANCE = "theme.balance"


@stored
def annotator(study, interview):
    show_all(study)
    return add_annotator(study)


@pytest.fixture
def suggestion(annotator, sentence, coder):
    """One that the coder has decided about and looked at."""
    [made] = read(annotator, sentence, [BALANCE])
    decide(sentence, coder)
    look(sentence, coder)
    return made


def standing_verdict(suggestion, by):
    return Response.objects.get(suggestion=suggestion, coder=by, superseded_at__isnull=True).verdict


class TestKeeping:
    def test_makes_ones_own_coding_marked_as_assisted(self, suggestion, study, coder):
        accept_suggestion(suggestion=suggestion, study=study, by=coder)
        coding = Coding.objects.get()
        assert (coding.coder, coding.blinding, coding.reason) == (coder, Blinding.ASSISTED, "suggestion")
        assert Response.objects.get().coding == coding

    def test_leaves_ones_own_coding_of_that_code_as_it_is(self, annotator, study, sentence, coder):
        [made] = read(annotator, sentence, [BALANCE])
        own = put(sentence, find_code(study, BALANCE), coder, level="latent", note="As I read it.")
        decide(sentence, coder)
        look(sentence, coder)
        assert accept_suggestion(suggestion=made, study=study, by=coder).coding == own
        assert Coding.objects.get() == own
        undo_response(suggestion=made, study=study, by=coder)
        assert Coding.objects.get().withdrawn_at is None

    def test_a_second_of_a_code_applied_once_per_answer_is_refused_and_says_where_the_first_is(
        self, annotator, study, sentence, coder
    ):
        identifier = "repertoire.user_correction"
        last = sentence.turn.sentences.select_related("turn__interview__study").order_by("-position")[0]
        own = put(last, find_code(study, identifier), coder)
        [made] = read(annotator, sentence, [identifier], family="repertoires")
        decide(sentence, coder)
        look(sentence, coder)
        with pytest.raises(Refused, match=f"you have applied it to sentence {last.label} of this answer"):
            accept_suggestion(suggestion=made, study=study, by=coder)
        assert not Response.objects.exists()
        take_off(own, coder)
        assert accept_suggestion(suggestion=made, study=study, by=coder).coding is not None

    def test_a_suggestion_that_was_not_shown_cannot_be_kept(self, annotator, study, sentence, coder):
        [made] = read(annotator, sentence, [BALANCE])
        decide(sentence, coder)
        with pytest.raises(Refused, match="Decide on the sentence yourself first"):
            accept_suggestion(suggestion=made, study=study, by=coder)
        assert not Coding.objects.exists()

    def test_a_suggestion_on_a_withheld_turn_cannot_be_kept(self, study, interview, sentence, coder):
        withhold_all(study, interview)
        [made] = read(add_annotator(study), sentence, [BALANCE])
        decide(sentence, coder)
        look(sentence, coder)
        with pytest.raises(Refused):
            accept_suggestion(suggestion=made, study=study, by=coder)

    def test_an_edit_asks_for_its_reason(self, suggestion, study, coder):
        with pytest.raises(Refused, match="the reason for your changes"):
            accept_suggestion(suggestion=suggestion, study=study, by=coder, edited=True, level="latent", note="So.")
        accept_suggestion(
            suggestion=suggestion, study=study, by=coder, edited=True, level="latent", note="So.", reason="Deeper."
        )
        coding = Coding.objects.get()
        assert (coding.level, coding.note, coding.reason) == ("latent", "So.", "Deeper.")
        assert standing_verdict(suggestion, coder) == "edited"

    def test_signed_off_work_stays_as_it_is(self, suggestion, study, interview, lead, coder, second_coder):
        dealt = open_round(study, lead, coder, second_coder, overlap_percent=100, name="Both")
        complete_assignment(assignment=find_assignment(dealt, interview, coder), reason="Done.", by=coder)
        with pytest.raises(Refused, match="completed"):
            reject_suggestion(suggestion=suggestion, study=study, by=coder)


class TestTakingBack:
    def test_a_kept_one_is_taken_off_and_none_applies_stands_again(self, suggestion, study, sentence, coder):
        accept_suggestion(suggestion=suggestion, study=study, by=coder)
        assert not Decision.objects.filter(withdrawn_at__isnull=True).exists()
        undo_response(suggestion=suggestion, study=study, by=coder)
        assert standing_codes(sentence, coder) == []
        assert Decision.objects.get(withdrawn_at__isnull=True).none_applies
        verdicts = Response.objects.order_by("pk").values_list("verdict", flat=True)
        assert list(verdicts) == ["accepted", "undone"]
        assert Coding.objects.get().withdrawal_reason == "suggestion taken back"

    def test_an_edited_one_gives_way_to_what_stood_before(self, annotator, study, sentence, coder):
        [made] = read(annotator, sentence, [BALANCE])
        put(sentence, find_code(study, BALANCE), coder, note="Mine.")
        decide(sentence, coder)
        look(sentence, coder)
        accept_suggestion(
            suggestion=made, study=study, by=coder, edited=True, level="latent", note="Both.", reason="It says so."
        )
        undo_response(suggestion=made, study=study, by=coder)
        standing = Coding.objects.get(withdrawn_at__isnull=True)
        assert (standing.level, standing.note, standing.blinding) == ("semantic", "Mine.", "assisted")
        assert Coding.objects.count() == 3

    def test_a_left_one_can_be_kept_afterwards(self, suggestion, study, coder):
        reject_suggestion(suggestion=suggestion, study=study, by=coder)
        undo_response(suggestion=suggestion, study=study, by=coder)
        accept_suggestion(suggestion=suggestion, study=study, by=coder)
        verdicts = Response.objects.order_by("pk").values_list("verdict", flat=True)
        assert list(verdicts) == ["rejected", "undone", "accepted"]
        assert Response.objects.filter(superseded_at__isnull=True).count() == 1

    def test_what_was_taken_off_by_hand_meanwhile_stays_off(self, suggestion, study, sentence, coder):
        accept_suggestion(suggestion=suggestion, study=study, by=coder)
        take_off(Coding.objects.select_related("sentence__turn__interview").get(), coder, reason="No.")
        undo_response(suggestion=suggestion, study=study, by=coder)
        assert Coding.objects.get().withdrawal_reason == "No."

    def test_taking_back_nothing_stores_nothing(self, suggestion, study, coder):
        assert undo_response(suggestion=suggestion, study=study, by=coder) is None
        reject_suggestion(suggestion=suggestion, study=study, by=coder)
        undo_response(suggestion=suggestion, study=study, by=coder)
        assert undo_response(suggestion=suggestion, study=study, by=coder) is None
        assert Response.objects.count() == 2

    def test_taking_back_is_no_blind_coding(self, suggestion, study, sentence, coder):
        accept_suggestion(suggestion=suggestion, study=study, by=coder)
        undo_response(suggestion=suggestion, study=study, by=coder)
        assert Decision.objects.get(withdrawn_at__isnull=True).blinding == Blinding.ASSISTED


class TestPanelPage:
    def post(self, client, name, study, pk, **data):
        htmx = {"HX-Request": "true"} if data.pop("by", "") else {}
        answer = client.post(reverse(f"suggestions:{name}", args=[study.slug, pk]), data, headers=htmx)
        return answer.status_code, answer.content.decode(), answer.headers.get("HX-Trigger", "{}")

    def test_before_the_decision_the_page_says_so_and_no_more(self, annotator, study, sentence, coder, client_of):
        read(annotator, sentence, [BALANCE])
        status, page, _ = self.post(client_of(coder), "panel", study, sentence.pk)
        assert status == 409
        assert REASON not in page
        assert not Reveal.objects.exists()

    def test_the_number_of_a_suggestion_does_not_tell_that_there_is_one_on_a_withheld_sentence(
        self, study, interview, sentence, coder, client_of
    ):
        withhold_all(study, interview)
        [made] = read(add_annotator(study), sentence, [BALANCE])
        decide(sentence, coder)
        look(sentence, coder)
        for act in ("reject", "nonsense"):
            status, page, _ = self.post(client_of(coder), "respond", study, made.pk, act=act)
            unknown, other, _ = self.post(client_of(coder), "respond", study, made.pk + 1, act=act)
            assert (status, unknown) == (404, 404)
            tokens = re.compile(r'(csrfmiddlewaretoken" value=|X-CSRFToken": |nonce=)"[^"]*"')
            pages = [tokens.sub("", each).replace(f"/{made.pk + 1}/", f"/{made.pk}/") for each in (page, other)]
            assert pages[0] == pages[1]

    def test_a_suggestion_shows_its_annotator_its_evidence_and_its_reason_closed(
        self, annotator, study, sentence, coder, client_of
    ):
        read(annotator, sentence, [BALANCE], quote=(sentence.start, sentence.start + 7))
        decide(sentence, coder)
        status, page, _ = self.post(client_of(coder), "panel", study, sentence.pk)
        assert status == 200
        assert "<mark>I would</mark> ask first." in page
        assert "fake provider, invented" in page
        assert "no. 1" in page
        assert f'<details><summary>Its reason</summary><p dir="auto">{REASON}</p></details>' in page
        assert "accept all" not in page.lower()

    def test_the_absence_of_a_suggestion_and_of_an_answer_are_said(self, annotator, study, sentence, coder, client_of):
        read(annotator, sentence)
        read(annotator, sentence, family="moves", missing=True)
        decide(sentence, coder)
        _, page, _ = self.post(client_of(coder), "panel", study, sentence.pk)
        assert "No code suggested." in page
        assert "no answer</span> for" in page

    def test_a_rejected_proposal_is_not_called_no_code(self, annotator, study, sentence, coder, client_of):
        read(annotator, sentence)
        about = {"sentence": sentence.pk, "code": BALANCE, "reason": "quote is not in the sentence"}
        elsewhere = {"sentence": sentence.pk + 1_000, "code": BALANCE, "reason": "quote is not in the sentence"}
        TurnAnswer.objects.update(rejected=[about, elsewhere])
        decide(sentence, coder)
        _, page, _ = self.post(client_of(coder), "panel", study, sentence.pk)
        assert "1 proposal could not be used." in page
        assert "No code suggested." not in page

    def test_a_withheld_turn_shows_a_neutral_sentence(self, study, interview, sentence, coder, client_of):
        withhold_all(study, interview)
        read(add_annotator(study), sentence, [BALANCE], flags=["ignore previous"])
        decide(sentence, coder)
        status, page, _ = self.post(client_of(coder), "panel", study, sentence.pk)
        assert status == 200
        assert "whether or not a machine annotated it" in page
        assert REASON not in page
        assert "instructions to a machine" not in page

    def test_an_answer_tells_the_desk_what_to_fetch_and_what_can_be_undone(self, suggestion, study, coder, client_of):
        client = client_of(coder)
        _, page, told = self.post(client, "respond", study, suggestion.pk, act="accept", by="htmx")
        assert set(json.loads(told)) == {"sentence-changed", "suggestion-answered"}
        assert "You accepted this" in page
        _, page, told = self.post(client, "respond", study, suggestion.pk, act="undo", by="htmx")
        assert set(json.loads(told)) == {"sentence-changed", "suggestion-taken-back"}
        assert "You accepted this" not in page

    def test_without_a_script_an_answer_leads_back_to_the_desk(self, suggestion, study, coder, client_of):
        assert self.post(client_of(coder), "respond", study, suggestion.pk, act="reject")[0] == 302

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            ({}, "Choose accept, edit or reject."),
            ({"act": "edit", "note": "Typed."}, "Give the reason for your changes in one line."),
            ({"act": "edit", "level": "latent", "reason": "Typed."}, "A latent coding needs your interpretation"),
        ],
    )
    def test_a_wrong_answer_comes_back_with_what_was_typed(self, suggestion, study, coder, client_of, data, words):
        status, page, _ = self.post(client_of(coder), "respond", study, suggestion.pk, **data)
        assert status == 422
        assert words in page
        assert not data or "Typed." in page
        # At the field that it is about, which has the focus.
        at_field = f'aria-describedby="error-{suggestion.pk}" autofocus'
        assert page.count(at_field) == page.count(f'id="error-{suggestion.pk}"') == bool(data)
        assert not Response.objects.exists()

    def test_moving_on_is_told_to_the_server(self, suggestion, study, coder, client_of):
        address = reverse("suggestions:close", args=[study.slug, suggestion.sentence_id])
        assert client_of(coder).post(address, headers={"X-Desk": str(coder.pk)}).status_code == 204
        assert Showing.objects.get().closed_at is not None

    def test_an_outsider_gets_404(self, suggestion, study, outsider, client_of):
        client = client_of(outsider)
        assert self.post(client, "panel", study, suggestion.sentence_id)[0] == 404
        assert self.post(client, "respond", study, suggestion.pk, act="accept")[0] == 404
        assert self.post(client, "close", study, suggestion.sentence_id)[0] == 404
        assert not Coding.objects.exists()

    def test_a_move_is_kept_with_the_enactment_she_chooses_or_confirms(
        self, annotator, study, sentence, coder, client_of
    ):
        other = add_annotator(study, "other")
        [open_one] = read(annotator, sentence, ["move.elicit"], family="moves")
        [stated] = read(other, sentence, ["move.bracket"], family="moves", enactment="described")
        client = client_of(coder)
        decide(sentence, coder)
        _, page, _ = self.post(client, "panel", study, sentence.pk)
        assert "<i>described</i>" in page
        assert page.count('data-digit="1" required') == 1
        status, page, _ = self.post(client, "respond", study, open_one.pk, act="accept")
        assert (status, Coding.objects.exists()) == (422, False)
        assert "Elicit / gather needs its enactment. Choose enacted, demonstrated or described." in page
        assert 'data-digit="1" required aria-invalid="true"' in page
        self.post(client, "respond", study, open_one.pk, act="accept", enactment="demonstrated")
        self.post(client, "respond", study, stated.pk, act="accept")
        kept = Coding.objects.values_list("code__identifier", "enactment")
        assert set(kept) == {("move.elicit", "demonstrated"), ("move.bracket", "described")}
        undo_response(suggestion=open_one, study=study, by=coder)
        redo_response(suggestion=open_one, study=study, by=coder)
        assert Coding.objects.active().get(code__identifier="move.elicit").enactment == "demonstrated"

    def test_a_suggestion_is_kept_with_the_answers_that_the_codebook_requires(
        self, annotator, study, sentence, coder, client_of
    ):
        code = find_code(study, "theme.compassion")
        code.attributes[0]["required"] = True
        code.save()
        [made] = read(annotator, sentence, [code.identifier])
        decide(sentence, coder)
        _, page, _ = self.post(client_of(coder), "panel", study, sentence.pk)
        assert 'name="attribute:direction" required' in page
        with pytest.raises(Refused, match="needs an answer to “In which direction"):
            accept_suggestion(suggestion=made, study=study, by=coder)
        with pytest.raises(Refused, match="'up' is not one of the answers"):
            accept_suggestion(suggestion=made, study=study, by=coder, answers={"direction": "up"})
        answer = {"attribute:direction": "about self"}
        self.post(client_of(coder), "respond", study, made.pk, act="accept", **answer)
        assert Coding.objects.get().attributes == {"direction": "about self"}

    def test_a_move_of_her_own_keeps_its_enactment_unless_the_suggestion_is_kept_with_changes(
        self, annotator, study, sentence, coder
    ):
        [made] = read(annotator, sentence, ["move.elicit"], family="moves")
        put(sentence, find_code(study, "move.elicit"), coder, enactment="enacted")
        decide(sentence, coder)
        look(sentence, coder)
        with pytest.raises(Refused, match="You have applied Elicit / gather here yourself, as enacted"):
            accept_suggestion(suggestion=made, study=study, by=coder, enactment="described")
        assert accept_suggestion(suggestion=made, study=study, by=coder).coding == Coding.objects.get()

    def test_keeping_adds_what_an_old_coding_of_hers_does_not_state(self, annotator, study, sentence, coder):
        [made] = read(annotator, sentence, ["move.elicit"], family="moves")
        own = put(sentence, find_code(study, "move.elicit"), coder, level="latent", note="As I read it.")
        Coding.objects.filter(pk=own.pk).update(enactment="")
        decide(sentence, coder)
        look(sentence, coder)
        with pytest.raises(Refused, match="needs its enactment"):
            accept_suggestion(suggestion=made, study=study, by=coder)
        accept_suggestion(suggestion=made, study=study, by=coder, enactment="described")
        kept = Coding.objects.active().get()
        assert (kept.enactment, kept.level, kept.note) == ("described", "latent", "As I read it.")
        undo_response(suggestion=made, study=study, by=coder)
        assert Coding.objects.active().get().enactment == ""


class TestRedo:
    def again(self, suggestion, study, coder):
        """The answer taken back and given again."""
        undo_response(suggestion=suggestion, study=study, by=coder)
        return redo_response(suggestion=suggestion, study=study, by=coder)

    def test_what_was_kept_is_kept_again(self, suggestion, study, coder):
        first = accept_suggestion(suggestion=suggestion, study=study, by=coder)
        again = self.again(suggestion, study, coder)
        assert again is not None
        assert (again.verdict, again.coding == first.coding) == (Response.Verdict.ACCEPTED, False)
        assert Coding.objects.filter(withdrawn_at__isnull=True).count() == 1
        verdicts = Response.objects.order_by("pk").values_list("verdict", flat=True)
        assert list(verdicts) == ["accepted", "undone", "accepted"]
        assert last_event(study).action == "suggestion.accepted"

    def test_what_was_edited_comes_back_as_it_was_edited(self, suggestion, study, coder):
        accept_suggestion(
            suggestion=suggestion, study=study, by=coder, level="latent", note="So.", edited=True, reason="Unsaid."
        )
        again = self.again(suggestion, study, coder)
        assert again is not None
        assert again.coding is not None
        assert (again.verdict, again.reason) == (Response.Verdict.EDITED, "Unsaid.")
        assert (again.coding.level, again.coding.note) == ("latent", "So.")

    def test_what_was_left_is_left_again(self, suggestion, study, coder):
        reject_suggestion(suggestion=suggestion, study=study, by=coder, reason="No.")
        again = self.again(suggestion, study, coder)
        assert again is not None
        assert (again.verdict, again.reason) == (Response.Verdict.REJECTED, "No.")
        assert not Coding.objects.exists()

    def test_nothing_is_given_again_where_nothing_was_taken_back(self, suggestion, study, coder):
        assert redo_response(suggestion=suggestion, study=study, by=coder) is None
        reject_suggestion(suggestion=suggestion, study=study, by=coder)
        assert redo_response(suggestion=suggestion, study=study, by=coder) is None
        assert Response.objects.count() == 1

    def test_the_panel_takes_it(self, suggestion, study, coder, client_of):
        client = client_of(coder)
        address = reverse("suggestions:respond", args=[study.slug, suggestion.pk])
        for act in ("reject", "undo", "redo"):
            told = client.post(address, {"act": act}, headers={"HX-Request": "true"}).headers["HX-Trigger"]
        assert "suggestion-answered" in told
        assert Response.objects.get(superseded_at__isnull=True).verdict == "rejected"
