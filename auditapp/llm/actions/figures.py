"""Prices and capabilities of models. Each change is a new row, because batches refer to the row they ran with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from auditapp.llm.actions.errors import ModelError
from auditapp.llm.models import Capabilities, ModelVariant, Price, ProviderAccount
from transcripts.audit_trail import trail

MAX_PRICE = 100_000
MAX_TOKENS = 200_000
MAX_SOURCE = 300


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
    """Give the variant's model a new price, in US dollars per million tokens. Raises ``ModelError``.

    The price applies to every variant of this model and account, in batches launched from now on.
    """
    check_prices(price_in, price_out)
    if not batch_share.is_finite() or not 0 < batch_share <= 1 or _count_places(batch_share) > 3:
        raise ModelError(
            "The batch share must be more than 0 and at most 1, with at most three decimal places: 0.5 if batches cost half."
        )
    row = Price.objects.create(
        account=variant.account,
        model=variant.model,
        number=_lock_and_count(variant, Price) + 1,
        price_in=price_in,
        price_out=price_out,
        batch_share=batch_share,
        source=_check_source(source),
        recorded_by_name=by.get_username()[:200],
        recorded_at=timezone.now(),
    )
    details: dict[str, object] = {
        "model": variant.model,
        "number": row.number,
        "price_in": str(price_in),
        "price_out": str(price_out),
        "batch_share": str(batch_share),
    }
    trail.record("llm.price.set", target=row, by=by, details=details)
    return row


@transaction.atomic
def set_capabilities(
    *,
    variant: ModelVariant,
    by: trail.Actor,
    reasoning: str = Capabilities.Reasoning.EFFORT,
    token_limit: str = Capabilities.TokenLimit.MAX_TOKENS,
    takes_system: bool = True,
    takes_temperature: bool = True,
    offers_batches: bool = False,
    most_output_tokens: int | None = None,
    source: str = "",
) -> Capabilities:
    """Set the capabilities of the variant's model, for batches launched from now on. Raises ``ModelError``."""
    if reasoning not in Capabilities.Reasoning.values:
        raise ModelError(f"Reasoning must be one of {', '.join(Capabilities.Reasoning.values)}, not {reasoning!r}.")
    if token_limit not in Capabilities.TokenLimit.values:
        raise ModelError(
            f"The token limit must be one of {', '.join(Capabilities.TokenLimit.values)}, not {token_limit!r}."
        )
    if most_output_tokens is not None and not 1 <= most_output_tokens <= 10_000_000:
        raise ModelError("The maximum output tokens must be between 1 and 10,000,000. Leave it empty if unknown.")
    row = Capabilities.objects.create(
        account=variant.account,
        model=variant.model,
        number=_lock_and_count(variant, Capabilities) + 1,
        reasoning=reasoning,
        token_limit=token_limit,
        takes_system=takes_system,
        takes_temperature=takes_temperature,
        offers_batches=offers_batches,
        most_output_tokens=most_output_tokens,
        source=_check_source(source),
        recorded_by_name=by.get_username()[:200],
        recorded_at=timezone.now(),
    )
    details: dict[str, object] = {
        "model": variant.model,
        "number": row.number,
        "reasoning": reasoning,
        "token_limit": token_limit,
        "offers_batches": offers_batches,
    }
    trail.record("llm.capabilities.set", target=row, by=by, details=details)
    return row


def check_prices(price_in: Decimal | None, price_out: Decimal | None) -> None:
    """Refuse a price with only one half, or out of range. Raises ``ModelError``."""
    if (price_in is None) != (price_out is None):
        raise ModelError("Enter both prices, in and out, or neither.")
    given = [price for price in (price_in, price_out) if price is not None]
    if not all(price.is_finite() and 0 <= price < MAX_PRICE for price in given):
        raise ModelError("A price must be between 0 and 100,000 dollars per million tokens.")
    if any(_count_places(price) > 6 for price in given):
        raise ModelError("A price can have at most six places after the decimal point.")


def _count_places(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0


def _check_source(source: str) -> str:
    if len(source.strip()) > MAX_SOURCE:
        raise ModelError(f"The source can have at most {MAX_SOURCE} characters.")
    return source.strip()


def _lock_and_count(variant: ModelVariant, table: type[Price] | type[Capabilities]) -> int:
    """The number of the newest row of the variant's model. Locks the account, so that no number is given twice."""
    ProviderAccount.objects.select_for_update().get(pk=variant.account_id)
    rows: Any = table.objects.filter(account=variant.account_id, model=variant.model)
    return int(rows.aggregate(newest=Max("number"))["newest"] or 0)
