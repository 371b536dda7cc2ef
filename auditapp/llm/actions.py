"""What people do with models: add accounts, keys and variants, record prices and capabilities, allow addresses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from auditapp.llm.credentials import SealBroken, build_account, read_allowed_addresses, seal_again, seal_key
from auditapp.llm.models import (
    MAX_OUTPUT_TOKENS,
    MAX_PRICE,
    MAX_REMARK,
    MAX_TIMEOUT,
    MAX_TOKENS,
    REPLACED_CAPABILITIES,
    AllowedAddress,
    Capabilities,
    ModelVariant,
    Price,
    ProviderAccount,
    name_probe,
)
from auditapp.llm.providers import PROVIDERS, Account, ProviderNotReady, open_provider
from auditapp.llm.providers.base import ChatRequest, Traits
from auditapp.llm.providers.probing import ProbeFailed, probe
from auditapp.llm.pure.key_removal import remember_key
from auditapp.llm.pure.model_settings import SAMPLING, SamplingError, check_sampling, find_family
from auditapp.llm.queries import find_capabilities, find_prices
from auditapp.outbound.addresses import (
    NoAddress,
    check_base_url,
    is_open_http,
    is_variable,
    looks_private,
    may_be_sent,
    name_address,
    read_listed,
)
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.ui.forms import check_seen
from transcripts.ui.typed_text import check_text


@transaction.atomic
def allow_address(*, address: str, by: trail.Actor) -> AllowedAddress:
    """Add a private ``host:port`` to the list, unless it is there already. Raises ``Refused``."""
    try:
        address = read_listed(address)
    except NoAddress as error:
        raise Refused(str(error)) from None
    existing = AllowedAddress.objects.filter(address=address).first()
    if existing is not None:
        return existing
    row = AllowedAddress.objects.create(address=address, added_by_name=by.get_username()[:200], added_at=timezone.now())
    trail.record("llm.address.allowed", target=row, by=by, details={"address": address})
    return row


@transaction.atomic
def disallow_address(*, address: str, by: trail.Actor) -> None:
    """Remove an address from the list. Raises ``Refused`` when it is not on it."""
    row = AllowedAddress.objects.filter(address=address.strip().lower()).first()
    if row is None:
        raise Refused(f"{address} is not on the list of allowed addresses, so there is nothing to remove.")
    trail.record("llm.address.disallowed", target=row, by=by, details={"address": row.address})
    row.delete()


def check_reachable(base_url: str, *, by: trail.Actor, allow_private: bool) -> None:
    """Check that calls may go to ``base_url``. A private address that is not on the list raises ``Refused``; with
    ``allow_private`` it is added to the list instead."""
    address = name_address(base_url)
    if not looks_private(base_url) and not is_open_http(base_url):
        return
    if address in read_allowed_addresses() | settings.ALLOW_PRIVATE_PROVIDERS:
        return
    if allow_private:
        allow_address(address=address, by=by)
        return
    what = (
        f"{address} is a private address"
        if looks_private(base_url)
        else f"{address} without https would send texts and key unencrypted over the public network"
    )
    raise Refused(
        f"{what}. The person who runs the server can allow calls to it with `python manage.py address allow "
        f"{address}`, or by adding {address} to the setting ALLOW_PRIVATE_PROVIDERS."
    )


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
    """Add an account, without a stored key. Raises ``Refused``."""
    name = name.strip()
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r} cannot be a name: use up to 100 letters, digits, spaces and . , : @ + / - _ ( )")
    if ProviderAccount.objects.filter(name=name).exists():
        raise Refused(f"There is already an account called {name}. Choose another name.")
    check_provider(provider, key_env)
    base_url = choose_address(provider, base_url)
    check_place(key_env, base_url)
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
    account = ProviderAccount.objects.filter(name=name).first() if name else None
    if account is not None:
        _check_same(account, provider=provider, base_url=base_url, key_env=key_env)
    else:
        base_url = choose_address(provider, base_url)
    if not name:
        known = ProviderAccount.objects.filter(provider=provider, base_url=base_url, key_env=key_env)
        account = known.order_by("pk").first()
    if account is None:
        name = name or find_free_name(provider, base_url, key_env)
        return add_account(
            name=name, provider=provider, base_url=base_url, key_env=key_env, by=by, allow_private=allow_private
        )
    if account.base_url:
        check_reachable(account.base_url, by=by, allow_private=allow_private)
    return account


def check_provider(provider: str, key_env: str) -> None:
    """Refuse an unknown provider, an invalid variable name, and a key for a provider that uses none. Raises ``Refused``."""
    if provider not in PROVIDERS:
        raise Refused(f"There is no provider {provider!r}. Choose one of: {', '.join(PROVIDERS)}.")
    check_variable(key_env)
    if key_env and provider in CALLS_NOBODY:
        raise Refused(f"The provider {provider} makes no calls, so it needs no key.")


def choose_address(provider: str, base_url: str) -> str:
    """The base URL of a new account as it is stored. Raises ``Refused``."""
    base_url = base_url.strip()
    if provider not in CALLS_NOBODY:
        return check_address(base_url or ADDRESS_WHERE_NONE_IS_GIVEN.get(provider, ""))
    if base_url:
        raise Refused(f"The provider {provider} makes no calls. Leave the base URL empty.")
    return ""


def check_address(base_url: str) -> str:
    """The base URL as it is stored. Raises ``Refused``."""
    try:
        base_url = check_base_url(base_url)
    except NoAddress as error:
        raise Refused(str(error)) from None
    if len(base_url) > 300:
        raise Refused("A base URL can have at most 300 characters.")
    return base_url


def check_variable(key_env: str) -> None:
    """Refuse an invalid variable name. Raises ``Refused``."""
    if not key_env:
        return
    if not is_variable(key_env):
        # The text is not repeated: it may be the key.
        remember_key(key_env)
        raise Refused(
            "That is not the name of an environment variable: use capital letters, digits and _ only. Enter the "
            "variable's name, never the key itself."
        )


def check_place(key_env: str, base_url: str) -> None:
    """Refuse a variable whose value the server's settings do not allow to be sent to this address. Raises ``Refused``."""
    if key_env and not may_be_sent(key_env, base_url, settings.PROVIDER_KEYS):
        place = name_address(base_url)
        raise Refused(
            f"The server's settings do not allow {key_env} to be sent to {place}. To allow it, add {key_env}={place} to "
            "PROVIDER_KEYS and restart the web server and the workers, or store the key on the account's page."
        )


