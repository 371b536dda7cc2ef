import re

import pytest
from django.test import Client

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.studies import views
from transcripts.studies.actions import create_study, invite_person, set_member_role
from transcripts.studies.models import Membership
from transcripts.studies.roles import ROLES

MEMBERS = "/studies/culture/members/"


def page_of(client, path):
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def role_of(user, study):
    membership = Membership.objects.filter(user=user, study=study).first()
    return membership.role if membership else None


class TestStudies:
    def test_list_shows_ones_own_studies_with_role_and_sentence(self, study, coder, outsider, client_of):
        create_study(slug="secret", name="Secret study", by=outsider)
        page = page_of(client_of(coder), "/")
        assert "Cultural schemas" in page
        assert "Codes interviews" in page
        assert "Secret study" not in page
        assert "/new-study/" in page

    def test_outsider_is_told_what_to_do(self, study, outsider, client_of):
        page = page_of(client_of(outsider), "/")
        assert "Cultural schemas" not in page
        assert "You are not a member of any study yet" in page

    def test_owner_of_the_site_sees_every_study(self, study, outsider, client_of):
        outsider.is_superuser = True
        outsider.save()
        client = client_of(outsider)
        assert "Cultural schemas" in page_of(client, "/")
        assert "Your role is <strong>Owner</strong>" in page_of(client, "/studies/culture/")

    def test_list_costs_as_many_queries_for_one_study_as_for_many(
        self, study, owner, client_of, django_assert_num_queries
    ):
        client = client_of(owner)
        for number in range(5):
            create_study(slug=f"more-{number}", name=f"More {number}", by=owner)
        with django_assert_num_queries(6):
            page_of(client, "/")

    @pytest.mark.parametrize("role", [*ROLES])
    def test_home_says_what_ones_role_is(self, study, owner, outsider, client_of, role):
        set_member_role(study=study, user=outsider, role=role, by=trail.SYSTEM)
        page = page_of(client_of(outsider), "/studies/culture/")
        assert f"Your role is <strong>{ROLES[role].name}</strong>" in page

    def test_words_of_a_study_are_shown_as_text(self, owner, client_of):
        create_study(slug="x", name="<script>alert(1)</script>", description="<img src=x onerror=y>", by=owner)
        for path in ("/", "/studies/x/", "/studies/x/members/", "/studies/x/history/"):
            page = page_of(client_of(owner), path)
            assert "<script>alert" not in page
            assert "<img src=x" not in page

    def test_outsider_cannot_tell_a_study_from_none(self, study, outsider, client_of):
        client = client_of(outsider)
        there, nowhere = client.get("/studies/culture/"), client.get("/studies/nowhere/")
        assert there.status_code == nowhere.status_code == 404
        form_token = re.compile(rb"[A-Za-z0-9]{64}")
        assert form_token.sub(b"", there.content) == form_token.sub(b"", nowhere.content)


