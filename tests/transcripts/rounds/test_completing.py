"""Finishing an interview in a study in which nothing is assigned."""

from unittest.mock import ANY

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from tests.transcripts.coding.cast import count_events, decide, find_code, last_event, put
from tests.transcripts.rounds.cast import answers, bring_in, find_assignment, is_open_for, open_round
from transcripts.coding.actions import NotOpen
from transcripts.coding.queries import Closure, read_active_labels
from transcripts.refusals import Refused
from transcripts.rounds import actions, queries
from transcripts.rounds.actions import complete_interview, reopen_interview, show_completed
from transcripts.rounds.models import Completion

WORK = "/studies/culture/my-work/"


@pytest.fixture
def talks(study, owner):
    return bring_in(study, owner, ["Model A", "Model A"])


@pytest.fixture
def read_talk(talks, coder):
    """One that the coder has decided from end to end."""
    for sentence in answers(talks[0]):
        decide(sentence, coder)
    return talks[0]


def find_closure(interview, person):
    found = read_active_labels(answers(interview)[0].pk, person.pk).closure
    assert (found == Closure.OPEN) == is_open_for(interview, person)
    return found


class TestFinishing:
    def test_who_has_finished_codes_no_more_until_she_takes_it_back(self, study, read_talk, coder, second_coder):
        complete_interview(study=study, interview=read_talk, by=coder)
        event = last_event(study)
        assert event.action == "interview.completed"
        assert event.details == {"interview": read_talk.pk, "decided": 3, "total": 3, "rows": ANY}
        assert find_closure(read_talk, coder) == Closure.INTERVIEW_COMPLETED
        assert find_closure(read_talk, second_coder) == Closure.OPEN
        with pytest.raises(NotOpen, match="You have completed this interview"):
            put(answers(read_talk)[0], find_code(study, "theme.balance"), coder)
        reopen_interview(study=study, interview=read_talk, by=coder)
        assert last_event(study).action == "interview.reopened"
        assert find_closure(read_talk, coder) == Closure.OPEN
        put(answers(read_talk)[0], find_code(study, "theme.balance"), coder)

    def test_finishing_twice_and_taking_back_twice_is_once_each(self, study, read_talk, coder):
        first = complete_interview(study=study, interview=read_talk, by=coder)
        assert complete_interview(study=study, interview=read_talk, by=coder) == first
        before = count_events(study)
        for _ in range(2):
            reopen_interview(study=study, interview=read_talk, by=coder)
        assert count_events(study) == before + 1
        assert complete_interview(study=study, interview=read_talk, by=coder) != first

    def test_with_sentences_undecided_only_for_a_reason(self, study, talks, coder):
        decide(answers(talks[0])[0], coder)
        with pytest.raises(actions.StillUndecided, match="2 of 3 sentences of the model are undecided"):
            complete_interview(study=study, interview=talks[0], by=coder)
        complete_interview(study=study, interview=talks[0], reason=" The rest\nis boilerplate. ", by=coder)
        assert last_event(study).details["reason"] == "The rest is boilerplate."

    def test_nothing_is_finished_that_was_not_begun(self, study, talks, coder):
        with pytest.raises(Refused, match="nothing to complete"):
            complete_interview(study=study, interview=talks[0], reason="x", by=coder)
        assert not Completion.objects.exists()

    def test_where_interviews_are_assigned_they_are_signed_off(self, study, read_talk, lead, coder):
        open_round(study, lead, coder)
        with pytest.raises(Refused, match="Complete only interviews that are assigned"):
            complete_interview(study=study, interview=read_talk, by=coder)

    def test_what_is_assigned_later_opens_it_again_to_be_signed_off(self, study, read_talk, lead, coder):
        complete_interview(study=study, interview=read_talk, by=coder)
        open_round(study, lead, coder)
        assert find_closure(read_talk, coder) == Closure.OPEN

    def test_the_database_keeps_one_that_stands_and_none_that_was_shown_and_taken_back(self, study, read_talk, coder):
        row = complete_interview(study=study, interview=read_talk, by=coder)
        now = timezone.now()
        with pytest.raises(IntegrityError), transaction.atomic():
            Completion.objects.create(interview=read_talk, coder=coder, completed_at=now)
        with pytest.raises(IntegrityError), transaction.atomic():
            Completion.objects.filter(pk=row.pk).update(shown_at=now, withdrawn_at=now)


