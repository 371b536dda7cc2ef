"""The list of models that batches can use."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from auditapp.llm.actions.accounts import CALLS_NOBODY, find_or_add_account
from auditapp.llm.actions.errors import ModelError
from auditapp.llm.actions.figures import MAX_TOKENS, check_prices, set_capabilities, set_price
from auditapp.llm.models import Capabilities, ModelVariant, Price
from auditapp.llm.pure.families import find_family
from transcripts.audit_trail import trail

LABEL = re.compile(r"[\w.,:@+/() -]{1,100}")
MAX_TIMEOUT = 3_600


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
    max_tokens: int = 1024,
    timeout_seconds: int = 600,
    price_in: Decimal | None = None,
    price_out: Decimal | None = None,
    parameters: dict[str, object] | None = None,
    account: str = "",
    allow_private: bool = False,
) -> ModelVariant:
    """Add a model variant, on the account called ``account``, the existing one with this address and key, or a new one.

    Prices are US dollars per million tokens. With ``allow_private`` a private address is added to the list of allowed
    ones; without, it is refused unless it is on the list. Raises ``ModelError``.
    """
    label = label.strip()
    _check_label(label)
    _check_limits(model=model, reasoning=reasoning, max_tokens=max_tokens, timeout_seconds=timeout_seconds)
    check_prices(price_in, price_out)
    owner = find_or_add_account(
        provider=provider, base_url=base_url, key_env=key_env, name=account.strip(), by=by, allow_private=allow_private
    )
    if not model and provider not in CALLS_NOBODY:
        raise ModelError("Name the model as the provider calls it (--model).")
    variant = ModelVariant.objects.create(
        label=label,
        account=owner,
        model=model or label,
        reasoning=reasoning,
        max_tokens=max_tokens,
        timeout_seconds=timeout_seconds,
        parameters=parameters or {},
        created_at=timezone.now(),
    )
    details: dict[str, object] = {"label": label, "provider": provider, "account": owner.name, "model": variant.model}
    trail.record("llm.model.added", target=variant, by=by, details={**details, "reasoning": reasoning})
    _note_price(variant, price_in, price_out, by)
    _note_capabilities(variant, by)
    return variant


def _check_label(label: str) -> None:
    if not LABEL.fullmatch(label):
        raise ModelError(f"{label!r} cannot be a label: use up to 100 letters, digits, spaces and . , : @ + / - _ ( )")
    if ModelVariant.objects.filter(label=label).exists():
        raise ModelError(
            f"There is already a model {label}. Models are never changed: add another one with another label."
        )


def _check_limits(*, model: str, reasoning: str, max_tokens: int, timeout_seconds: int) -> None:
    if not 1 <= max_tokens <= MAX_TOKENS:
        raise ModelError("The longest answer must be between 1 and 200,000 tokens.")
    if not 1 <= timeout_seconds <= MAX_TIMEOUT:
        raise ModelError("The time-out must be between 1 and 3,600 seconds.")
    if len(model) > 200 or len(reasoning) > 20:
        raise ModelError("The model's name can have at most 200 characters, its reasoning effort at most 20.")


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
    """The price that was added with the variant, if other variants share its model, and the labels it applies to.

    ``newest_before`` is the key of the newest price before the variant was added.
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