def find_free_name(provider: str, base_url: str, key_env: str) -> str:
    """A readable name for an account added without one."""
    base = re.sub(r"[^\w.:\[\]-]", "_", urlsplit(base_url).netloc or provider)[:60]
    wishes = [base, *([f"{base} ({key_env[:30]})"] if key_env else [])]
    taken = set(ProviderAccount.objects.filter(name__startswith=base).values_list("name", flat=True))
    numbered = (f"{base} {number}" for number in range(2, len(taken) + 3))
    return next(name for name in (*wishes, *numbered) if name not in taken)


def _check_same(account: ProviderAccount, *, provider: str, base_url: str, key_env: str) -> None:
    address = base_url.strip().rstrip("/")
    if account.provider != provider or address not in {"", account.base_url} or key_env not in {"", account.key_env}:
        raise Refused(
            f"The account {account.name} has another provider, address or key variable. Leave these empty to use it as it "
            "is, or choose another name for a new account."
        )


@transaction.atomic
def change_address(*, account: ProviderAccount, base_url: str, by: trail.Actor, allow_private: bool = False) -> bool:
    """Change where the account's calls go. Its key or key variable belonged to the old address and is removed.

    Returns whether there was a key.
    """
    locked = _lock(account)
    if locked.provider in CALLS_NOBODY:
        raise Refused(f"The provider {locked.provider} makes no calls, so it has no address.")
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
    """Store an encrypted key. It replaces an earlier key or key variable. Nobody can read it back."""
    key = key.strip()
    remember_key(key)
    locked = _lock(account)
    if locked.provider in CALLS_NOBODY:
        raise Refused(f"The provider {locked.provider} makes no calls, so it needs no key.")
    if not KEY.fullmatch(key):
        raise Refused("That cannot be a key. A key has at most 1,000 letters, digits and symbols, without spaces.")
    locked.key_sealed = seal_key(key, address=locked.base_url)
    locked.key_last_four = key[-4:] if len(key) >= LAST_FOUR_FROM else ""
    locked.key_env = ""
    locked.save(update_fields=["key_sealed", "key_last_four", "key_env"])
    trail.record("llm.key.set", target=locked, by=by, details={"name": locked.name})
    return locked