class TestMembers:
    def test_every_member_sees_who_belongs_but_only_owners_can_change_it(self, study, owner, lead, coder, client_of):
        for user in (lead, coder):
            page = page_of(client_of(user), MEMBERS)
            assert "owner" in page
            assert "Set role" not in page
            assert "Invite a person" not in page
        assert "Set role" in page_of(client_of(owner), MEMBERS)

    def test_sentence_of_every_role_is_on_the_page(self, study, coder, client_of):
        page = page_of(client_of(coder), MEMBERS)
        assert page.count("<dt>") == len(ROLES)

    def test_owner_invites_somebody_new_and_gets_a_link_once(self, study, owner, client_of):
        client = client_of(owner)
        answer = client.post(f"{MEMBERS}add/", {"username": "ada", "role": "coder", "is_new": "on"})
        link = re.search(r"http://127\.0\.0\.1:8000(/sign-in/[\w-]+/)", answer.content.decode())
        assert link is not None
        assert "no-store" in answer["Cache-Control"]
        assert "/sign-in/" not in page_of(client, MEMBERS)
        newcomer = Client()
        newcomer.post(link[1])
        assert "Your role is <strong>Coder</strong>" in page_of(newcomer, "/studies/culture/")

    def test_invitation_cannot_make_an_owner_of_the_site(self, study, owner, client_of):
        wanted = {"username": "ada", "role": "owner", "is_new": "on", "is_superuser": "on", "is_owner_of_site": "on"}
        client_of(owner).post(f"{MEMBERS}add/", wanted)
        assert not User.objects.get(username="ada").is_superuser

    @pytest.mark.parametrize(
        ("typed", "words"),
        [
            ({"username": "outsider", "role": "coder", "is_new": "on"}, "There is already a user named outsider"),
            ({"username": "two words", "role": "coder", "is_new": "on"}, "cannot be used as a user name"),
            ({"username": "", "role": "coder"}, "This field is required"),
            ({"username": "outsider", "role": "admin"}, "Select a valid choice"),
            ({"username": "Owner", "role": "reader"}, "already a member of this study"),
        ],
    )
    def test_wrong_entry_is_422_with_its_reason_and_what_was_typed(
        self, study, owner, outsider, client_of, typed, words
    ):
        answer = client_of(owner).post(f"{MEMBERS}add/", typed)
        assert answer.status_code == 422
        assert words in answer.content.decode()
        assert f'value="{typed["username"]}"' in answer.content.decode() or not typed["username"]
        assert role_of(outsider, study) is None
        assert role_of(owner, study) == "owner"

    def test_owner_changes_a_role(self, study, owner, coder, client_of):
        answer = client_of(owner).post(f"{MEMBERS}{coder.pk}/role/", {"role": "lead"})
        assert answer.status_code == 302
        assert role_of(coder, study) == "lead"

    def test_last_owner_cannot_be_changed_or_removed(self, study, owner, client_of):
        client = client_of(owner)
        for path, typed in (("role", {"role": "lead"}), ("remove", {})):
            answer = client.post(f"{MEMBERS}{owner.pk}/{path}/", typed)
            assert answer.status_code == 422
            assert "A study needs an owner" in answer.content.decode()
        assert role_of(owner, study) == "owner"

    def test_unknown_role_is_422(self, study, owner, coder, client_of):
        assert client_of(owner).post(f"{MEMBERS}{coder.pk}/role/", {"role": "admin"}).status_code == 422
        assert role_of(coder, study) == "coder"

    def test_owner_removes_a_member_who_then_sees_nothing(self, study, owner, coder, client_of):
        asked = client_of(owner).get(f"{MEMBERS}{coder.pk}/remove/").content.decode()
        assert "from this study?" in asked
        assert Membership.objects.filter(user=coder).exists()
        client_of(owner).post(f"{MEMBERS}{coder.pk}/remove/")
        assert client_of(coder).get("/studies/culture/").status_code == 404

    def test_owner_who_removes_herself_lands_on_her_studies(self, study, owner, lead, client_of):
        set_member_role(study=study, user=lead, role="owner", by=owner)
        assert client_of(owner).post(f"{MEMBERS}{owner.pk}/remove/")["Location"] == "/"

    def test_person_who_does_not_belong_cannot_be_changed(self, study, owner, outsider, client_of):
        for path in ("role", "remove", "link"):
            answer = client_of(owner).post(f"{MEMBERS}{outsider.pk}/{path}/", {"role": "lead"})
            assert answer.status_code == 404

    def test_new_link_for_an_invited_person_and_for_nobody_else(self, study, owner, coder, client_of):
        invited = invite_person(study=study, username="ada", role="coder", by=owner)[0]
        client = client_of(owner)
        page = page_of(client, MEMBERS)
        assert f"/members/{invited.pk}/link/" in page
        assert f"/members/{coder.pk}/link/" not in page
        assert "/sign-in/" in client.post(f"{MEMBERS}{invited.pk}/link/").content.decode()
        refused = client.post(f"{MEMBERS}{coder.pk}/link/")
        assert refused.status_code == 422
        assert "/sign-in/" not in refused.content.decode()

    def test_list_costs_as_many_queries_for_one_member_as_for_many(
        self, study, owner, lead, coder, second_coder, reader, client_of, django_assert_num_queries
    ):
        client = client_of(owner)
        with django_assert_num_queries(6):
            page_of(client, MEMBERS)


class TestHistory:
    PATH = "/studies/culture/history/"

    def test_newest_event_comes_first(self, study, owner, lead, reader, client_of):
        for user in (owner, lead, reader):
            page = page_of(client_of(user), self.PATH)
            assert page.index("reader") < page.index("study.created")

    def test_coder_is_told_why_not(self, study, coder, client_of):
        assert client_of(coder).get(self.PATH).status_code == 403

    def test_events_of_other_studies_and_of_the_site_are_not_shown(self, study, owner, outsider, client_of):
        create_study(slug="other", name="Other", by=outsider)
        invite_person(study=study, username="ada", role="coder", by=owner)
        page = page_of(client_of(owner), self.PATH)
        assert "outsider" not in page
        assert "account." not in page

    @pytest.mark.parametrize(("query", "first"), [("", 25), ("?page=2", 15), ("?page=99", 5), ("?page=x", 25)])
    def test_long_history_is_paged(self, study, owner, client_of, monkeypatch, query, first):
        monkeypatch.setattr(views, "EVENTS_PER_PAGE", 10)
        stream = trail.study_stream(study.pk)
        known = AuditEvent.objects.filter(stream=stream).count()
        for number in range(known + 1, 26):
            trail.record("test.done", target="nothing", by=owner, stream=stream, details={"number": number})
        page = page_of(client_of(owner), self.PATH + query)
        assert re.findall(r'<td class="num">(\d+)</td>', page)[0] == str(first)

    def test_details_are_shown_in_words_and_as_text(self, study, owner, client_of, django_assert_num_queries):
        stream = trail.study_stream(study.pk)
        details = {"items": [1, 2], "new_state": "<b>done</b>", "before": None}
        trail.record("test.done", target="nothing", by=owner, stream=stream, details=details)
        client = client_of(owner)
        with django_assert_num_queries(5):
            page = page_of(client, self.PATH)
        assert "new state:</span> &lt;b&gt;done&lt;/b&gt;" in page
        assert "items:</span> [1, 2]" in page
        assert "before:</span> none" in page
