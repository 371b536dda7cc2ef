"""The person whom a command names."""

from __future__ import annotations

from django.core.management.base import CommandError

from transcripts.accounts import queries
from transcripts.accounts.models import User


def find_user(username: str) -> User:
    """The person of that name, whether the account is open or closed. Raises ``CommandError``."""
    user = queries.find_user(username)
    if user is None:
        raise CommandError(f"There is no user named {username}. Create one: manage.py user create {username}")
    return user