@transaction.atomic
def forget_key(*, account: ProviderAccount, by: trail.Actor) -> ProviderAccount:
    """Delete the stored key. Raises ``Refused`` when there is none."""
    locked = _lock(account)
    if not locked.key_sealed:
        raise Refused(f"The account {locked.name} has no stored key, so there is nothing to delete.")
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
        raise Refused(f"The provider {locked.provider} makes no calls, so it needs no key.")
    check_variable(key_env)
    check_place(key_env, locked.base_url)
    had_key = bool(locked.key_sealed)
    locked.key_env = key_env
    locked.key_sealed = locked.key_last_four = ""
    locked.save(update_fields=["key_env", "key_sealed", "key_last_four"])
    details: dict[str, object] = {"name": locked.name, "variable": key_env, "took_key": had_key}
    trail.record("llm.key.variable_set", target=locked, by=by, details=details)
    return locked


@transaction.atomic
def rotate_keys(*, by: trail.Actor) -> tuple[int, list[str]]:
    """Encrypt every stored key again with the first key of FIELD_KEY. Returns how many, and the names of the accounts whose key
    cannot be decrypted; these keys stay as they are."""
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


@transaction.atomic
def set_price(
    *,
    variant: ModelVariant,
    price_in: Decimal,
    price_out: Decimal,
    by: trail.Actor,
    batch_share: Decimal = Decimal(1),
    source: str = "",
) -> Price:
    """Give the variant's model a new price, in US dollars per million tokens. Raises ``Refused``.

    The price applies to every variant of this model and account, in batches launched from now on.
    """
    check_prices(price_in, price_out)
    if not batch_share.is_finite() or not 0 < batch_share <= 1 or _count_places(batch_share) > 3:
        raise Refused(
            "The batch share must be more than 0 and at most 1, with at most three decimal places: 0.5 if batches cost half.",
            field="batch_share",
        )
    price = Price(
        account=variant.account,
        model=variant.model,
        price_in=price_in,
        price_out=price_out,
        batch_share=batch_share,
        source=check_text(source, field="source", max_length=MAX_REMARK),
    )
    return price.write(by=by, based_on=None)


def read_capabilities(row: Capabilities | None) -> dict[str, object]:
    """The capabilities that ``set_capabilities`` replaces, or the defaults where none are set."""
    return {name: getattr(row or Capabilities(), name) for name in REPLACED_CAPABILITIES}


@transaction.atomic
def set_capabilities(
    *,
    variant: ModelVariant,
    by: trail.Actor,
    reasoning: str = Capabilities.Reasoning.EFFORT,
    token_limit: str = Capabilities.TokenLimit.MAX_TOKENS,
    takes_system: bool = True,
    takes_temperature: bool = True,
    takes_top_p: bool = True,
    takes_seed: bool = True,
    takes_stop: bool = True,
    offers_batches: bool = False,
    max_output_tokens: int | None = None,
    source: str = "",
    seen: Mapping[str, object] | None = None,
) -> Capabilities:
    """Set the capabilities of the variant's model, for batches launched from now on. What a probe found is kept. ``seen`` is what
    ``read_capabilities`` returned for the row that ``by`` saw. Raises ``Refused``, and ``ChangedMeanwhile`` if another row
    applies by now."""
    if reasoning not in Capabilities.Reasoning.values:
        raise Refused(
            f"Reasoning must be one of {', '.join(Capabilities.Reasoning.values)}, not {reasoning!r}.",
            field="reasoning",
        )
    if token_limit not in Capabilities.TokenLimit.values:
        raise Refused(
            f"The token limit must be one of {', '.join(Capabilities.TokenLimit.values)}, not {token_limit!r}.",
            field="token_limit",
        )
    if max_output_tokens is not None and not 1 <= max_output_tokens <= MAX_OUTPUT_TOKENS:
        raise Refused(
            f"The maximum output tokens must be between 1 and {MAX_OUTPUT_TOKENS:,}. Leave it empty if unknown.",
            field="max_output_tokens",
        )
    row = Capabilities(
        account=variant.account,
        model=variant.model,
        reasoning=reasoning,
        token_limit=token_limit,
        takes_system=takes_system,
        takes_temperature=takes_temperature,
        takes_top_p=takes_top_p,
        takes_seed=takes_seed,
        takes_stop=takes_stop,
        offers_batches=offers_batches,
        max_output_tokens=max_output_tokens,
        source=check_text(source, field="source", max_length=MAX_REMARK),
    )
    before = row.find_latest(None)
    check_seen(seen, read_capabilities(before))
    if before is not None:
        row.answer_schema, row.probe = before.answer_schema, before.probe
    return row.store_after(before, by=by)


