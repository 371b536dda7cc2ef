"""Normative stances: written once, and changed by a next number with a reason."""

from __future__ import annotations

import pytest

from tests.transcripts.coding.desk_cast import count_events, last_event
from tests.transcripts.negotiation.score_cast import CARE, write
from transcripts.accounts.models import User
from transcripts.coding.actions import WrongInput
from transcripts.negotiation.actions.stances import StanceChanged, write_stance
from transcripts.negotiation.models import Stance
from transcripts.projects.models import Project

pytestmark = pytest.mark.django_db


def test_a_stance_is_stored_with_its_author_and_the_hash_of_its_wording(project: Project, lead: User) -> None:
    stance = write(project, lead)
    assert (stance.label, stance.author, stance.written_by) == ("care/1", "The team", lead)
    assert stance.sha256 == CARE.sha256
    event = last_event(project)
    assert event.action == "negotiation.stance.written"
    assert event.details == {"number": 1, "sha256": CARE.sha256}


def test_new_wording_is_the_next_number_and_the_first_stays_as_it_is(project: Project, lead: User) -> None:
    first = write(project, lead)
    text = CARE._replace(context="Advice to clinicians.")
    second = write_stance(project=project, name="Care", text=text, by=lead, based_on=1, reason="Another place.")
    assert (second.label, second.reason) == ("care/2", "Another place.")
    first.refresh_from_db()
    assert first.context == "Advice to the public."
    assert first.sha256 != second.sha256


def test_the_same_wording_is_refused(project: Project, lead: User) -> None:
    write(project, lead)
    before = count_events(project)
    text = CARE._replace(statement=f" {CARE.statement}\r\n")
    with pytest.raises(WrongInput, match="the wording of number 1") as refused:
        write_stance(project=project, name="care", text=text, by=lead, based_on=1, reason="None.")
    assert refused.value.field == "statement"
    assert (Stance.objects.count(), count_events(project)) == (1, before)


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("", {}, "name"),
        ("a/b", {}, "name"),
        ("x" * 61, {}, "name"),
        ("care", {"statement": "  "}, "statement"),
        ("care", {"author": ""}, "author"),
        ("care", {"author": "x" * 201}, "author"),
        ("care", {"trade_offs": "nul \x00"}, "trade_offs"),
        ("care", {"context": "x" * 20_001}, "context"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_field(
    project: Project, lead: User, name: str, changes: dict[str, str], field: str
) -> None:
    with pytest.raises(WrongInput) as refused:
        write(project, lead, name, **changes)
    assert refused.value.field == field
    assert not Stance.objects.exists()


def test_a_next_number_needs_a_reason_and_a_name_is_taken_once(project: Project, lead: User) -> None:
    write(project, lead)
    text = CARE._replace(context="Elsewhere.")
    with pytest.raises(WrongInput, match="why the wording changes"):
        write_stance(project=project, name="care", text=text, by=lead, based_on=1)
    with pytest.raises(WrongInput, match="already"):
        write_stance(project=project, name="CARE", text=text, by=lead)
    with pytest.raises(WrongInput, match="no stance of this name"):
        write_stance(project=project, name="autonomy", text=text, by=lead, based_on=3, reason="x")


def test_who_is_late_is_told_what_was_written_meanwhile(project: Project, owner: User, lead: User) -> None:
    write(project, lead)
    text = CARE._replace(context="Elsewhere.")
    write_stance(project=project, name="care", text=text, by=owner, based_on=1, reason="First.")
    with pytest.raises(StanceChanged, match="owner wrote number 2") as refused:
        write_stance(
            project=project, name="care", text=CARE._replace(context="There."), by=lead, based_on=1, reason="x"
        )
    assert refused.value.latest.number == 2
