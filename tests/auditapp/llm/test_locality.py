"""Whether a model's texts leave the site, told from its address alone."""

import pytest
from django.utils import timezone

from auditapp.llm.actions import allow_address
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant, ProviderAccount
from transcripts.audit_trail import trail


def make_variant(base_url, provider="openai_compatible"):
    now = timezone.now()
    account = ProviderAccount.objects.create(
        name=base_url or provider, provider=provider, base_url=base_url, created_at=now
    )
    return ModelVariant.objects.create(label=account.name[:90], account=account, model="m", created_at=now)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:11434/v1",
        "http://127.8.9.1/v1",
        "http://[::1]:8000/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://2130706433/v1",
        "http://localhost:1234/v1",
        "http://LOCALHOST./v1",
        "http://model.localhost/v1",
        "http://box.local:8000/v1",
        "https://10.1.2.3/v1",
        "https://172.16.0.9/v1",
        "https://192.168.1.20:8000/v1",
        "http://[fd12::1]/v1",
    ],
)
def test_addresses_of_the_site_itself_are_not_external(db, base_url):
    assert not is_external(make_variant(base_url))


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.example.com/v1",
        "https://8.8.8.8/v1",
        "https://127.0.0.1.example.com/v1",
        "https://localhost.example.com/v1",
        "https://evillocal/v1",
        "https://local/v1",
        "https://172.32.0.1/v1",
        "https://169.254.169.254/v1",
        "https://0.0.0.0/v1",
        "https://100.64.0.1/v1",
        "https://[::ffff:8.8.8.8]/v1",
        "https://[64:ff9b::808:808]/v1",
        "https://[2002:808:808::1]/v1",
        "https://models.lan/v1",
        "https://ollama:11434/v1",
    ],
)
def test_every_other_address_is_external(db, base_url):
    assert is_external(make_variant(base_url))


@pytest.mark.parametrize("base_url", ["http://ollama:11434/v1", "https://models.lan/v1", "https://m.home.arpa:8443/v1"])
def test_private_looking_names_count_as_own_once_they_are_allowed(db, base_url, settings):
    variant = make_variant(base_url)
    assert is_external(variant)
    address = {"http://ollama:11434/v1": "ollama:11434", "https://models.lan/v1": "models.lan:443"}.get(base_url)
    if address:
        allow_address(address=address, by=trail.SYSTEM)
    else:
        settings.ALLOW_PRIVATE_PROVIDERS = frozenset({"m.home.arpa:8443"})
    assert not is_external(variant)


@pytest.mark.parametrize(
    ("base_url", "address"), [("https://api.example.com/v1", "api.example.com:443"), ("https://8.8.8.8", "8.8.8.8:443")]
)
def test_public_addresses_stay_external_when_they_are_allowed(db, base_url, address):
    allow_address(address=address, by=trail.SYSTEM)
    assert is_external(make_variant(base_url))


@pytest.mark.parametrize(("provider", "external"), [("fake", False), ("file", True), ("anthropic", True)])
def test_without_an_address_the_kind_of_provider_decides(db, provider, external):
    assert is_external(make_variant("", provider)) is external