def check_model(*, variant: ModelVariant, by: trail.Actor, timeout_seconds: int | None = None) -> Capabilities:
    """Test how the variant's server treats a JSON schema and the variant's sampling settings. The result is a new row of
    capabilities, for batches launched from now on.

    The probe makes a few tiny calls, which are paid for: their tokens and cost are kept with the row and in the audit trail. The
    start of the probe is recorded too, in case this process ends before the answer. Call it outside a transaction. Raises
    ``Refused``.
    """
    if variant.provider == "file":
        raise Refused(f"{variant.label} belongs to an account that makes no calls, so there is no server to probe.")
    row = find_capabilities([variant]).get(variant.pk)
    account = variant.account
    who: dict[str, object] = {"label": variant.label, "model": variant.model, "address": account.base_url}
    with transaction.atomic():
        trail.record("llm.model.probe_started", target=variant, by=by, details=who)
    try:
        ready = build_account(account, variant.parameters)
        answer_schema, refused, calls = asyncio.run(_talk(ready, _write_probe(variant, row, timeout_seconds)))
    except (ProviderNotReady, ProbeFailed) as error:
        calls = error.calls if isinstance(error, ProbeFailed) else []
        details = {**who, "calls": len(calls), **_count_tokens(variant, calls)}
        with transaction.atomic():
            trail.record("llm.model.probe_failed", target=variant, by=by, details=details)
        raise Refused(f"The probe of {variant.label} gave no result: {error}") from None
    probed = {**who, **_count_tokens(variant, calls), "calls": calls}
    return _store_probe(variant, by, answer_schema, refused, probed)


async def _talk(account: Account, request: ChatRequest) -> tuple[str, list[str], list[dict[str, object]]]:
    provider = open_provider(account)
    try:
        return await probe(provider, request)
    finally:
        await provider.close()


def _write_probe(variant: ModelVariant, row: Capabilities | None, timeout_seconds: int | None) -> ChatRequest:
    names = [field.name for field in fields(Traits)]
    known = {name: getattr(row, name) for name in names} if row else {}
    return ChatRequest(
        request_id="",
        model=variant.model,
        system="",
        user="",
        max_tokens=variant.max_tokens,
        reasoning=variant.reasoning,
        parameters={name: value for name, value in variant.parameters.items() if name in SAMPLING},
        traits=Traits(**known),
        timeout_seconds=min(variant.timeout_seconds, timeout_seconds or variant.timeout_seconds),
    )


