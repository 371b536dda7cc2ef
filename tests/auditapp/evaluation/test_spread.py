"""Several annotators side by side: who sees them on which interviews."""

import pytest
from django.urls import reverse

from auditapp.evaluation.queries.calibration_tables import read_spread
from tests.auditapp.evaluation.cast import BALANCE, bring_in, make_annotator, read
from tests.transcripts.blinding.cast import unblind_on
from transcripts.blinding.actions import unblind_interview
from transcripts.coding.models import Unblinding
from transcripts.corpus.models import Interview


@pytest.fixture
def said(study, owner):
    """Two interviews of nine sentences."""
    return bring_in(study, owner, interviews=2)


@pytest.fixture
def annotators(study, said):
    """One puts balance on all of the first interview and nothing of the second; the other the other way round."""
    first = said[0].turn.interview_id
    found = []
    for name, puts_first in (("one", True), ("other", False)):
        found.append(make_annotator(study, name))
        read(found[-1], said, {each.pk: [BALANCE] for each in said if (each.turn.interview_id == first) == puts_first})
    return found


def page(client, study, **query):
    return " ".join(client.get(reverse("evaluation:spread", args=[study.slug]), query).content.decode().split())


def test_it_is_limited_to_the_interviews_that_are_asked_for(annotators, said):
    talks = {each.turn.interview_id for each in said}
    whole, _ = read_spread(annotators)
    assert [rate["put"] for rate in whole[0]["rates"]] == [9, 9]
    assert whole[0]["n"] == 18
    part, interviews = read_spread(annotators, seen={min(talks)})
    assert [rate["put"] for rate in part[0]["rates"]] == [9, 0]
    assert (part[0]["n"], interviews) == (9, talks)
    assert read_spread(annotators, seen=()) == ([], talks)


def test_who_does_not_code_sees_all(study, annotators, reader, client_of):
    shown = page(client_of(reader), study)
    assert "18 sentences annotated by all of them" in shown
    assert "hidden from you" not in shown


def test_who_codes_sees_no_rate_of_an_interview_before_she_opened_it(study, annotators, said, lead, client_of):
    client = client_of(lead)
    shown = page(client, study)
    assert "Others’ labels in 2 interviews are hidden from you" in shown
    assert "annotated by all of them" not in shown
    assert "%</td>" not in shown
    first = Interview.objects.get(pk=said[0].turn.interview_id)
    unblind_interview(study=study, interview=first, by=lead, where="agreement")
    shown = page(client, study)
    assert "Others’ labels in 1 interview are hidden from you" in shown
    assert "9 sentences annotated by all of them" in shown
    assert "rates from 0.0 % to 100.0 %" in shown


def test_the_page_unblinds_what_it_hides_and_nothing_without_the_tick(study, annotators, lead, client_of):
    client, path = client_of(lead), reverse("evaluation:spread", args=[study.slug])
    query = f"?annotators={annotators[0].pk}&annotators={annotators[1].pk}"
    assert unblind_on(client, path + query, confirmed=False).status_code == 422
    assert not Unblinding.objects.exists()
    assert unblind_on(client, path + query)["Location"] == path + query
    assert set(Unblinding.objects.values_list("user", "where")) == {(lead.pk, "spread")}
    assert "18 sentences annotated by all of them" in page(client, study)


def test_no_more_interviews_are_unblinded_than_the_annotators_read(study, said, lead, client_of):
    first = said[0].turn.interview_id
    for name in ("narrow", "narrower"):
        read(make_annotator(study, name), [each for each in said if each.turn.interview_id == first], {})
    assert unblind_on(client_of(lead), reverse("evaluation:spread", args=[study.slug])).status_code == 302
    assert list(Unblinding.objects.values_list("interview", flat=True)) == [first]
