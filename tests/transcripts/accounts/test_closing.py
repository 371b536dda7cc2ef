"""Closing an account: its person is out at once and for good, and all her work stays hers."""

import json
import re
import uuid
from io import StringIO

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.test import Client

from tests.conftest import make_user
from tests.support.whole_study import set_stage
from tests.test_access_matrix import LEADS_ON, OF_A_STUDY
from tests.transcripts.accounts.conftest import PASSWORD
from tests.transcripts.rounds.cast import bring_in, open_round
from transcripts.accounts.actions import (
    LinkRefused,
    close_account,
    create_sign_in_link,
    create_token,
    reopen_account,
    set_password,
    use_sign_in_link,
)
from transcripts.accounts.models import Session, User
from transcripts.accounts.queries import find_obstacles, find_token, list_notes
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.actions import add_coding
from transcripts.coding.models import Coding
from transcripts.exchange.methods import read_facts
from transcripts.refusals import Refused
from transcripts.rounds.queries import list_coders
from transcripts.studies.actions import invite_person, invite_user, set_member_role
from transcripts.studies.models import Invitation, Membership


@pytest.fixture
def boss(db):
    """An owner of the site."""
    user = make_user("boss")
    user.is_superuser = True
    user.save()
    return user


def test_closed_account_is_out_everywhere_at_once(coder, boss, client_of):
    set_password(user=coder, password=PASSWORD, by=coder)
    browser = client_of(coder)
    secret = create_token(user=coder, name="script", by=coder)[1]
    link = create_sign_in_link(user=coder, by=boss)
    close_account(user=coder, by=boss)
    assert not Session.objects.filter(user=coder).exists()
    assert browser.get("/").status_code == 302
    assert find_token(secret) is None
    with pytest.raises(LinkRefused):
        use_sign_in_link(secret=link)
    answer = Client().post("/accounts/login/", {"login": "coder", "password": PASSWORD})
    assert answer.status_code == 403
    assert "This account is closed" in answer.content.decode()
    event = AuditEvent.objects.latest("pk")
    assert (event.action, event.actor_name, event.details) == ("account.closed", "boss", {"username": "coder"})


def test_closing_that_fails_ends_nothing(owner, study, boss, client_of):
    browser = client_of(owner)
    with pytest.raises(Refused, match="The study Cultural schemas has no other owner"):
        close_account(user=owner, by=boss)
    assert browser.get("/").status_code == 200
    owner.refresh_from_db()
    assert owner.is_active


def test_work_stays_under_the_name(study, sentence, code, coder, reader, boss, client_of):
    add_coding(study=study, sentence=sentence, code=code, by=coder, idempotency_key=uuid.uuid4())
    browser = client_of(reader)

    def export():
        answer = browser.post("/studies/culture/exports/codings.csv", {})
        return b"".join(answer.streaming_content)

    before, facts = export(), read_facts(study)
    close_account(user=coder, by=boss)
    assert b"coder" in before
    assert export() == before
    after = read_facts(study)
    assert after["coded"] == facts["coded"], "her codings are not those of somebody outside the study"
    assert Coding.objects.get().coder == coder
    assert Membership.objects.filter(study=study, user=coder).exists()
    assert "(account closed)" in browser.get("/studies/culture/members/").content.decode()


@pytest.mark.full
def test_every_page_of_a_study_is_what_it_was_before_a_coder_was_closed(study, owner, second_coder, boss, client_of):
    stage = set_stage(study, owner, second_coder)
    browser = client_of(owner)
    changing = re.compile(r'(csrfmiddlewaretoken" value|X-CSRFToken)[^>]*|[0-9a-f]{8}-[0-9a-f-]{27}')
    # Members says that she is closed, the trail that she was closed, and rounds, the progress of
    # everybody and the list of interviews that she is given nothing new. Audits show
    # a new seed each time.
    others = {"studies:members", "studies:history", "rounds:new", "rounds:detail", "exchange:methods"} | LEADS_ON
    others |= {"evaluation:draw_audit", "sob:audit_new", "corpus:interviews", "rounds:all_work"}
    # Their forms have a new key each time.
    others |= {"scenarios:open_session", "gender_cues:load", "gender_cues:rationales"}

    def read_all():
        names = [name for name, row in OF_A_STUDY.items() if "GET" in row and name not in others]
        names = [name for name in names if not name.startswith("api:")]
        return {name: changing.sub("", browser.get(stage.path(name)).content.decode()) for name in names}

    before = read_all()
    close_account(user=second_coder, by=boss)
    after = read_all()
    assert [name for name in before if before[name] != after[name]] == []


