"""The link of somebody invited as new: how long it works, who ends it, and what it says then."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from transcripts.accounts.actions import create_sign_in_link, create_user, use_sign_in_link
from transcripts.accounts.models import SignInLink
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import invite_person, invite_user, renew_invitation, revoke_invitation, set_member_role

MEMBERS = "/studies/culture/members/"


@pytest.fixture
def invited(study, owner):
    return invite_person(study=study, username="newcomer", role="coder", by=owner)


@pytest.fixture
def second_owner(study):
    user = create_user(username="second_owner", by=trail.SYSTEM)
    user.may_invite = True
    user.save()
    set_member_role(study=study, user=user, role="owner", by=trail.SYSTEM)
    return user


def grow_old(days):
    for link in SignInLink.objects.all():
        link.expires_at -= timedelta(days=days)
        link.save()


@pytest.mark.parametrize(("days", "status"), [(6.9, 200), (7.1, 410)])
def test_the_link_works_for_seven_days(client, invited, days, status):
    grow_old(days)
    assert client.get(f"/sign-in/{invited[1]}/").status_code == status


def test_a_link_of_somebody_who_came_in_before_does_not(invited):
    user = use_sign_in_link(secret=invited[1])
    create_sign_in_link(user=user, by=trail.SYSTEM)
    assert SignInLink.objects.latest("pk").expires_at < timezone.now() + timedelta(minutes=31)


@pytest.mark.parametrize("ended", ["expired", "revoked", "used", "replaced"])
def test_a_link_that_ended_says_who_can_send_a_new_one(client, study, owner, invited, ended):
    user, secret = invited
    if ended == "expired":
        grow_old(8)
    elif ended == "revoked":
        assert revoke_invitation(study=study, user=user, by=owner)
    elif ended == "used":
        use_sign_in_link(secret=secret)
    else:
        renew_invitation(study=study, user=user, by=owner)
    for answer in (client.get(f"/sign-in/{secret}/"), client.post(f"/sign-in/{secret}/")):
        assert answer.status_code == 410
        page = answer.content.decode()
        assert "Ask owner for a new one." in page
        assert ("was used on" in page) is (ended == "used")


def test_an_account_made_for_somebody_takes_the_place_of_an_invitation_of_her_name(study, owner):
    invite_user(study=study, username="Lena", role="coder", by=owner)
    invite_person(study=study, username="lena", role="coder", by=owner)
    assert [invitation.answer for invitation in study.invitations.all()] == ["withdrawn"]


def test_a_link_of_the_operator_names_nobody(client, owner):
    secret = create_sign_in_link(user=owner, by=trail.SYSTEM)
    use_sign_in_link(secret=secret)
    assert "Ask the person who runs this site" in client.get(f"/sign-in/{secret}/").content.decode()


def test_owners_see_until_when_a_link_works_and_revoke_it(study, owner, invited, client_of):
    user, secret = invited
    client = client_of(owner)
    page = re.sub(r"\s+", " ", client.get(MEMBERS).content.decode())
    assert "link made by owner," in page
    assert "ends " in page
    answer = client.post(f"{MEMBERS}{user.pk}/link/revoke/", follow=True)
    page = answer.content.decode()
    assert "no longer works" in page
    assert "there is no link that works" in page
    assert AuditEvent.objects.filter(action="account.sign_in_link.revoked").count() == 1
    assert Client().get(f"/sign-in/{secret}/").status_code == 410
    assert (
        "had no link that still worked" in client.post(f"{MEMBERS}{user.pk}/link/revoke/", follow=True).content.decode()
    )
    assert study.members.filter(pk=user.pk).exists()


def test_who_sent_a_link_is_told_also_of_one_that_took_its_place(study, owner, second_owner, invited, client_of):
    renew_invitation(study=study, user=invited[0], by=second_owner)
    page = client_of(owner).get(MEMBERS).content.decode()
    assert f"link made by {second_owner.username}," in page
    assert "link made by owner," not in page


def test_who_sent_a_link_is_not_told_to_coders(study, coder, invited, client_of):
    assert "link sent" not in client_of(coder).get(MEMBERS).content.decode()


def test_links_of_people_with_accounts_of_their_own_cannot_be_revoked(study, owner, coder):
    with pytest.raises(Refused, match="no link from this study"):
        revoke_invitation(study=study, user=coder, by=owner)


def test_a_new_link_can_be_copied(study, owner, client_of):
    sent = {"username": "another", "is_new": "on", "role": "coder"}
    page = client_of(owner).post(f"{MEMBERS}add/", sent).content.decode()
    assert re.search(r'<code class="secret" id="sign-in-url">[^<]+/sign-in/[^<]+</code>', page)
    assert 'data-copy="sign-in-url" hidden' in page
    assert "js/copy" in page
