"""What the migrations of accounts do with what is stored."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.sessions.backends.db import SessionStore as OldStore
from django.contrib.sessions.models import Session as OldSession
from django.db import connection
from django.test import Client
from django.utils import timezone

from transcripts.accounts.actions import create_token
from transcripts.accounts.models import ApiToken, Scope, Session, User

keep_sessions = import_module("transcripts.accounts.migrations.0004_keep_sessions").keep_sessions
fill_scopes = import_module("transcripts.accounts.migrations.0007_fill_scopes").fill_scopes


@pytest.mark.django_db
def test_whoever_was_signed_in_before_the_upgrade_stays_so(client: Client, coder: User) -> None:
    client.force_login(coder)
    now_row = Session.objects.get()
    data = OldStore().decode(now_row.session_data)
    del data["began_at"], data["device"]
    for key, days in ((now_row.session_key, 3), ("over" * 8, -1)):
        OldSession.objects.create(
            session_key=key, session_data=OldStore().encode(data), expire_date=timezone.now() + timedelta(days=days)
        )
    now_row.delete()
    keep_sessions(apps, connection.schema_editor())
    kept = Session.objects.get()
    assert kept.user == coder
    assert kept.expire_date < timezone.now() + timedelta(days=3)
    assert client.get("/account/sessions/").status_code == 200
    assert not OldSession.objects.exists()


@pytest.mark.django_db
def test_a_token_of_before_the_upgrade_keeps_what_it_could_do(coder: User) -> None:
    old = create_token(user=coder, name="old", by=coder)[0]
    new = create_token(user=coder, name="new", by=coder, scopes=[Scope.READ])[0]
    ApiToken.objects.filter(pk=old.pk).update(scopes=[])
    fill_scopes(apps, connection.schema_editor())
    old.refresh_from_db()
    new.refresh_from_db()
    assert old.scopes == ["read", "code", "manage"]
    assert new.scopes == ["read"]
