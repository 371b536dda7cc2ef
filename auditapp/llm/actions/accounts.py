"""Accounts: where calls go, and the key that is sent with them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone

from auditapp.llm.actions.allowing import check_reachable
from auditapp.llm.actions.errors import ModelError
from auditapp.llm.models import ProviderAccount
from auditapp.llm.providers import PROVIDERS
from auditapp.llm.pure.addresses import NoAddress, check_base_url
from auditapp.llm.pure.key_removal import remember_key
from auditapp.llm.pure.variables import holds_own_secret, is_variable
from auditapp.llm.sealing import SealBroken, seal_again, seal_key
from transcripts.audit_trail import trail

NAME = re.compile(r"[\w.,:@+/()\[\] -]{1,100}")
KEY = re.compile(r"[\x21-\x7e]{1,1000}")
# Four characters of a short key would reveal too much of it.
LAST_FOUR_FROM = 12
CALLS_NOBODY = frozenset({"fake", "file"})
ADDRESS_WHERE_NONE_IS_GIVEN = {"anthropic": "https://api.anthropic.com"}


@transaction.atomic
def add_account(
    *,
    name: str,
    provider: str,
    by: trail.Actor,
    base_url: str = "",
    key_env: str = "",
    allow_private: bool = False,
) -> ProviderAccount:
    """Add an account, without a stored key. Raises ``ModelError``."""
    name = name.strip()
    if not NAME.fullmatch(name):
        raise ModelError(f"{name!r} cannot be a name: use up to 100 letters, digits, spaces and . , : @ + / - _ ( )")
    if ProviderAccount.objects.filter(name=name).exists():
        raise ModelError(f"There is already an account called {name}. Choose another name.")
    check_provider(provider, key_env)
    base_url = choose_address(provider, base_url)
    if base_url:
        check_reachable(base_url, by=by, allow_private=allow_private)
    account = ProviderAccount.objects.create(
        name=name, provider=provider, base_url=base_url, key_env=key_env, created_at=timezone.now()
    )
    trail.record("llm.account.added", target=account, by=by, details={"name": name, "provider": provider})
    return account


def find_or_add_account(
    *, provider: str, base_url: str, key_env: str, name: str, by: trail.Actor, allow_private: bool
) -> ProviderAccount:
    """The account called ``name``, or the one with this address and key, or a new one. Inside a transaction."""
    check_provider(provider, key_env)
    standing = ProviderAccount.objects.filter(name=name).first() if name else None
    if standing is not None:
        _check_same(standing, provider=provider, base_url=base_url, key_env=key_env)
    else:
        base_url = choose_address(provider, base_url)
    if not name:
        known = ProviderAccount.objects.filter(provider=provider, base_url=base_url, key_env=key_env)
        standing = known.order_by("pk").first()
    if standing is None:
        name = name or find_free_name(provider, base_url, key_env)
        return add_account(
            name=name, provider=provider, base_url=base_url, key_env=key_env, by=by, allow_private=allow_private
        )
    if standing.base_url:
        check_reachable(standing.base_url, by=by, allow_private=allow_private)
    return standing


def check_provider(provider: str, key_env: str) -> None:
    """Refuse an unknown provider, and a key for a provider that uses none. Raises ``ModelError``."""
    if provider not in PROVIDERS:
        raise ModelError(f"There is no provider {provider!r}. Choose one of: {', '.join(PROVIDERS)}.")
    check_variable(key_env)
    if key_env and provider in CALLS_NOBODY:
        raise ModelError(f"The provider {provider} calls nobody, so it needs no key.")


def choose_address(provider: str, base_url: str) -> str:
    """The base URL of a new account as it is stored. Raises ``ModelError``."""
    base_url = base_url.strip()
    if provider not in CALLS_NOBODY:
        return check_address(base_url or ADDRESS_WHERE_NONE_IS_GIVEN.get(provider, ""))
    if base_url:
        raise ModelError(f"The provider {provider} calls nobody. Leave the base URL empty.")
    return ""


def check_address(base_url: str) -> str:
    """The base URL as it is stored. Raises ``ModelError``."""
    try:
        base_url = check_base_url(base_url)
    except NoAddress as error:
        raise ModelError(str(error)) from None
    if len(base_url) > 300:
        raise ModelError("A base URL can have at most 300 characters.")
    return base_url


def check_variable(key_env: str) -> None:
    """Refuse an invalid variable name and the names of the program's own secrets. Raises ``ModelError``."""
    if not key_env:
        return
    if not is_variable(key_env):
        # The text is not repeated: it may be the key.
        remember_key(key_env)
        raise ModelError(
            "That is not the name of an environment variable: use capital letters, digits and _ only. Enter the "
            "variable's name, never the key itself."
        )
    if holds_own_secret(key_env):
        raise ModelError(f"{key_env} holds a secret of this program, which is sent to nobody. Use another variable.")


