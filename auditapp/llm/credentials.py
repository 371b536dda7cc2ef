"""An account ready for use: its key read from the environment, or decrypted."""

from __future__ import annotations

import os

from django.conf import settings

from auditapp.llm.models import ProviderAccount
from auditapp.llm.providers.base import Account, ProviderNotReady
from auditapp.llm.pure.addresses import name_address
from auditapp.llm.pure.key_removal import remember_key
from auditapp.llm.pure.variables import may_be_sent
from auditapp.llm.queries import read_allowed_addresses
from auditapp.llm.sealing import SealBroken, open_key


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
            f"Account {account.name}: this worker's settings do not let {account.key_env} be sent to {place}. To allow it, add "
            f"{account.key_env}={place} to PROVIDER_KEYS and restart the worker."
        )
    key = os.environ.get(account.key_env, "").strip()
    if not key:
        raise ProviderNotReady(
            f"The worker has no environment variable {account.key_env}, which should hold the key of account "
            f"{account.name}. Set it and restart the worker."
        )
    if any(not "!" <= sign <= "~" for sign in key):
        raise ProviderNotReady(
            f"The worker's environment variable {account.key_env} does not hold a usable key for account "
            f"{account.name}: it contains "
            "spaces or other characters that no key has. Set it again and restart the worker."
        )
    return key
