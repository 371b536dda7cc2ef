from __future__ import annotations

import pytest

from transcripts.accounts.models import User


@pytest.fixture
def site_owner(owner: User) -> User:
    """The owner of a study who owns the site too."""
    owner.is_superuser = True
    owner.save(update_fields=["is_superuser"])
    return owner
