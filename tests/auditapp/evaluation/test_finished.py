"""A coder in a study without assignments settles her interviews, and meets her own figures of influence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.annotators.models import Annotator
from auditapp.evaluation.queries.influence import find_settled
from tests.auditapp.evaluation import calibration_cast
from transcripts.accounts.models import User
from transcripts.corpus.models import Sentence
from transcripts.rounds.actions import finish_interview, show_finished
from transcripts.studies.models import Project

ClientOf = Callable[[User], Client]


@pytest.fixture
def said(project: Project, owner: User) -> list[Sentence]:
    return calibration_cast.bring_in(project, owner, turns=8)


@pytest.fixture
def annotator(project: Project, said: list[Sentence], coder: User) -> Annotator:
    """It agrees with the coder everywhere, on twelve sentences of each arm."""
    annotator = calibration_cast.make_annotator(project)
    calibration_cast.read(annotator, said, {said[0].pk: [calibration_cast.BALANCE]})
    calibration_cast.withhold(project, said, {each.turn_id for each in said[12:]})
    calibration_cast.decide_all(coder, said, {said[0].pk: [calibration_cast.BALANCE]})
    return annotator


def visit(client: Client, project: Project) -> str:
    return " ".join(client.get(reverse("evaluation:influence", args=[project.slug])).content.decode().split())


class TestFinished:
    def test_finished_alone_is_not_settled_for_it_can_be_taken_back(
        self, project: Project, said: list[Sentence], annotator: Annotator, coder: User
    ) -> None:
        interview = said[0].turn.interview
        assert find_settled(project.pk, coder.pk) == set()
        finish_interview(project=project, interview=interview, by=coder)
        assert find_settled(project.pk, coder.pk) == set()
        show_finished(project=project, by=coder)
        assert find_settled(project.pk, coder.pk) == {interview.pk}

    def test_her_figures_count_it_once_she_lets_them(
        self, project: Project, said: list[Sentence], annotator: Annotator, coder: User, client_of: ClientOf
    ) -> None:
        client = client_of(coder)
        page = visit(client, project)
        assert "24 of your units are in neither arm yet" in page
        assert "When you have coded all of an interview, finish it under" in page
        finish_interview(project=project, interview=said[0].turn.interview, by=coder)
        page = visit(client, project)
        assert "24 of your units are in neither arm yet" in page
        assert "You have finished 1 interview that is not counted here yet" in page
        address = reverse("evaluation:open_finished", args=[project.slug])
        refused = client.post(address, {"annotator": annotator.pk}, follow=True).content.decode()
        assert "Tick the box first" in refused
        answer = client.post(address, {"annotator": annotator.pk, "confirmed": "on"})
        assert answer.headers["Location"].endswith(f"?annotator={annotator.pk}")
        page = visit(client, project)
        assert "Your figures count 1 more interview now" in page
        assert "in neither arm yet" not in page
        assert "12" in page

    def test_an_annotator_that_is_none_is_no_way_back_and_no_fault(
        self, project: Project, coder: User, client_of: ClientOf
    ) -> None:
        address = reverse("evaluation:open_finished", args=[project.slug])
        assert client_of(coder).post(address, {"annotator": "x", "confirmed": "on"}).status_code == 302