def find_free_name(provider: str, base_url: str, key_env: str) -> str:
    """A readable name for an account added without one."""
    base = re.sub(r"[^\w.:\[\]-]", "_", urlsplit(base_url).netloc or provider)[:60]
    wishes = [base, *([f"{base} ({key_env[:30]})"] if key_env else [])]
    taken = set(ProviderAccount.objects.filter(name__startswith=base).values_list("name", flat=True))
    numbered = (f"{base} {number}" for number in range(2, len(taken) + 3))
    return next(name for name in (*wishes, *numbered) if name not in taken)


def _check_same(standing: ProviderAccount, *, provider: str, base_url: str, key_env: str) -> None:
    address = base_url.strip().rstrip("/")
    if standing.provider != provider or address not in {"", standing.base_url} or key_env not in {"", standing.key_env}:
        raise ModelError(
            f"The account {standing.name} has another provider, address or key variable. Leave these empty to use it as it "
            "is, or choose another name for a new account."
        )


@transaction.atomic
def change_address(*, account: ProviderAccount, base_url: str, by: trail.Actor, allow_private: bool = False) -> bool:
    """Change where the account's calls go. Its key or key variable belonged to the old address and is removed.

    Returns whether there was a key.
    """
    locked = _lock(account)
    if locked.provider in CALLS_NOBODY:
        raise ModelError(f"The provider {locked.provider} calls nobody, so it has no address.")
    base_url = check_address(base_url.strip())
    if base_url == locked.base_url:
        return False
    check_reachable(base_url, by=by, allow_private=allow_private)
    took_key = bool(locked.key_sealed or locked.key_env)
    locked.base_url = base_url
    locked.key_sealed = locked.key_last_four = locked.key_env = ""
    locked.save(update_fields=["base_url", "key_sealed", "key_last_four", "key_env"])
    details: dict[str, object] = {"name": locked.name, "took_key": took_key}
    trail.record("llm.account.address_changed", target=locked, by=by, details=details)
    return took_key


@transaction.atomic
def set_key(*, account: ProviderAccount, key: str, by: trail.Actor) -> ProviderAccount:
    """Store an encrypted key, in place of an earlier key or key variable. Nobody can read it back."""
    key = key.strip()
    remember_key(key)
    locked = _lock(account)
    if locked.provider in CALLS_NOBODY:
        raise ModelError(f"The provider {locked.provider} calls nobody, so it needs no key.")
    if not KEY.fullmatch(key):
        raise ModelError("That is no key. A key has at most 1,000 letters, digits and symbols, without spaces.")
    locked.key_sealed = seal_key(key, address=locked.base_url)
    locked.key_last_four = key[-4:] if len(key) >= LAST_FOUR_FROM else ""
    locked.key_env = ""
    locked.save(update_fields=["key_sealed", "key_last_four", "key_env"])
    trail.record("llm.key.set", target=locked, by=by, details={"name": locked.name})
    return locked


@transaction.atomic
def forget_key(*, account: ProviderAccount, by: trail.Actor) -> ProviderAccount:
    """Delete the stored key. Raises ``ModelError`` when there is none."""
    locked = _lock(account)
    if not locked.key_sealed:
        raise ModelError(f"The account {locked.name} has no stored key, so there is nothing to forget.")
    locked.key_sealed = locked.key_last_four = ""
    locked.save(update_fields=["key_sealed", "key_last_four"])
    trail.record("llm.key.forgotten", target=locked, by=by, details={"name": locked.name})
    return locked


@transaction.atomic
def set_key_env(*, account: ProviderAccount, key_env: str, by: trail.Actor) -> ProviderAccount:
    """Let workers read the key from an environment variable; "" for no key. A stored key is deleted."""
    locked = _lock(account)
    key_env = key_env.strip()
    if key_env and locked.provider in CALLS_NOBODY:
        raise ModelError(f"The provider {locked.provider} calls nobody, so it needs no key.")
    check_variable(key_env)
    had_key = bool(locked.key_sealed)
    locked.key_env = key_env
    locked.key_sealed = locked.key_last_four = ""
    locked.save(update_fields=["key_env", "key_sealed", "key_last_four"])
    details: dict[str, object] = {"name": locked.name, "variable": key_env, "took_key": had_key}
    trail.record("llm.key.variable_set", target=locked, by=by, details=details)
    return locked


@transaction.atomic
def rotate_keys(*, by: trail.Actor) -> tuple[int, list[str]]:
    """Seal every stored key again, with the first key of FIELD_KEY: how many, and the names of accounts whose key does not
    open. Those stay as they are."""
    done, broken = 0, list[str]()
    for account in ProviderAccount.objects.select_for_update().exclude(key_sealed="").order_by("pk"):
        try:
            account.key_sealed = seal_again(account.key_sealed)
        except SealBroken:
            broken.append(account.name)
            continue
        account.save(update_fields=["key_sealed"])
        done += 1
    trail.record("llm.keys.sealed_again", target="llm", by=by, details={"sealed": done, "broken": len(broken)})
    return done, broken


def _lock(account: ProviderAccount) -> ProviderAccount:
    return ProviderAccount.objects.select_for_update().get(pk=account.pk)
