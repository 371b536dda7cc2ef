import pytest


@pytest.fixture(autouse=True)
def _variables_that_may_hold_keys(settings):
    """As PROVIDER_KEYS=A_KEY=api.openai.com,… sets it."""
    openai = frozenset({"api.openai.com:443"})
    names = ("A_KEY", "ANOTHER_KEY", *(f"KEY_{number}" for number in range(12)))
    settings.PROVIDER_KEYS = dict.fromkeys(names, openai) | {"B_KEY": frozenset({"api.anthropic.com:443"})}


@pytest.fixture
def site_owner(owner):
    """The owner of a study who owns the site too."""
    owner.is_superuser = True
    owner.save(update_fields=["is_superuser"])
    return owner