class TestShowing:
    def test_what_was_shown_is_not_taken_back_and_stays_closed_whatever_is_assigned(
        self, study, read_talk, lead, coder
    ):
        complete_interview(study=study, interview=read_talk, by=coder)
        assert queries.count_unshown(study, coder) == 1
        assert queries.find_shown(study.pk, coder.pk) == set()
        assert show_completed(study=study, by=coder) == 1
        assert last_event(study).details == {"interviews": [read_talk.pk], "rows": ANY}
        assert queries.count_unshown(study, coder) == 0
        assert queries.find_shown(study.pk, coder.pk) == {read_talk.pk}
        with pytest.raises(Refused, match="can no longer change"):
            reopen_interview(study=study, interview=read_talk, by=coder)
        open_round(study, lead, coder)
        assert find_closure(read_talk, coder) == Closure.INTERVIEW_COMPLETED

    def test_only_her_own_that_stand_are_shown(self, study, read_talk, coder, second_coder):
        complete_interview(study=study, interview=read_talk, by=coder)
        before = count_events(study)
        assert show_completed(study=study, by=second_coder) == 0
        reopen_interview(study=study, interview=read_talk, by=coder)
        assert show_completed(study=study, by=coder) == 0
        assert count_events(study) == before + 1


class TestPage:
    def test_begun_interviews_are_listed_finished_and_taken_back(self, talks, read_talk, coder, client_of):
        client = client_of(coder)
        page = client.get(WORK).content.decode()
        assert "Complete this interview" in page
        assert talks[1].title not in page
        address = f"{WORK}{read_talk.pk}/complete/"
        wrong = client.post(address, {})
        assert wrong.status_code == 422
        assert "Tick the box to confirm that you have completed." in wrong.content.decode()
        page = client.post(address, {"confirmed": "on"}, follow=True).content.decode()
        assert "is completed. Your codings of it cannot be changed" in page
        assert "Complete this interview" not in page
        page = client.post(f"{WORK}{read_talk.pk}/take-back/", follow=True).content.decode()
        assert "is open again" in page

    def test_the_reason_is_asked_for_at_the_interview(self, talks, coder, client_of):
        decide(answers(talks[1])[0], coder)
        client = client_of(coder)
        answer = client.post(f"{WORK}{talks[1].pk}/complete/", {"confirmed": "on"})
        assert answer.status_code == 422
        assert "2 of 3 sentences of the model are undecided" in answer.content.decode()
        answer = client.post(f"{WORK}{talks[0].pk}/complete/", {"confirmed": "on", "reason": "x"})
        assert answer.status_code == 409
        assert "nothing to complete" in answer.content.decode()

    def test_once_shown_the_page_offers_no_way_back(self, study, read_talk, coder, client_of):
        complete_interview(study=study, interview=read_talk, by=coder)
        show_completed(study=study, by=coder)
        client = client_of(coder)
        assert "Take back" not in client.get(WORK).content.decode()
        assert client.post(f"{WORK}{read_talk.pk}/take-back/").status_code == 409

    def test_where_interviews_are_assigned_nothing_of_it_is_shown(
        self, study, read_talk, lead, coder, second_coder, client_of
    ):
        find_assignment(open_round(study, lead, coder), read_talk, coder)
        for person in (coder, second_coder):
            assert "Complete this interview" not in client_of(person).get(WORK).content.decode()
