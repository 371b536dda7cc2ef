"""Sessions and people are read by plain statements, and are to be what Django's own classes would give."""

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from transcripts.accounts.actions import create_sign_in_link, create_token, end_session, end_sessions
from transcripts.accounts.models import Session, User
from transcripts.accounts.queries import find_token, list_sessions, refer_to_session
from transcripts.accounts.sessions import PersonBackend, SessionStore, name_device, without_waiting
from transcripts.audit_trail.models import AuditEvent

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)


def key_of(client):
    return str(client.session.session_key)


def age(**changes):
    """Move times of all sessions into the past."""
    for name, by in changes.items():
        for session in Session.objects.all():
            setattr(session, name, getattr(session, name) - by)
            session.save()


def test_session_that_is_over_is_nobodys(client, coder):
    client.force_login(coder)
    assert client.get("/").status_code == 200
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/").status_code == 302


def test_unknown_session_is_empty_and_loses_its_key(db):
    store = SessionStore("a" * 32)
    assert store.load() == {}
    assert store.session_key is None


def test_session_is_read_as_it_was_stored(db):
    store = SessionStore()
    store["words"] = "Größe 🙂"
    store.save()
    assert SessionStore(store.session_key)["words"] == "Größe 🙂"


def test_person_is_found_with_all_that_a_page_needs(coder):
    found = PersonBackend().get_user(coder.pk)
    assert found == coder
    assert found is not None
    assert found.is_active is True
    assert found.is_superuser is False
    assert found.date_joined == coder.date_joined


@pytest.mark.parametrize("is_known", [True, False])
def test_person_who_is_unknown_or_switched_off_is_nobody(coder, is_known):
    User.objects.filter(pk=coder.pk).update(is_active=False)
    assert PersonBackend().get_user(coder.pk if is_known else 999_999) is None


def test_person_switched_off_is_out_at_once(client, coder):
    client.force_login(coder)
    User.objects.filter(pk=coder.pk).update(is_active=False)
    assert client.get("/").status_code == 302


def test_session_says_whose_it_is_when_it_began_and_in_which_browser(coder):
    client = Client(headers={"user-agent": CHROME})
    client.post(f"/sign-in/{create_sign_in_link(user=coder, by=coder)}/")
    (session,) = list_sessions(coder, this=key_of(client))
    assert session.is_this
    assert session.device == "Chrome on Windows"
    assert session.began_at <= session.last_used_at <= timezone.now()


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        (FIREFOX, "Firefox on Linux"),
        (CHROME, "Chrome on Windows"),
        (f"{CHROME} Edg/140.0.0.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on an iPhone"),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0.0.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15", "Safari on a Mac"),
        ("curl/8.0", "an unknown browser"),
        ("", "an unknown browser"),
        ("<script>" * 1000, "an unknown browser"),
    ],
)
def test_browser_is_told_in_plain_words(user_agent, device):
    assert name_device(user_agent) == device


def test_session_unused_for_half_a_day_is_over(client, coder):
    client.force_login(coder)
    age(last_used_at=timedelta(hours=11, minutes=59))
    assert client.get("/").status_code == 200, "and this use keeps it for another half day"
    age(last_used_at=timedelta(hours=11, minutes=59))
    assert client.get("/").status_code == 200
    age(last_used_at=timedelta(hours=12, minutes=1))
    assert client.get("/").status_code == 302


def test_limit_of_unused_sessions_is_a_setting(client, coder, settings):
    client.force_login(coder)
    settings.SESSION_IDLE_HOURS = 1
    age(last_used_at=timedelta(hours=2))
    assert client.get("/").status_code == 302


def test_session_ends_14_days_after_it_began_however_often_it_is_used_and_stored(client, coder):
    client.force_login(coder)
    store = SessionStore(key_of(client))
    store["began_at"] = (timezone.now() - timedelta(days=13, hours=23)).timestamp()
    store.save()
    assert client.get("/").status_code == 200
    again = SessionStore(key_of(client))
    again["anything"] = "new"
    again.save()
    left = Session.objects.get().expire_date - timezone.now()
    assert timedelta(minutes=59) < left <= timedelta(hours=1)


