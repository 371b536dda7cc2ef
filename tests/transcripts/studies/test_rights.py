"""Starting studies and inviting people are rights, people accept before they belong, and nobody learns who or what exists."""

import io
import json
import re

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command

from tests.conftest import make_user
from transcripts.accounts.actions import set_rights
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import start_study
from transcripts.refusals import Refused
from transcripts.studies.actions import (
    answer_invitation,
    create_study,
    invite_person,
    invite_user,
    remove_member,
    renew_invitation,
    set_member_role,
    withdraw_invitation,
)
from transcripts.studies.models import Invitation, Membership, Study

MEMBERS = "/studies/culture/members/"


@pytest.fixture
def boss(db):
    user = make_user("boss")
    user.is_superuser = True
    user.save()
    return user


@pytest.fixture
def plain(db):
    """A new account, as an invitation makes it."""
    return User.objects.create_user(username="plain", password=None)


def is_member(user, study):
    return Membership.objects.filter(user=user, study=study).exists()


def read(client, path):
    return client.get(path).content.decode()


def test_who_may_not_start_studies_reads_who_gives_the_right(boss, plain, client_of):
    closed = make_user("closed")
    closed.is_superuser, closed.is_active = True, False
    closed.save()
    page = read(client_of(plain), "/")
    assert "Its owner (boss) can give you this right" in page
    assert "closed" not in page
    set_rights(user=plain, may_start_studies=True, may_invite=False, by=boss)
    assert "can give you this right" not in read(client_of(plain), "/")
    assert "can give you this right" not in read(client_of(boss), "/")


class TestRights:
    def test_a_new_account_can_start_no_study(self, plain, client_of):
        with pytest.raises(PermissionDenied, match="may not start studies"):
            start_study(slug="mine", name="Mine", by=plain)
        browser = client_of(plain)
        for answer in (browser.get("/new-study/"), browser.post("/new-study/", {"name": "Mine"})):
            assert answer.status_code == 403
            assert "Ask the owner of the site" in answer.content.decode()
        assert "/new-study/" not in read(browser, "/")
        assert not Study.objects.exists()

    def test_an_owner_of_a_study_without_the_right_invites_nobody(self, study, owner, outsider, client_of):
        invited = invite_person(study=study, username="ada", role="coder", by=owner)[0]
        owner.may_invite = False
        owner.save()
        for typed in ({"username": "outsider"}, {"username": "nobody"}, {"username": "new", "is_new": "on"}):
            answer = client_of(owner).post(f"{MEMBERS}add/", typed | {"role": "coder"})
            assert answer.status_code == 403
        with pytest.raises(PermissionDenied):
            invite_person(study=study, username="new", role="coder", by=owner)
        with pytest.raises(PermissionDenied):
            invite_user(study=study, username="outsider", role="coder", by=owner)
        with pytest.raises(PermissionDenied):
            renew_invitation(study=study, user=invited, by=owner)
        assert not User.objects.filter(username="new").exists()
        assert not Invitation.objects.exists()
        assert "You may not invite people" in read(client_of(owner), MEMBERS)

    def test_the_owner_of_the_site_gives_and_takes_rights(self, plain, boss, outsider, client_of):
        page = read(client_of(boss), "/people/")
        assert "plain" in page
        assert "start studies" in page
        client_of(boss).post(f"/people/{plain.pk}/rights/", {"start_studies": "yes"})
        plain.refresh_from_db()
        assert (plain.may_start_studies, plain.may_invite) == (True, False)
        event = AuditEvent.objects.get(action="account.rights.set")
        assert event.details == {"username": "plain", "start_studies": True, "invite": False}
        with pytest.raises(PermissionDenied):
            set_rights(user=plain, may_start_studies=True, may_invite=True, by=outsider)
        assert client_of(outsider).get("/people/").status_code == 403
        assert client_of(outsider).post(f"/people/{outsider.pk}/rights/").status_code == 403

    def test_a_command_sets_what_is_named(self, plain):
        out = io.StringIO()
        call_command("user", "set-rights", "plain", start_studies="yes", stdout=out)
        call_command("user", "set-rights", "plain", invite="yes", json=True, stdout=out)
        said, answer = out.getvalue().splitlines()
        assert said == "plain may start studies."
        assert json.loads(answer) == {"username": "plain", "start_studies": True, "invite": True}
        with pytest.raises(CommandError, match="no user named nobody"):
            call_command("user", "set-rights", "nobody")