def _count_tokens(variant: ModelVariant, calls: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The tokens of the answered calls, and their cost; ``None`` for an unknown number."""
    answered = [call for call in calls if call["end"] != "refused"]
    counts: list[int | None] = []
    for name in ("tokens_in", "tokens_out"):
        known = [call[name] for call in answered if isinstance(call[name], int)]
        counts.append(sum(map(int, map(str, known))) if len(known) == len(answered) else None)
    price, cost = find_prices([variant]).get(variant.pk), None
    if price is not None and counts[0] is not None and counts[1] is not None:
        cost = f"{((counts[0] * price.price_in + counts[1] * price.price_out) / 1_000_000).normalize():f}"
    return {"tokens_in": counts[0], "tokens_out": counts[1], "cost_usd": cost}


@transaction.atomic
def _store_probe(
    variant: ModelVariant,
    by: trail.Actor,
    answer_schema: str,
    refused: Sequence[str],
    probed: dict[str, object],
) -> Capabilities:
    """A new row: a copy of the current one with the findings. Settings that the server refused are marked as not accepted."""
    stored = Capabilities(account=variant.account, model=variant.model, answer_schema=answer_schema)
    row = stored.find_latest(None)
    kept = ("reasoning", "token_limit", "takes_system", "offers_batches", "max_output_tokens")
    for name in kept if row else ():
        setattr(stored, name, getattr(row, name))
    for name in SAMPLING:
        setattr(stored, f"takes_{name}", name not in refused and (row is None or getattr(row, f"takes_{name}")))
    stored.probe = probed | {"follows_record": row is not None and not row.is_assumed}
    stored.source = name_probe(variant.label)
    stored.save_after(row, by=by)
    calls = probed["calls"]
    details = {name: value for name, value in probed.items() if name != "calls"}
    details |= {"calls": len(calls) if isinstance(calls, list) else 0, "number": stored.number}
    details |= {"answer_schema": answer_schema, "refused": list(refused)}
    trail.record("llm.model.probed", target=stored, by=by, details=details)
    return stored


def check_prices(price_in: Decimal | None, price_out: Decimal | None) -> None:
    """Refuse a price with only one half, or out of range. Raises ``Refused``."""
    given = {"price_in": price_in, "price_out": price_out}
    if (price_in is None) != (price_out is None):
        missing = next(name for name, price in given.items() if price is None)
        raise Refused("Enter both prices, in and out, or neither.", field=missing)
    for name, price in given.items():
        if price is not None and not (price.is_finite() and 0 <= price < MAX_PRICE):
            raise Refused(f"A price must be between 0 and {MAX_PRICE:,} dollars per million tokens.", field=name)
        if price is not None and _count_places(price) > 6:
            raise Refused("A price can have at most six places after the decimal point.", field=name)


def _count_places(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0


LABEL = re.compile(r"[\w.,:@+/() -]{1,100}")


@transaction.atomic
def add_model(
    *,
    label: str,
    provider: str,
    by: trail.Actor,
    base_url: str = "",
    model: str = "",
    key_env: str = "",
    reasoning: str = "",
    max_tokens: int | None = None,
    timeout_seconds: int = 600,
    price_in: Decimal | None = None,
    price_out: Decimal | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    stop: Sequence[str] = (),
    parameters: dict[str, object] | None = None,
    account: str = "",
    note: str = "",
    allow_private: bool = False,
) -> ModelVariant:
    """Add a model variant to the account called ``account``, to the existing one with this address and key, or to a new one.

    Without ``max_tokens`` answers have no limit. Prices are US dollars per million tokens. ``note`` is shown wherever answers of
    the model are shown. With ``allow_private``, a private address is added to the list of allowed addresses; otherwise it is
    refused unless it is on the list. Raises ``Refused``.
    """
    label = label.strip()
    _check_label(label)
    _check_limits(model=model, reasoning=reasoning, max_tokens=max_tokens, timeout_seconds=timeout_seconds)
    check_prices(price_in, price_out)
    try:
        sampling = check_sampling(temperature=temperature, top_p=top_p, seed=seed, stop=stop)
    except SamplingError as error:
        raise Refused(str(error)) from None
    note = check_text(note, field="note", max_length=MAX_REMARK)
    owner = find_or_add_account(
        provider=provider, base_url=base_url, key_env=key_env, name=account.strip(), by=by, allow_private=allow_private
    )
    if not model and provider not in CALLS_NOBODY:
        raise Refused("Name the model as the provider calls it (--model).")
    variant = ModelVariant.objects.create(
        label=label,
        account=owner,
        model=model or label,
        reasoning=reasoning,
        max_tokens=max_tokens,
        timeout_seconds=timeout_seconds,
        parameters=(parameters or {}) | sampling,
        note=note,
        created_at=timezone.now(),
    )
    details: dict[str, object] = {"label": label, "provider": provider, "account": owner.name, "model": variant.model}
    details |= {"reasoning": reasoning, "max_tokens": max_tokens, "sampling": variant.sampling}
    trail.record("llm.model.added", target=variant, by=by, details=details)
    _note_price(variant, price_in, price_out, by)
    _note_capabilities(variant, by)
    return variant


def _check_label(label: str) -> None:
    if not LABEL.fullmatch(label):
        raise Refused(f"{label!r} cannot be a label: use up to 100 letters, digits, spaces and . , : @ + / - _ ( )")
    if ModelVariant.objects.filter(label=label).exists():
        raise Refused(
            f"There is already a model {label}. Models are never changed: add another one with another label."
        )


def _check_limits(*, model: str, reasoning: str, max_tokens: int | None, timeout_seconds: int) -> None:
    if max_tokens is not None and not 1 <= max_tokens <= MAX_TOKENS:
        sentence = f"The longest answer must be between 1 and {MAX_TOKENS:,} tokens. Leave it empty for no limit."
        raise Refused(sentence, field="max_tokens")
    if not 1 <= timeout_seconds <= MAX_TIMEOUT:
        raise Refused(f"The time-out must be between 1 and {MAX_TIMEOUT:,} seconds.", field="timeout_seconds")
    if len(model) > 200 or len(reasoning) > 20:
        raise Refused("The model's name can have at most 200 characters, its reasoning effort at most 20.")


def _note_price(variant: ModelVariant, price_in: Decimal | None, price_out: Decimal | None, by: trail.Actor) -> None:
    """Store the given price if it differs from the current one. The fake provider costs nothing."""
    newest = Price.objects.filter(account=variant.account_id, model=variant.model).order_by("-number").first()
    if price_in is None and newest is None and variant.is_fake:
        price_in = price_out = Decimal(0)
    if price_in is None or price_out is None:
        return
    if newest is None or (newest.price_in, newest.price_out) != (price_in, price_out):
        set_price(
            variant=variant, price_in=price_in, price_out=price_out, source="given when the model was added", by=by
        )


def find_price_change(variant: ModelVariant, newest_before: int) -> tuple[Price, list[str]] | None:
    """The price that was added with the variant, if other variants share its model, and the labels of all variants it applies to.

    ``newest_before`` is the key of the newest price from before the variant was added.
    """
    prices = Price.objects.filter(account=variant.account_id, model=variant.model, pk__gt=newest_before)
    price = prices.order_by("-number").first()
    same = ModelVariant.objects.filter(account=variant.account_id, model=variant.model)
    labels = list(same.order_by("pk").values_list("label", flat=True))
    return (price, labels) if price is not None and len(labels) > 1 else None


def _note_capabilities(variant: ModelVariant, by: trail.Actor) -> None:
    """Store the known capabilities of the model's family, unless the model has capabilities already."""
    if Capabilities.objects.filter(account=variant.account_id, model=variant.model).exists():
        return
    account = variant.account
    family = find_family(provider=account.provider, base_url=account.base_url, model=variant.model)
    if family is not None:
        known: dict[str, Any] = family.capabilities
        set_capabilities(variant=variant, by=by, source=f"{family.family}: {family.source}", **known)


SMALL_MODEL_NOTE = "A very small model: its answers are real, but most of them cannot be parsed."
SMALL_MODEL_TOKENS = 200


@transaction.atomic
def ensure_local_model(*, label: str, base_url: str, is_small: bool, by: trail.Actor) -> ModelVariant:
    """The variant of a model that ``make run MODEL=…`` serves on this machine, with a separate account whose calls go to
    ``base_url``. It costs nothing. Raises ``Refused``.

    An address of an earlier run is no longer allowed, because another program may have its port today.
    """
    variant = ModelVariant.objects.select_related("account").filter(label=label).first()
    if variant is None:
        return add_model(
            label=label,
            provider="openai_compatible",
            base_url=base_url,
            model=label.removeprefix("local-"),
            max_tokens=SMALL_MODEL_TOKENS if is_small else 1024,
            price_in=Decimal(0),
            price_out=Decimal(0),
            account=label,
            note=SMALL_MODEL_NOTE if is_small else "",
            allow_private=True,
            by=by,
        )
    before, now = name_address(variant.account.base_url), name_address(base_url)
    change_address(account=variant.account, base_url=base_url, allow_private=True, by=by)
    if before != now:
        disallow_address(address=before, by=by)
    return variant