def test_last_use_is_written_every_few_minutes_only(client, coder, django_assert_num_queries):
    client.force_login(coder)
    age(last_used_at=timedelta(minutes=4))
    with django_assert_num_queries(1):
        SessionStore(key_of(client)).load()
    age(last_used_at=timedelta(minutes=2))
    with django_assert_num_queries(2):
        SessionStore(key_of(client)).load()
    with django_assert_num_queries(1):
        SessionStore(key_of(client)).load()
    assert timezone.now() - Session.objects.get().last_used_at < timedelta(minutes=1)


def test_sessions_that_are_over_are_deleted(client_of, coder):
    idle, old, used = (client_of(coder) for _ in range(3))
    Session.objects.filter(pk=key_of(idle)).update(last_used_at=timezone.now() - timedelta(hours=13))
    Session.objects.filter(pk=key_of(old)).update(expire_date=timezone.now() - timedelta(seconds=1))
    call_command("clearsessions")
    assert [row.pk for row in Session.objects.all()] == [key_of(used)]


def test_page_lists_ones_own_sessions_and_shows_no_key(client_of, coder, second_coder):
    here, elsewhere, others = client_of(coder), client_of(coder), client_of(second_coder)
    page = here.get("/account/sessions/").content.decode()
    assert page.count("this one") == 1
    assert refer_to_session(key_of(elsewhere)) in page
    assert refer_to_session(key_of(others)) not in page
    assert key_of(here) not in page
    assert key_of(elsewhere) not in page


def test_one_session_is_ended_and_the_others_go_on(client_of, coder):
    here, there, third = (client_of(coder) for _ in range(3))
    address = f"/account/sessions/{refer_to_session(key_of(there))}/end/"
    assert here.post(address).status_code == 302
    assert [each.get("/").status_code for each in (here, there, third)] == [200, 302, 200]
    event = AuditEvent.objects.latest("pk")
    assert (event.action, event.details) == ("account.sessions.ended", {"sessions": 1})
    assert "had already ended" in here.post(address, follow=True).content.decode()


def test_nobody_ends_the_session_of_somebody_else(client_of, coder, second_coder):
    here, others = client_of(coder), client_of(second_coder)
    here.post(f"/account/sessions/{refer_to_session(key_of(others))}/end/")
    assert others.get("/").status_code == 200
    with pytest.raises(PermissionDenied):
        end_sessions(user=second_coder, by=coder)
    with pytest.raises(PermissionDenied):
        end_session(user=second_coder, reference=refer_to_session(key_of(others)), by=coder)
    assert others.get("/").status_code == 200


def test_all_other_sessions_are_ended_at_once(client_of, coder):
    here, *others = (client_of(coder) for _ in range(3))
    assert "2 other sessions ended" in here.post("/account/sessions/end-others/", follow=True).content.decode()
    assert here.get("/").status_code == 200
    assert [each.get("/").status_code for each in others] == [302, 302]


def test_token_that_is_over_works_no_more(coder):
    token, secret = create_token(user=coder, name="laptop", by=coder, days=1)
    assert find_token(secret) == token
    now = timezone.now()
    type(token).objects.update(created_at=now - timedelta(days=2), expires_at=now - timedelta(seconds=1))
    assert find_token(secret) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases let several write at once")
def test_the_note_of_a_use_does_not_wait_for_somebody_who_writes(client_of, coder):
    def read_wait():
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            return int(cursor.fetchone()[0])

    usual = read_wait()

    def meet_a_lock():
        assert read_wait() == 100
        raise OperationalError("database is locked")

    with without_waiting():
        meet_a_lock()
    assert read_wait() == usual > 100
