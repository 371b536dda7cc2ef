"""Finishing an interview in a study in which nothing is assigned."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import ANY

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from tests.transcripts.coding.desk_cast import count_events, decide, find_code, last_event, put
from tests.transcripts.rounds.round_cast import answers, bring_in, find_assignment, is_open_for, open_round
from transcripts.accounts.models import User
from transcripts.coding.actions import NotOpen
from transcripts.coding.queries import Closure, read_active_labels
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.rounds import actions, queries
from transcripts.rounds.actions import finish_interview, show_finished, take_back_finish
from transcripts.rounds.models import Finish
from transcripts.studies.models import Project

SignIn = Callable[[User], Client]
WORK = "/p/culture/work/"


@pytest.fixture
def talks(project: Project, owner: User) -> list[Interview]:
    return bring_in(project, owner, ["Model A", "Model A"])


@pytest.fixture
def read_talk(talks: list[Interview], coder: User) -> Interview:
    """One that the coder has decided from end to end."""
    for sentence in answers(talks[0]):
        decide(sentence, coder)
    return talks[0]


def find_closure(interview: Interview, person: User) -> Closure:
    found = read_active_labels(answers(interview)[0].pk, person.pk).closure
    assert (found == Closure.OPEN) == is_open_for(interview, person)
    return found


class TestFinishing:
    def test_who_has_finished_codes_no_more_until_she_takes_it_back(
        self, project: Project, read_talk: Interview, coder: User, second_coder: User
    ) -> None:
        finish_interview(project=project, interview=read_talk, by=coder)
        event = last_event(project)
        assert event.action == "interview.finished"
        assert event.details == {"interview": read_talk.pk, "decided": 3, "total": 3, "rows": ANY}
        assert find_closure(read_talk, coder) == Closure.FINISHED
        assert find_closure(read_talk, second_coder) == Closure.OPEN
        with pytest.raises(NotOpen, match="You have finished this interview"):
            put(answers(read_talk)[0], find_code(project, "theme.balance"), coder)
        take_back_finish(project=project, interview=read_talk, by=coder)
        assert last_event(project).action == "interview.finish_taken_back"
        assert find_closure(read_talk, coder) == Closure.OPEN
        put(answers(read_talk)[0], find_code(project, "theme.balance"), coder)

    def test_finishing_twice_and_taking_back_twice_is_once_each(
        self, project: Project, read_talk: Interview, coder: User
    ) -> None:
        first = finish_interview(project=project, interview=read_talk, by=coder)
        assert finish_interview(project=project, interview=read_talk, by=coder) == first
        before = count_events(project)
        for _ in range(2):
            take_back_finish(project=project, interview=read_talk, by=coder)
        assert count_events(project) == before + 1
        assert finish_interview(project=project, interview=read_talk, by=coder) != first

    def test_with_sentences_undecided_only_for_a_reason(
        self, project: Project, talks: list[Interview], coder: User
    ) -> None:
        decide(answers(talks[0])[0], coder)
        with pytest.raises(actions.StillUndecided, match="2 of 3 sentences of the model are undecided"):
            finish_interview(project=project, interview=talks[0], by=coder)
        finish_interview(project=project, interview=talks[0], reason=" The rest\nis boilerplate. ", by=coder)
        assert last_event(project).details["reason"] == "The rest is boilerplate."

    def test_nothing_is_finished_that_was_not_begun(
        self, project: Project, talks: list[Interview], coder: User
    ) -> None:
        with pytest.raises(Refused, match="nothing to finish"):
            finish_interview(project=project, interview=talks[0], reason="x", by=coder)
        assert not Finish.objects.exists()

    def test_where_interviews_are_assigned_they_are_signed_off(
        self, project: Project, read_talk: Interview, lead: User, coder: User
    ) -> None:
        open_round(project, lead, coder)
        with pytest.raises(Refused, match="Sign off what is assigned"):
            finish_interview(project=project, interview=read_talk, by=coder)

    def test_what_is_assigned_later_opens_it_again_to_be_signed_off(
        self, project: Project, read_talk: Interview, lead: User, coder: User
    ) -> None:
        finish_interview(project=project, interview=read_talk, by=coder)
        open_round(project, lead, coder)
        assert find_closure(read_talk, coder) == Closure.OPEN

    def test_the_database_keeps_one_that_stands_and_none_that_was_shown_and_taken_back(
        self, project: Project, read_talk: Interview, coder: User
    ) -> None:
        row = finish_interview(project=project, interview=read_talk, by=coder)
        now = timezone.now()
        with pytest.raises(IntegrityError), transaction.atomic():
            Finish.objects.create(interview=read_talk, coder=coder, finished_at=now)
        with pytest.raises(IntegrityError), transaction.atomic():
            Finish.objects.filter(pk=row.pk).update(shown_at=now, withdrawn_at=now)


class TestShowing:
    def test_what_was_shown_is_not_taken_back_and_stays_closed_whatever_is_assigned(
        self, project: Project, read_talk: Interview, lead: User, coder: User
    ) -> None:
        finish_interview(project=project, interview=read_talk, by=coder)
        assert queries.count_unshown(project, coder) == 1
        assert queries.find_shown(project.pk, coder.pk) == set()
        assert show_finished(project=project, by=coder) == 1
        assert last_event(project).details == {"interviews": [read_talk.pk], "rows": ANY}
        assert queries.count_unshown(project, coder) == 0
        assert queries.find_shown(project.pk, coder.pk) == {read_talk.pk}
        with pytest.raises(Refused, match="can no longer change"):
            take_back_finish(project=project, interview=read_talk, by=coder)
        open_round(project, lead, coder)
        assert find_closure(read_talk, coder) == Closure.FINISHED

    def test_only_her_own_that_stand_are_shown(
        self, project: Project, read_talk: Interview, coder: User, second_coder: User
    ) -> None:
        finish_interview(project=project, interview=read_talk, by=coder)
        before = count_events(project)
        assert show_finished(project=project, by=second_coder) == 0
        take_back_finish(project=project, interview=read_talk, by=coder)
        assert show_finished(project=project, by=coder) == 0
        assert count_events(project) == before + 1


class TestPage:
    def test_begun_interviews_are_listed_finished_and_taken_back(
        self, talks: list[Interview], read_talk: Interview, coder: User, client_of: SignIn
    ) -> None:
        client = client_of(coder)
        page = client.get(WORK).content.decode()
        assert "Finish this interview" in page
        assert talks[1].title not in page
        address = f"{WORK}{read_talk.pk}/finish/"
        wrong = client.post(address, {})
        assert wrong.status_code == 422
        assert "Tick the box to confirm that you have finished." in wrong.content.decode()
        page = client.post(address, {"confirmed": "on"}, follow=True).content.decode()
        assert "is finished. Your codings of it cannot be changed" in page
        assert "Finish this interview" not in page
        page = client.post(f"{WORK}{read_talk.pk}/take-back/", follow=True).content.decode()
        assert "is open again" in page

    def test_the_reason_is_asked_for_at_the_interview(
        self, talks: list[Interview], coder: User, client_of: SignIn
    ) -> None:
        decide(answers(talks[1])[0], coder)
        client = client_of(coder)
        answer = client.post(f"{WORK}{talks[1].pk}/finish/", {"confirmed": "on"})
        assert answer.status_code == 422
        assert "2 of 3 sentences of the model are undecided" in answer.content.decode()
        answer = client.post(f"{WORK}{talks[0].pk}/finish/", {"confirmed": "on", "reason": "x"})
        assert answer.status_code == 409
        assert "nothing to finish" in answer.content.decode()

    def test_once_shown_the_page_offers_no_way_back(
        self, project: Project, read_talk: Interview, coder: User, client_of: SignIn
    ) -> None:
        finish_interview(project=project, interview=read_talk, by=coder)
        show_finished(project=project, by=coder)
        client = client_of(coder)
        assert "Take back" not in client.get(WORK).content.decode()
        assert client.post(f"{WORK}{read_talk.pk}/take-back/").status_code == 409

    def test_where_interviews_are_assigned_nothing_of_it_is_shown(
        self, project: Project, read_talk: Interview, lead: User, coder: User, second_coder: User, client_of: SignIn
    ) -> None:
        find_assignment(open_round(project, lead, coder), read_talk, coder)
        for person in (coder, second_coder):
            assert "Finish this interview" not in client_of(person).get(WORK).content.decode()
