"""What commands share."""

from __future__ import annotations

import pytest
from django.core.management.base import CommandError

from transcripts.accounts.models import User
from transcripts.ui import commands
from transcripts.ui.commands import find_row


def test_a_row_is_found_by_its_name(owner: User) -> None:
    assert find_row(User.objects.all(), "user", username__iexact="OWNER") == owner


def test_a_name_that_is_not_there_is_told_with_those_that_are(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    users = User.objects.order_by("username")
    with pytest.raises(CommandError, match=r"^There is no user 'nobody'\. There are: owner\. Make one\.$"):
        find_row(users, "user", hint="Make one.", username="nobody")
    monkeypatch.setattr(commands, "MAX_NAMED", 1)
    User.objects.create(username="second")
    with pytest.raises(CommandError, match=r"^There is no user 'nobody'\. There are: owner, …\.$"):
        find_row(users, "user", username="nobody")
    with pytest.raises(CommandError, match=r"^There is no user 9\. There are: none\.$"):
        find_row(users.none(), "user", pk=9)
