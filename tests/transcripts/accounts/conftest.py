from __future__ import annotations

import pytest
from pytest_django import Settings

from transcripts.accounts.actions import set_password
from transcripts.accounts.models import User
from transcripts.audit_trail import trail

PASSWORD = "four words picked by nobody"


@pytest.fixture(autouse=True)
def quick_hashing(settings: Settings) -> None:
    """Real hashing is slow on purpose; here it would only be slow."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def person(db: None) -> User:
    """Somebody with a password."""
    user = User.objects.create_user(username="Rosalind", password=None)
    set_password(user=user, password=PASSWORD, by=trail.SYSTEM)
    return user


@pytest.fixture
def newcomer(db: None) -> User:
    """Somebody without one."""
    return User.objects.create_user(username="newcomer", password=None)