class TestInvitations:
    def test_an_invited_person_belongs_only_after_she_accepted(self, study, owner, outsider, client_of):
        assert client_of(owner).post(f"{MEMBERS}add/", {"username": "Outsider", "role": "reader"}).status_code == 302
        browser = client_of(outsider)
        assert not is_member(outsider, study)
        assert browser.get("/studies/culture/").status_code == 404
        page = read(browser, "/")
        assert "Invitation to Cultural schemas" in page
        [number] = re.findall(r"/invitations/(\d+)/answer/", page)
        assert browser.post(f"/invitations/{number}/answer/", {"answer": "accept"})["Location"] == "/studies/culture/"
        assert Membership.objects.get(user=outsider).role == "reader"
        events = AuditEvent.objects.filter(stream=f"study:{study.pk}").order_by("-sequence")[:3]
        assert [(event.action, event.actor_name) for event in events] == [
            ("study.member.role_set", "outsider"),
            ("study.invitation.accepted", "outsider"),
            ("study.invitation.made", "owner"),
        ]

    def test_a_declined_or_withdrawn_invitation_makes_no_member(self, study, owner, outsider, client_of):
        invitation = invite_user(study=study, username="outsider", role="coder", by=owner)
        client_of(outsider).post(f"/invitations/{invitation.pk}/answer/", {"answer": "decline"})
        with pytest.raises(Refused, match="withdrawn or answered"):
            answer_invitation(invitation=invitation, accepts=True, by=outsider)
        again = invite_user(study=study, username="outsider", role="coder", by=owner)
        client_of(owner).post(f"{MEMBERS}invitations/{again.pk}/withdraw/")
        with pytest.raises(Refused, match="withdrawn or answered"):
            answer_invitation(invitation=again, accepts=True, by=outsider)
        assert not is_member(outsider, study)

    def test_nobody_answers_for_somebody_else(self, study, owner, lead, outsider, client_of):
        invitation = invite_user(study=study, username="outsider", role="owner", by=owner)
        assert client_of(lead).post(f"/invitations/{invitation.pk}/answer/", {"answer": "accept"}).status_code == 404
        with pytest.raises(PermissionDenied):
            answer_invitation(invitation=invitation, accepts=True, by=lead)
        with pytest.raises(PermissionDenied):
            withdraw_invitation(invitation=invitation, by=lead)
        assert not is_member(outsider, study)

    def test_a_second_invitation_of_the_same_name_replaces_the_first(self, study, owner, outsider):
        invite_user(study=study, username="outsider", role="coder", by=owner)
        second = invite_user(study=study, username="OUTSIDER", role="reader", by=owner)
        assert [each.pk for each in outsider.invitations.filter(answer="")] == [second.pk]

    def test_nobody_is_added_over_her_head(self, study, owner, outsider):
        with pytest.raises(Refused, match="Invite her first"):
            set_member_role(study=study, user=outsider, role="coder", by=owner)

    def test_an_old_invitation_brings_back_nobody_who_was_removed(self, study, owner, outsider):
        invitation = invite_user(study=study, username="outsider", role="coder", by=owner)
        answer_invitation(invitation=invitation, accepts=True, by=outsider)
        remove_member(study=study, user=outsider, by=owner)
        with pytest.raises(Refused, match="withdrawn or answered"):
            answer_invitation(invitation=invitation, accepts=True, by=outsider)


def without_names(answer):
    """A page without what differs between any two requests: tokens, times, numbers and the name that was typed."""
    return re.sub(r"[A-Za-z0-9]{64}|\d+|outsider|nobody", "", answer)


class TestOneAnswer:
    def test_inviting_a_name_that_nobody_has_looks_the_same(self, study, owner, outsider, client_of):
        browser = client_of(owner)
        pages = []
        for name in ("outsider", "nobody"):
            answer = browser.post(f"{MEMBERS}add/", {"username": name, "role": "coder"}, follow=True)
            pages.append(without_names(answer.content.decode()))
            Invitation.objects.all().delete()
        assert pages[0] == pages[1]

    def test_a_name_that_nobody_had_is_not_bound_to_a_later_account(self, study, owner, client_of):
        invite_user(study=study, username="later", role="owner", by=owner)
        later = make_user("later")
        assert "Invitation to" not in read(client_of(later), "/")

    def test_a_taken_address_looks_like_a_free_one(self, study, outsider, client_of):
        browser = client_of(outsider)
        found = []
        for slug in ("culture", "freedom"):
            answer = browser.post("/new-study/", {"name": "Mine", "slug": slug})
            assert answer.status_code == 302
            found.append(re.sub(r"-[a-z2-9]{5}/$", "-…/", answer["Location"]))
        assert found == ["/studies/culture-…/", "/studies/freedom-…/"]

    def test_the_owner_of_the_site_names_addresses_exactly(self, study, boss, client_of):
        browser = client_of(boss)
        assert browser.post("/new-study/", {"name": "Mine", "slug": "exact"})["Location"] == "/studies/exact/"
        assert "already a study" in browser.post("/new-study/", {"name": "M", "slug": "culture"}).content.decode()

    def test_a_long_address_keeps_room_for_its_letters(self, outsider, client_of):
        answer = client_of(outsider).post("/new-study/", {"name": "x" * 100})
        assert answer.status_code == 302
        assert len(Study.objects.get().slug) == 60


def test_site_owner_needs_no_rights(boss):
    boss.may_invite = boss.may_start_studies = False
    boss.save()
    study = create_study(slug="mine", name="Mine", by=boss)
    assert invite_user(study=study, username="x", role="coder", by=boss).user is None
