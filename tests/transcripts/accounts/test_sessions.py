"""Sessions and people are read by plain statements, and are to be what Django's own classes would give."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.accounts.sessions import PersonBackend, SessionStore


def test_session_that_is_over_is_nobodys(client: Client, coder: User) -> None:
    client.force_login(coder)
    assert client.get("/").status_code == 200
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/").status_code == 302


def test_unknown_session_is_empty_and_loses_its_key(db: None) -> None:
    store = SessionStore("a" * 32)
    assert store.load() == {}
    assert store.session_key is None


def test_session_is_read_as_it_was_stored(db: None) -> None:
    store = SessionStore()
    store["words"] = "Größe 🙂"
    store.save()
    assert SessionStore(store.session_key)["words"] == "Größe 🙂"


def test_person_is_found_with_all_that_a_page_needs(coder: User) -> None:
    found = PersonBackend().get_user(coder.pk)
    assert found == coder
    assert found is not None
    assert found.is_active is True
    assert found.is_superuser is False
    assert found.date_joined == coder.date_joined


@pytest.mark.parametrize("is_known", [True, False])
def test_person_who_is_unknown_or_switched_off_is_nobody(coder: User, is_known: bool) -> None:
    User.objects.filter(pk=coder.pk).update(is_active=False)
    assert PersonBackend().get_user(coder.pk if is_known else 999_999) is None


def test_person_switched_off_is_out_at_once(client: Client, coder: User) -> None:
    client.force_login(coder)
    User.objects.filter(pk=coder.pk).update(is_active=False)
    assert client.get("/").status_code == 302
