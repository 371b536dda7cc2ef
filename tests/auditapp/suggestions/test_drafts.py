"""Draft interviews: suggestions before the own decision, and none of it in a measure."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.annotators.actions.withholding import close_draft_reading, open_draft_reading
from auditapp.annotators.models import Annotator, DraftReading
from auditapp.annotators.queries.machine_labels import read_machine_labels
from auditapp.suggestions.actions import keep_suggestion
from auditapp.suggestions.models import Showing
from tests.auditapp.suggestions.panel_cast import add_annotator, decide, look, read, show_all, withhold_all
from tests.support.databases import stored
from tests.transcripts.coding.desk_cast import find_code, last_event, put, take_off
from transcripts.accounts.models import User
from transcripts.coding.actions import NotDecided
from transcripts.coding.blind import read_blind
from transcripts.coding.models import Coding, Layer, Reveal, Unblinding
from transcripts.corpus.models import Interview, Sentence
from transcripts.refusals import Refused
from transcripts.studies.models import Project

BALANCE = "theme.balance"


@stored
def annotator(project: Project, interview: Interview) -> Annotator:
    show_all(project)
    return add_annotator(project)


@stored
def draft(project: Project, interview: Interview, lead: User) -> DraftReading:
    return open_draft_reading(project=project, interview=interview, reason="To try it out.", by=lead)


class TestAtTheDesk:
    def test_suggestions_open_before_a_decision_and_that_opens_the_interview_for_good(
        self, annotator: Annotator, draft: DraftReading, sentence: Sentence, coder: User
    ) -> None:
        read(annotator, sentence, [BALANCE])
        shown = look(sentence, coder)
        assert shown.is_draft
        assert len(shown.offers) == 1
        assert Unblinding.objects.get().where == "draft"
        assert Showing.objects.get().is_draft
        assert not Reveal.objects.exists()

    def test_everything_coded_there_afterwards_is_assisted_and_in_no_measure(
        self,
        annotator: Annotator,
        draft: DraftReading,
        project: Project,
        interview: Interview,
        sentence: Sentence,
        coder: User,
        second_coder: User,
    ) -> None:
        [made] = read(annotator, sentence, [BALANCE])
        other = Sentence.objects.select_related("turn").filter(turn=sentence.turn).exclude(pk=sentence.pk)[0]
        look(sentence, coder)
        keep_suggestion(suggestion=made, project=project, by=coder)
        put(other, find_code(project, "theme.compassion"), coder, reason="As I see it.")
        decide(other, coder)
        assert set(Coding.objects.values_list("layer", flat=True)) == {Layer.ASSISTED}
        put(sentence, find_code(project, BALANCE), second_coder)
        readings = read_blind(project)
        assert readings.coders == (second_coder.pk,)
        table = readings.arrange("themes", "sentence", [BALANCE])
        assert table.labels.sum() == 1
        # What calibration and agreement rest on are these readings and the machine's labels: nobody's draft.
        assert read_machine_labels(annotator).labels.sum() == 1

    def test_closing_it_asks_for_a_decision_again_and_makes_nothing_blind(
        self, annotator: Annotator, draft: DraftReading, project: Project, sentence: Sentence, coder: User, lead: User
    ) -> None:
        other = Sentence.objects.select_related("turn").filter(turn=sentence.turn).exclude(pk=sentence.pk)[0]
        read(annotator, sentence, [BALANCE])
        look(sentence, coder)
        close_draft_reading(project=project, reading=draft, by=lead)
        with pytest.raises(NotDecided):
            look(other, coder)
        assert put(other, find_code(project, BALANCE), coder, reason="So.").layer == Layer.ASSISTED

    def test_withheld_turns_stay_withheld_and_open_nothing(
        self, project: Project, interview: Interview, draft: DraftReading, sentence: Sentence, coder: User
    ) -> None:
        withhold_all(project, interview)
        read(add_annotator(project), sentence, [BALANCE])
        assert look(sentence, coder).is_withheld
        assert not Unblinding.objects.exists()
        assert put(sentence, find_code(project, BALANCE), coder).layer == Layer.BLIND

    def test_who_opened_nothing_there_stays_blind(
        self, annotator: Annotator, draft: DraftReading, project: Project, sentence: Sentence, coder: User
    ) -> None:
        read(annotator, sentence, [BALANCE])
        assert put(sentence, find_code(project, BALANCE), coder).layer == Layer.BLIND

    def test_what_she_put_before_she_opened_one_stays_her_blind_reading(
        self, annotator: Annotator, draft: DraftReading, project: Project, sentence: Sentence, coder: User
    ) -> None:
        read(annotator, sentence, [BALANCE])
        own = put(sentence, find_code(project, "theme.compassion"), coder)
        look(sentence, coder)
        take_off(own, coder, reason="Not so.")
        put(sentence, find_code(project, BALANCE), coder, reason="As suggested.")
        table = read_blind(project).arrange("themes", "sentence", ["theme.compassion", BALANCE])
        assert table.labels.sum(axis=(1, 2)).tolist() == [1, 0]

    def test_a_look_that_shows_nothing_does_not_say_that_she_is_assisted_from_now_on(
        self,
        project: Project,
        interview: Interview,
        draft: DraftReading,
        sentence: Sentence,
        coder: User,
        client_of: Callable[[User], Client],
    ) -> None:
        address = reverse("suggestions:panel", args=[project.slug, sentence.pk])
        show_all(project)
        assert "assisted" not in client_of(coder).post(address).content.decode()
        read(add_annotator(project), sentence, [BALANCE])
        assert "is assisted" in client_of(coder).post(address).content.decode()

    def test_the_desk_says_plainly_that_it_is_a_draft(
        self,
        annotator: Annotator,
        draft: DraftReading,
        project: Project,
        interview: Interview,
        coder: User,
        client_of: Callable[[User], Client],
    ) -> None:
        client, desk = client_of(coder), reverse("desk:desk", args=[project.slug, interview.pk])
        page = client.get(desk).content.decode()
        assert 'id="draft"' in page
        assert "Open suggestions before deciding" in page
        close_draft_reading(project=project, reading=draft, by=coder)
        page = client.get(desk).content.decode()
        assert 'id="draft"' not in page
        assert "Open suggestions before deciding" not in page

    def test_the_panel_tells_the_desk_that_reasons_are_asked_for_from_now_on(
        self,
        annotator: Annotator,
        draft: DraftReading,
        project: Project,
        sentence: Sentence,
        coder: User,
        client_of: Callable[[User], Client],
    ) -> None:
        read(annotator, sentence, [BALANCE])
        answer = client_of(coder).post(reverse("suggestions:panel", args=[project.slug, sentence.pk]))
        assert "draft-opened" in answer.headers["HX-Trigger"]
        assert "left out of every measure" in answer.content.decode()


class TestOpening:
    def test_needs_a_reason_and_happens_once(self, project: Project, interview: Interview, lead: User) -> None:
        with pytest.raises(Refused, match="Give a reason"):
            open_draft_reading(project=project, interview=interview, reason="  ", by=lead)
        open_draft_reading(project=project, interview=interview, reason="So.", by=lead)
        with pytest.raises(Refused, match="already"):
            open_draft_reading(project=project, interview=interview, reason="So.", by=lead)
        assert last_event(project).action == "annotators.draft.opened"
        assert "So." not in str(last_event(project).details)

    def test_after_it_was_closed_it_can_be_opened_again(
        self, draft: DraftReading, project: Project, interview: Interview, lead: User
    ) -> None:
        close_draft_reading(project=project, reading=draft, by=lead)
        close_draft_reading(project=project, reading=draft, by=lead)
        open_draft_reading(project=project, interview=interview, reason="Again.", by=lead)
        assert DraftReading.objects.filter(closed_at__isnull=True).count() == 1

    def test_a_lead_opens_and_closes_drafts_on_their_page(
        self, project: Project, interview: Interview, lead: User, coder: User, client_of: Callable[[User], Client]
    ) -> None:
        address = reverse("suggestions:drafts", args=[project.slug])
        assert client_of(coder).get(address).status_code == 403
        client = client_of(lead)
        assert client.post(address, {"interview": interview.pk}).status_code == 422
        assert client.post(address, {"interview": interview.pk, "reason": "To try."}).status_code == 302
        assert "To try." in client.get(address).content.decode()
        reading = DraftReading.objects.get()
        assert client.post(reverse("suggestions:close_draft", args=[project.slug, reading.pk])).status_code == 302
        assert DraftReading.objects.get().closed_at is not None


def test_a_lead_sets_the_share_on_its_page(
    project: Project, interview: Interview, lead: User, coder: User, client_of: Callable[[User], Client]
) -> None:
    address = reverse("suggestions:withholding", args=[project.slug])
    assert client_of(coder).get(address).status_code == 403
    client = client_of(lead)
    assert "The first draw creates one with 20 %" in client.get(address).content.decode()
    assert client.post(address, {"share_percent": 120, "reason": "x"}).status_code == 422
    assert client.post(address, {"share_percent": 100, "reason": "All."}).status_code == 302
    withhold_all(project, interview)
    assert "2 of 2 model turns are withheld" in client.get(address).content.decode()
