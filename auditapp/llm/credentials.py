"""The keys of accounts: stored under a seal and found for a call; and whether texts leave the site.

A stored key is encrypted ("sealed") with FIELD_KEY, which is never in the database. A seal contains the address that its key is
for. If something else changes the address in the database, the seal no longer opens.

Whether texts sent to a model leave the site, so that consent is needed, is decided by the text of the address only; no name is
looked up. In case of doubt the model counts as external: asking for a consent too many does less harm than one too few.
"""

from __future__ import annotations

import os
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

from django.conf import settings

from auditapp.llm.models import AllowedAddress, ModelVariant, ProviderAccount
from auditapp.llm.providers.base import Account, ProviderNotReady
from auditapp.llm.pure.key_removal import remember_key
from auditapp.outbound.addresses import looks_private, may_be_sent, name_address, read_numbers
from transcripts.accounts import sealing

# This machine and private networks (RFC 1122, RFC 1918, RFC 4193).
OWN_NETWORKS = [IPv4Network(each) for each in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
OWN_NETWORKS_6 = [IPv6Network(each) for each in ("::1/128", "fc00::/7")]
OWN_ENDINGS = (".localhost", ".local")


class SealBroken(Exception):
    """A stored key cannot be opened. The message says why and what to do; it never contains the key."""


def seal_key(key: str, *, address: str) -> str:
    """``key`` encrypted with the first key of FIELD_KEY, for the account with this address."""
    return sealing.seal({"address": address, "key": key})


def open_key(sealed: str, *, address: str) -> str:
    """The decrypted key. Raises ``SealBroken``."""
    content = _open_seal(sealed)
    if content.get("address") != address:
        raise SealBroken("The stored key was set for another address, so it is not used. Set the key again.")
    return content["key"]


def seal_again(sealed: str) -> str:
    """The same key, encrypted with the first key of FIELD_KEY. Raises ``SealBroken``."""
    content = _open_seal(sealed)
    return seal_key(content["key"], address=content["address"])


def _open_seal(sealed: str) -> dict[str, str]:
    try:
        return sealing.open_seal(sealed)
    except sealing.SealBroken:
        raise SealBroken(
            "FIELD_KEY does not decrypt the stored key, which was encrypted with another one. Put the former FIELD_KEY back (it "
            "can contain several keys, separated by commas), or set the key of the account again."
        ) from None


def build_account(account: ProviderAccount, parameters: dict[str, object]) -> Account:
    """The account as a worker opens a provider with it. Raises ``ProviderNotReady`` if its key is not available."""
    key = find_key(account)
    remember_key(key)
    return Account(
        provider=account.provider,
        base_url=account.base_url,
        key=key,
        allowed=read_allowed_addresses() | settings.ALLOW_PRIVATE_PROVIDERS,
        parameters=parameters,
    )


def find_key(account: ProviderAccount) -> str:
    """The account's key; "" if it has none. Raises ``ProviderNotReady``, whose message never contains a key."""
    if account.key_sealed:
        try:
            return open_key(account.key_sealed, address=account.base_url)
        except SealBroken as error:
            raise ProviderNotReady(f"Account {account.name}: {error}") from None
    if not account.key_env:
        return ""
    if not may_be_sent(account.key_env, account.base_url, settings.PROVIDER_KEYS):
        # Actions refuse it too. This refuses what something else wrote to the database, or a worker that is set up otherwise.
        place = name_address(account.base_url)
        raise ProviderNotReady(
            f"Account {account.name}: this worker's settings do not allow {account.key_env} to be sent to {place}. To allow it, "
            f"add {account.key_env}={place} to PROVIDER_KEYS and restart the worker."
        )
    key = os.environ.get(account.key_env, "").strip()
    if not key:
        raise ProviderNotReady(
            f"The worker has no environment variable {account.key_env}, which should contain the key of account {account.name}. "
            "Set it and restart the worker."
        )
    if any(not "!" <= sign <= "~" for sign in key):
        raise ProviderNotReady(
            f"The worker's environment variable {account.key_env} does not contain a usable key for account {account.name}: it "
            "contains spaces or other characters that no key has. Set it again and restart the worker."
        )
    return key


def is_external(variant: ModelVariant) -> bool:
    """Whether texts sent to this model leave the site. Reads the account; may query the list of allowed addresses."""
    account = variant.account
    if account.provider == "fake":
        return False
    if account.provider == "file" or not account.base_url:
        return True
    host = (urlsplit(account.base_url).hostname or "").rstrip(".")
    numbers = read_numbers(host)
    if numbers is not None:
        return not _is_own(numbers)
    if host == "localhost" or host.endswith(OWN_ENDINGS):
        return False
    # A name without a dot, or with an ending for private networks, may still be resolved by an outside name server,
    # unless it is on the list of allowed addresses. A public name on the list stays public.
    return not (looks_private(account.base_url) and _is_listed(account.base_url))


def _is_own(numbers: IPv4Address | IPv6Address) -> bool:
    inner = numbers.ipv4_mapped if isinstance(numbers, IPv6Address) and numbers.ipv4_mapped else numbers
    if isinstance(inner, IPv6Address):
        return any(inner in network for network in OWN_NETWORKS_6)
    return any(inner in network for network in OWN_NETWORKS)


def _is_listed(base_url: str) -> bool:
    return name_address(base_url) in read_allowed_addresses() | settings.ALLOW_PRIVATE_PROVIDERS


def read_allowed_addresses() -> frozenset[str]:
    """The private addresses (``host:port``) on the list in the database."""
    return frozenset(AllowedAddress.objects.values_list("address", flat=True))
