"""From an account's row to what a provider needs: its key taken out of the environment or out of its seal."""

from __future__ import annotations

import os

from django.conf import settings

from auditapp.llm.models import ProviderAccount
from auditapp.llm.providers.base import Account, ProviderNotReady
from auditapp.llm.pure.key_removal import remember_key
from auditapp.llm.pure.variables import holds_own_secret
from auditapp.llm.queries import read_allowed_addresses
from auditapp.llm.sealing import SealBroken, open_key


def build_account(account: ProviderAccount, parameters: dict[str, object]) -> Account:
    """What a worker opens a provider with. Raises ``ProviderNotReady`` where the key is not to be had here."""
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
    """The account's key; "" for one that has none. Raises ``ProviderNotReady``, which never holds a key."""
    if account.key_sealed:
        try:
            return open_key(account.key_sealed, address=account.base_url)
        except SealBroken as error:
            raise ProviderNotReady(f"Account {account.name}: {error}") from None
    if not account.key_env:
        return ""
    if holds_own_secret(account.key_env):
        # Actions refuse such a name; a row that was written behind the program's back is refused here.
        raise ProviderNotReady(
            f"Account {account.name} names {account.key_env}, which holds a secret of this program itself and is sent to nobody."
        )
    key = os.environ.get(account.key_env, "").strip()
    if not key:
        raise ProviderNotReady(
            f"The worker has no environment variable {account.key_env}, which should hold the key of account "
            f"{account.name}. Set it and start the worker again."
        )
    if any(not "!" <= sign <= "~" for sign in key):
        raise ProviderNotReady(
            f"The environment variable {account.key_env} of the worker holds no usable key of account {account.name}: "
            "there are blanks or other signs in it that no key has. Set it again and start the worker again."
        )
    return key