def test_closed_account_is_given_nothing_new(study, owner, coder, second_coder, boss):
    assert coder in list_coders(study)
    close_account(user=coder, by=boss)
    assert list_coders(study) == [owner, second_coder]


def test_invitations_and_links_that_the_account_made_end(study, owner, boss):
    set_member_role(study=study, user=boss, role="owner", by=trail.SYSTEM)
    make_user("guest")
    invite_user(study=study, username="guest", role="coder", by=owner)
    invite_user(study=study, username="other", role="coder", by=boss)
    _, link = invite_person(study=study, username="newcomer", role="coder", by=owner)
    assert "1 invitation that this account sent is withdrawn." in list_notes(owner)
    close_account(user=owner, by=boss)
    states = dict(Invitation.objects.values_list("username", "answer"))
    assert states == {"guest": "withdrawn", "other": ""}
    with pytest.raises(LinkRefused):
        use_sign_in_link(secret=link)
    assert AuditEvent.objects.filter(action="study.invitation.withdrawn", actor_name="boss").count() == 1


def test_last_owner_of_a_study_is_not_closed_until_it_has_another(study, owner, coder):
    assert find_obstacles(owner) == [
        "The study Cultural schemas has no other owner. First make another person its owner, on its page Members."
    ]
    set_member_role(study=study, user=coder, role="owner", by=trail.SYSTEM)
    close_account(user=owner, by=owner)
    assert find_obstacles(coder), "a closed owner is none"
    with pytest.raises(Refused, match="needs an owner"):
        set_member_role(study=study, user=coder, role="coder", by=trail.SYSTEM)


def test_last_owner_of_the_site_is_not_closed_until_it_has_another(boss):
    with pytest.raises(Refused, match=r"only owner of the site\. Make another one first: manage\.py user create"):
        close_account(user=boss, by=boss)
    second = User.objects.create(username="second", is_superuser=True)
    close_account(user=boss, by=boss)
    with pytest.raises(Refused, match="only owner of the site"):
        close_account(user=second, by=second)


@pytest.mark.parametrize(("overlap", "told"), [(0, ": 2 interviews are assigned to nobody else"), (100, "")])
def test_whoever_closes_is_told_what_only_this_person_was_to_code(study, owner, coder, second_coder, overlap, told):
    bring_in(study, owner, ["A", "A", "A", "A"])
    open_round(study, owner, coder, second_coder, overlap_percent=overlap, overlap_readers=2)
    notes = [note for note in list_notes(coder) if note.startswith("Round 1 of the study Cultural schemas:")]
    assert len(notes) == bool(told)
    assert all(told in note for note in notes)
    assert not [note for note in list_notes(owner) if note.startswith("Round")]
    close_account(user=second_coder, by=trail.SYSTEM)
    assert f": {2 if told else 4} interviews" in " ".join(list_notes(coder)), "whose account is closed codes nothing"


def test_reopened_account_is_what_it_was(study, coder, boss):
    set_password(user=coder, password=PASSWORD, by=coder)
    close_account(user=coder, by=boss)
    with pytest.raises(PermissionDenied):
        reopen_account(user=coder, by=coder)
    reopen_account(user=coder, by=boss)
    client = Client()
    assert client.post("/accounts/login/", {"login": "coder", "password": PASSWORD}).status_code == 302
    assert client.get("/studies/culture/").status_code == 200
    assert AuditEvent.objects.filter(action="account.reopened", actor_name="boss").count() == 1


