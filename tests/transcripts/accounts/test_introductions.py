"""A page says what it is for until its reader has dismissed that."""

import pytest

from tests.support.whole_study import ADDRESSES
from transcripts.accounts.actions import dismiss_introduction
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.roles import ROLES, Permission
from transcripts.ui.navigation import INTRODUCTIONS, find_introduction

DISMISS = "/account/introductions/dismiss/"
WORDS = "Who takes part, and what each person may do."


@pytest.fixture
def members(study):
    return f"/studies/{study.slug}/members/"


def test_a_page_says_what_it_is_for_until_its_reader_has_dismissed_that(members, lead, owner, client_of):
    client = client_of(lead)
    assert WORDS in client.get(members).content.decode()
    answer = client.post(DISMISS, {"page": "studies:members", "next": members + "?page=1"})
    assert (answer.status_code, answer["Location"]) == (302, members + "?page=1")
    assert WORDS not in client.get(members).content.decode()
    # Neither the other pages nor other people are concerned.
    assert 'class="introduction"' in client.get(members.replace("members", "interviews")).content.decode()
    assert WORDS in client_of(owner).get(members).content.decode()


def test_with_htmx_nothing_is_opened_again(lead, client_of):
    answer = client_of(lead).post(DISMISS, {"page": "studies:home"}, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (200, b"")
    lead.refresh_from_db()
    assert lead.known_pages == ["studies:home"]


@pytest.mark.parametrize("elsewhere", ["", "https://example.org/", "//example.org/", "javascript:alert(1)"])
def test_nobody_is_led_to_another_site(lead, client_of, elsewhere):
    assert client_of(lead).post(DISMISS, {"page": "studies:home", "next": elsewhere})["Location"] == "/"


def test_dismissing_is_recorded_once(lead):
    for page in ("studies:members", "studies:home", "studies:home"):
        dismiss_introduction(page=page, by=lead)
    lead.refresh_from_db()
    assert lead.known_pages == ["studies:home", "studies:members"]
    events = AuditEvent.objects.filter(action="account.introduction.dismissed").order_by("pk")
    assert [(event.stream, event.actor_name, event.details) for event in events] == [
        ("site", lead.username, {"page": page}) for page in ("studies:members", "studies:home")
    ]


def test_only_pages_with_an_introduction_are_stored(lead):
    with pytest.raises(Refused, match="no introduction"):
        dismiss_introduction(page="x" * 10_000, by=lead)
    lead.refresh_from_db()
    assert lead.known_pages == []


def test_a_page_that_tells_of_a_failure_has_none(study, coder, client_of):
    answer = client_of(coder).get(f"/studies/{study.slug}/rounds/")
    assert answer.status_code == 403
    assert 'class="introduction"' not in answer.content.decode()


def test_introductions_are_of_pages_that_exist_and_fit_in_two_lines():
    assert set(INTRODUCTIONS) <= set(ADDRESSES)
    for said in INTRODUCTIONS.values():
        assert set(said) <= {"", *Permission}
        assert all(len(words) <= 130 for words in said.values())


def test_what_a_page_proposes_is_something_its_reader_may_do():
    for_lead = find_introduction("corpus:interviews", ROLES["lead"].permissions)
    for_reader = find_introduction("corpus:interviews", ROLES["reader"].permissions)
    assert "Import your own" in for_lead
    assert "Import" not in for_reader
    assert find_introduction("desk:desk", ROLES["reader"].permissions) == ""
    assert find_introduction("codebook:version", ROLES["lead"].permissions) == ""
