from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.core.management import call_command
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "transcripts.accounts"

    def ready(self) -> None:
        post_migrate.connect(create_cache_table, sender=self)
        user_logged_in.connect(begin_session)


def create_cache_table(*, using: str, **rest: Any) -> None:
    """Create the cache table if it is missing. Sign-in attempts are counted there, so the site does not work without it."""
    call_command("createcachetable", database=using, verbosity=0)


def begin_session(**sent: Any) -> None:
    """Store in a new session when it began, and in which browser."""
    # Imported here, because it loads allauth, which a command such as `segment` never needs.
    from transcripts.accounts import sessions

    sessions.begin_session(request=sent["request"])