def test_person_of_an_imported_file_is_never_opened(boss):
    placeholder = User.objects.create(username="from a file", is_active=False)
    with pytest.raises(Refused, match="person in an imported file"):
        reopen_account(user=placeholder, by=boss)


def test_nobody_else_closes_or_reopens_an_account(coder, owner, client_of):
    with pytest.raises(PermissionDenied):
        close_account(user=coder, by=owner)
    for what in ("close", "reopen", "end-sessions", "revoke-tokens"):
        assert client_of(owner).post(f"/people/{coder.pk}/{what}/").status_code == 403
    coder.refresh_from_db()
    assert coder.is_active


def test_owner_of_the_site_closes_and_reopens_on_the_page_of_a_person(coder, boss, client_of):
    page, browser = f"/people/{coder.pk}/", client_of(boss)
    assert "Studies of this account: Cultural schemas." in browser.get(page).content.decode()
    assert "is closed. Its work stays" in browser.post(f"{page}close/", follow=True).content.decode()
    assert "(closed)" in browser.get("/people/").content.decode()
    assert "is already closed" in browser.post(f"{page}close/", follow=True).content.decode()
    assert "is open again" in browser.post(f"{page}reopen/", follow=True).content.decode()
    coder.refresh_from_db()
    assert coder.is_active


def test_owner_of_the_site_ends_sessions_and_tokens_of_a_person(coder, boss, client_of):
    theirs, browser = client_of(coder), client_of(boss)
    secret = create_token(user=coder, name="script", by=coder)[1]
    browser.post(f"/people/{coder.pk}/end-sessions/")
    assert theirs.get("/").status_code == 302
    assert find_token(secret) is not None
    browser.post(f"/people/{coder.pk}/revoke-tokens/")
    assert find_token(secret) is None
    own = client_of(boss)
    browser.post(f"/people/{boss.pk}/end-sessions/")
    assert [browser.get("/").status_code, own.get("/").status_code] == [200, 302]


def test_one_closes_ones_own_account_with_the_password_once_more(coder, client_of):
    set_password(user=coder, password=PASSWORD, by=coder)
    browser = client_of(coder)
    asked = browser.get("/account/close/")
    assert asked["Location"].startswith("/account/confirm/?next=")
    assert browser.post(asked["Location"], {"password": "wrong"}).status_code == 422
    assert browser.post(asked["Location"], {"password": PASSWORD})["Location"] == "/account/close/"
    assert "Nobody can sign in to the account any more" in browser.get("/account/close/").content.decode()
    closed = browser.post("/account/close/", follow=True)
    assert "Your account is closed, and you are signed out." in closed.content.decode()
    coder.refresh_from_db()
    assert not coder.is_active
    assert browser.get("/").status_code == 302


def test_one_cannot_close_ones_own_account_by_a_forged_post_without_the_password(coder, client_of):
    set_password(user=coder, password=PASSWORD, by=coder)
    client_of(coder).post("/account/close/")
    coder.refresh_from_db()
    assert coder.is_active


def test_own_account_that_cannot_be_closed_says_why(owner, study, client_of):
    answer = client_of(owner).post("/account/close/")
    assert answer.status_code == 409
    assert "has no other owner" in answer.content.decode()


def test_command_says_what_closing_means_then_closes_and_reopens(study, owner, coder):
    def ask(*arguments):
        out = StringIO()
        call_command("user", "close", *arguments, "--json", stdout=out)
        return dict(json.loads(out.getvalue()))

    told = ask("coder", "--dry-run")
    assert told["state"] == "open"
    assert told["notes"]
    assert ask("owner", "--dry-run")["obstacles"]
    assert ask("coder")["state"] == "closed"
    assert ask("coder", "--reopen")["state"] == "open"
    with pytest.raises(CommandError, match="has no other owner"):
        ask("owner")
    with pytest.raises(CommandError, match="There is no user named ada"):
        ask("ada")
