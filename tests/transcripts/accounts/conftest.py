import pytest

from transcripts.accounts.actions import set_password
from transcripts.accounts.models import User
from transcripts.audit_trail import trail

PASSWORD = "four words picked by nobody"


@pytest.fixture(autouse=True)
def quick_hashing(settings):
    """Real hashing is slow on purpose; here it would only be slow."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def person(db):
    """Somebody with a password."""
    user = User.objects.create_user(username="Rosalind", password=None)
    set_password(user=user, password=PASSWORD, by=trail.SYSTEM)
    return user


@pytest.fixture
def newcomer(db):
    """Somebody without one."""
    return User.objects.create_user(username="newcomer", password=None)
