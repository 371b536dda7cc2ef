"""The study and the person that a command names."""

from __future__ import annotations

from django.core.management.base import CommandError

from transcripts.accounts import queries
from transcripts.accounts.models import User
from transcripts.studies.models import Study
from transcripts.ui.commands import find_row


def find_study(slug: str) -> Study:
    """The study at that address. Raises ``CommandError``."""
    hint = "Create one with `manage.py study create`."
    return find_row(Study.objects.order_by("slug"), "study", hint=hint, slug=slug)


def find_user(username: str) -> User:
    """The person of that name, whether the account is open or closed. Raises ``CommandError``."""
    user = queries.find_user(username)
    if user is None:
        raise CommandError(f"There is no user named {username}. Create one: manage.py user create {username}")
    return user
