from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import seed_codebook
from transcripts.refusals import WrongInput
from transcripts.studies.actions import create_project, set_stance
from transcripts.studies.models import MethodStance, Project
from transcripts.studies.queries import find_stance, list_stances, read_stances
from transcripts.ui.typed_text import MAX_REASON

METHOD = "/p/culture/method/"
SignIn = Callable[[User], Client]


def events(project: Project) -> list[AuditEvent]:
    found = AuditEvent.objects.filter(stream=trail.project_stream(project.pk), action="project.method.stance_set")
    return list(found.order_by("sequence"))


@pytest.fixture
def project(owner: User) -> Project:
    """A study with a codebook, of whose method nothing was said."""
    project = create_project(slug="culture", name="Cultural schemas", by=owner)
    seed_codebook(project=project, by=owner)
    return project


class TestAction:
    def test_study_of_which_nothing_was_said_is_read_reflexively(self, project: Project) -> None:
        assert find_stance(project) == find_stance(project, "themes") == "reflexive"
        assert not read_stances(project).is_mixed

    def test_first_stance_needs_no_reason_and_holds_for_every_family(self, project: Project, lead: User) -> None:
        set_stance(project=project, stance="codebook", by=lead)
        assert find_stance(project) == find_stance(project, "themes") == "codebook"
        [event] = events(project)
        assert event.details == {"family": "", "before": "reflexive", "after": "codebook"}
        assert event.actor_name == "lead"

    def test_another_stance_needs_a_reason_and_the_first_stays_on_record(self, project: Project, lead: User) -> None:
        set_stance(project=project, stance="codebook", by=lead)
        with pytest.raises(WrongInput, match="Say why") as refused:
            set_stance(project=project, stance="reflexive", reason="  ", by=lead)
        assert refused.value.field == "reason"
        set_stance(project=project, stance="reflexive", reason="We read alone now.", by=lead)
        assert [row.stance for row in list_stances(project)] == ["reflexive", "codebook"]

    def test_family_has_its_own_and_the_others_follow_the_study(self, project: Project, lead: User) -> None:
        set_stance(project=project, family="moves", stance="reliability", by=lead)
        assert [find_stance(project, name) for name in ("moves", "themes", "")] == [
            *("reliability", "reflexive", "reflexive"),
        ]
        assert read_stances(project).is_mixed
        set_stance(project=project, stance="codebook", by=lead)
        assert find_stance(project, "moves") == "reliability"

    def test_family_that_followed_the_study_needs_a_reason_to_leave_it(self, project: Project, lead: User) -> None:
        set_stance(project=project, stance="codebook", by=lead)
        with pytest.raises(WrongInput):
            set_stance(project=project, family="moves", stance="reliability", by=lead)
        set_stance(project=project, family="moves", stance="reliability", reason="Frozen codes.", by=lead)
        assert events(project)[-1].details == {"family": "moves", "before": "codebook", "after": "reliability"}

    def test_same_stance_again_stores_nothing(self, project: Project, lead: User) -> None:
        first = set_stance(project=project, stance="codebook", by=lead)
        assert set_stance(project=project, stance="codebook", by=lead) == first
        assert len(events(project)) == MethodStance.objects.count() == 1

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"stance": "positivist"}, "stance"),
            ({"stance": "codebook", "family": "nothing"}, "family"),
            ({"stance": "codebook", "reason": "x" * (MAX_REASON + 1)}, "reason"),
            ({"stance": "codebook", "reason": "a\x00b"}, "reason"),
        ],
    )
    def test_wrong_input_is_refused_and_nothing_stored(
        self, project: Project, lead: User, wrong: dict[str, str], field: str
    ) -> None:
        with pytest.raises(WrongInput) as refused:
            set_stance(project=project, by=lead, **wrong)
        assert refused.value.field == field
        assert not MethodStance.objects.exists()
        assert not events(project)


class TestPage:
    def test_lead_switches_and_everybody_reads_who_did_it_when_and_why(
        self, project: Project, lead: User, coder: User, reader: User, client_of: SignIn
    ) -> None:
        client = client_of(lead)
        client.post(f"{METHOD}set/", {"stance": "codebook"})
        typed = {"family": "moves", "stance": "reliability", "reason": "Two rounds with <b>frozen</b> codes."}
        assert client.post(f"{METHOD}set/", typed).status_code == 302
        for user in (lead, coder, reader):
            page = client_of(user).get(METHOD).content.decode()
            assert "Two rounds with &lt;b&gt;frozen&lt;/b&gt; codes." in page
            assert "follows the study" in page
            assert "No coefficient of agreement is reported" in page
            assert ("Set the method" in page) is (user == lead)

    def test_coder_cannot_switch(self, project: Project, coder: User, client_of: SignIn) -> None:
        assert client_of(coder).post(f"{METHOD}set/", {"stance": "codebook"}).status_code == 403
        assert not MethodStance.objects.exists()

    @pytest.mark.parametrize(
        ("typed", "words"),
        [
            ({"stance": "reflexive"}, "A method was already set here"),
            ({"stance": "positivist"}, "Select a valid choice"),
            ({"stance": "codebook", "family": "nothing"}, "Select a valid choice"),
            ({}, "This field is required"),
        ],
    )
    def test_wrong_entry_is_422_with_its_reason(
        self, project: Project, lead: User, client_of: SignIn, typed: dict[str, str], words: str
    ) -> None:
        set_stance(project=project, stance="codebook", by=lead)
        answer = client_of(lead).post(f"{METHOD}set/", typed)
        assert answer.status_code == 422
        assert words in answer.content.decode()
        assert MethodStance.objects.count() == 1

    def test_page_costs_as_many_queries_for_one_switch_as_for_many(
        self, project: Project, lead: User, client_of: SignIn, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        client = client_of(lead)
        for number in range(6):
            stance = "codebook" if number % 2 else "reflexive"
            set_stance(project=project, stance=stance, reason=f"No. {number}", by=lead)
        with django_assert_num_queries(7):
            client.get(METHOD)
