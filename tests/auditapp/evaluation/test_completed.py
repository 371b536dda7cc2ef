"""A coder in a study without assignments settles her interviews, and meets her own figures of influence."""

import pytest
from django.urls import reverse

from auditapp.evaluation.queries.influence import find_settled
from tests.auditapp.evaluation import cast
from transcripts.rounds.actions import complete_interview, show_completed


@pytest.fixture
def said(study, owner):
    return cast.bring_in(study, owner, turns=8)


@pytest.fixture
def annotator(study, said, coder):
    """It agrees with the coder everywhere, on twelve sentences of each arm."""
    annotator = cast.make_annotator(study)
    cast.read(annotator, said, {said[0].pk: [cast.BALANCE]})
    cast.withhold(study, said, {each.turn_id for each in said[12:]})
    cast.decide_all(coder, said, {said[0].pk: [cast.BALANCE]})
    return annotator


def visit(client, study):
    return " ".join(client.get(reverse("evaluation:influence", args=[study.slug])).content.decode().split())


class TestFinished:
    def test_finished_alone_is_not_settled_for_it_can_be_taken_back(self, study, said, annotator, coder):
        interview = said[0].turn.interview
        assert find_settled(study.pk, coder.pk) == set()
        complete_interview(study=study, interview=interview, by=coder)
        assert find_settled(study.pk, coder.pk) == set()
        show_completed(study=study, by=coder)
        assert find_settled(study.pk, coder.pk) == {interview.pk}

    def test_her_figures_count_it_once_she_lets_them(self, study, said, annotator, coder, client_of):
        client = client_of(coder)
        page = visit(client, study)
        assert "24 of your units are in neither arm yet" in page
        assert "When you have coded all of an interview, complete it under" in page
        complete_interview(study=study, interview=said[0].turn.interview, by=coder)
        page = visit(client, study)
        assert "24 of your units are in neither arm yet" in page
        assert "You have completed 1 interview that is not counted here yet" in page
        address = reverse("evaluation:open_completed", args=[study.slug])
        refused = client.post(address, {"annotator": annotator.pk}, follow=True).content.decode()
        assert "Tick the box first" in refused
        answer = client.post(address, {"annotator": annotator.pk, "confirmed": "on"})
        assert answer.headers["Location"].endswith(f"?annotator={annotator.pk}")
        page = visit(client, study)
        assert "Your figures count 1 more interview now" in page
        assert "in neither arm yet" not in page
        assert "12" in page

    def test_an_annotator_that_is_none_is_no_way_back_and_no_fault(self, study, coder, client_of):
        address = reverse("evaluation:open_completed", args=[study.slug])
        assert client_of(coder).post(address, {"annotator": "x", "confirmed": "on"}).status_code == 302
