"""Several annotators side by side: who sees them on which interviews."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.preannotation.evaluation.queries.spread import read_spread
from auditapp.preannotation.models import Annotator
from tests.auditapp.preannotation.calibration_cast import BALANCE, bring_in, make_annotator, read
from transcripts.accounts.models import User
from transcripts.blinding.actions import unblind_interview
from transcripts.coding.models import Unblinding
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.models import Project

ClientOf = Callable[[User], Client]


@pytest.fixture
def said(project: Project, owner: User) -> list[Sentence]:
    """Two interviews of nine sentences."""
    return bring_in(project, owner, interviews=2)


@pytest.fixture
def annotators(project: Project, said: list[Sentence]) -> list[Annotator]:
    """One puts balance on all of the first interview and nothing of the second; the other the other way round."""
    first = said[0].turn.interview_id
    found = []
    for name, puts_first in (("one", True), ("other", False)):
        found.append(make_annotator(project, name))
        read(found[-1], said, {each.pk: [BALANCE] for each in said if (each.turn.interview_id == first) == puts_first})
    return found


def page(client: Client, project: Project, **query: list[int]) -> str:
    return " ".join(client.get(reverse("preannotation:spread", args=[project.slug]), query).content.decode().split())


def test_it_is_limited_to_the_interviews_that_are_asked_for(annotators: list[Annotator], said: list[Sentence]) -> None:
    talks = {each.turn.interview_id for each in said}
    whole = read_spread(annotators)
    assert [rate.put for rate in whole.codes[0].rates] == [9, 9]
    assert whole.codes[0].n == 18
    part = read_spread(annotators, seen={min(talks)})
    assert [rate.put for rate in part.codes[0].rates] == [9, 0]
    assert (part.codes[0].n, part.interviews) == (9, talks)
    assert read_spread(annotators, seen=()) == ([], talks)


def test_who_does_not_code_sees_all(
    project: Project, annotators: list[Annotator], reader: User, client_of: ClientOf
) -> None:
    shown = page(client_of(reader), project)
    assert "18 sentences read by all of them" in shown
    assert "is closed to you" not in shown


def test_who_codes_sees_no_rate_of_an_interview_before_she_opened_it(
    project: Project, annotators: list[Annotator], said: list[Sentence], lead: User, client_of: ClientOf
) -> None:
    client = client_of(lead)
    shown = page(client, project)
    assert "What machines said in 2 interviews is closed to you" in shown
    assert "read by all of them" not in shown
    assert "%</td>" not in shown
    first = Interview.objects.get(pk=said[0].turn.interview_id)
    unblind_interview(project=project, interview=first, by=lead, where="agreement")
    shown = page(client, project)
    assert "What machines said in 1 interview is closed to you" in shown
    assert "9 sentences read by all of them" in shown
    assert "rates from 0.0 % to 100.0 %" in shown


def test_opening_asks_first_and_is_kept(
    project: Project, annotators: list[Annotator], lead: User, client_of: ClientOf
) -> None:
    client, path = client_of(lead), reverse("preannotation:open_spread", args=[project.slug])
    keys = [each.pk for each in annotators]
    assert f'name="annotators" value="{keys[0]}"' in page(client, project, annotators=keys)
    refused = client.post(path, {"annotators": keys})
    assert refused.status_code == 422
    assert "Tick the box to say that you know what follows" in refused.content.decode()
    assert client.post(path, {"annotators": [0], "confirmed": "on"}).status_code == 422
    assert not Unblinding.objects.exists()
    answer = client.post(path, {"annotators": keys, "confirmed": "on"})
    assert answer.status_code == 302
    assert answer["Location"].endswith(f"?annotators={keys[0]}&annotators={keys[1]}")
    assert set(Unblinding.objects.values_list("user", "where")) == {(lead.pk, "spread")}
    assert "18 sentences read by all of them" in page(client, project)


def test_opening_for_one_reads_no_more_interviews_than_it_did(
    project: Project, said: list[Sentence], lead: User, client_of: ClientOf
) -> None:
    narrow = make_annotator(project, "narrow")
    first = said[0].turn.interview_id
    read(narrow, [each for each in said if each.turn.interview_id == first], {})
    path = reverse("preannotation:open_spread", args=[project.slug])
    assert client_of(lead).post(path, {"annotators": [narrow.pk], "confirmed": "on"}).status_code == 302
    assert list(Unblinding.objects.values_list("interview", flat=True)) == [first]


def test_who_does_not_code_opens_nothing_and_an_outsider_finds_nothing(
    project: Project, annotators: list[Annotator], coder: User, outsider: User, client_of: ClientOf
) -> None:
    path = reverse("preannotation:open_spread", args=[project.slug])
    assert client_of(coder).post(path, {"confirmed": "on"}).status_code == 403
    assert client_of(outsider).post(path, {"confirmed": "on"}).status_code == 404
    assert not Unblinding.objects.exists()
