"""What is done to the list of models."""

from __future__ import annotations

import re
from decimal import Decimal
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone

from auditapp.llm.models import ModelVariant
from auditapp.llm.providers import PROVIDERS
from transcripts.audit_trail import trail

LABEL = re.compile(r"[\w.,:@+/() -]{1,100}")
HIGHEST_PRICE = 100_000
HIGHEST_TOKENS = 200_000
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ModelError(Exception):
    """A sentence for the person who asked."""


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
    price_in: Decimal | None = None,
    price_out: Decimal | None = None,
    parameters: dict[str, object] | None = None,
) -> ModelVariant:
    """Add a model variant. Prices are US dollars per million tokens. Raises ``ModelError``."""
    label = label.strip()
    if not LABEL.fullmatch(label):
        raise ModelError(f"{label!r} cannot be a label: use up to 100 letters, digits, spaces and . , : @ + / - _ ( )")
    if ModelVariant.objects.filter(label=label).exists():
        raise ModelError(f"There is already a model {label}. A changed model is another one: give it another label.")
    _check_provider(provider, base_url=base_url, model=model)
    if key_env and not VARIABLE.fullmatch(key_env):
        raise ModelError(
            f"{key_env!r} is no name of an environment variable. Give the variable's name, never the key itself."
        )
    _check_prices(price_in, price_out)
    if provider == "fake" and price_in is None:
        price_in = price_out = Decimal(0)
    if not 1 <= max_tokens <= HIGHEST_TOKENS:
        raise ModelError("An answer has between 1 and 200,000 tokens at most.")
    if len(model) > 200 or len(base_url) > 300 or len(reasoning) > 20:
        raise ModelError("The model's name has at most 200 characters, its address 300, its reasoning effort 20.")
    variant = ModelVariant.objects.create(
        label=label,
        provider=provider,
        base_url=base_url.rstrip("/"),
        model=model or label,
        key_env=key_env,
        reasoning=reasoning,
        max_tokens=max_tokens,
        parameters=parameters or {},
        price_in=price_in,
        price_out=price_out,
        created_at=timezone.now(),
    )
    trail.record(
        "llm.model.added",
        target=variant,
        by=by,
        details={"label": label, "provider": provider, "model": variant.model, "reasoning": reasoning},
    )
    return variant


def _check_provider(provider: str, *, base_url: str, model: str) -> None:
    if provider not in PROVIDERS:
        raise ModelError(f"There is no provider {provider!r}; there are {', '.join(PROVIDERS)}.")
    if provider == "openai_compatible":
        check_base_url(base_url)
        if not model:
            raise ModelError("Name the model as the provider knows it (--model).")


def _check_prices(price_in: Decimal | None, price_out: Decimal | None) -> None:
    if (price_in is None) != (price_out is None):
        raise ModelError("Give both prices, in and out, or neither.")
    given = [price for price in (price_in, price_out) if price is not None]
    if not all(price.is_finite() and 0 <= price < HIGHEST_PRICE for price in given):
        raise ModelError("A price lies between nothing and 100,000 dollars per million tokens.")


def check_base_url(base_url: str) -> None:
    """Refuse anything that is no plain http(s) address. Raises ``ModelError``."""
    try:
        parts = urlsplit(base_url)
        usable = bool(parts.hostname) and (parts.port is None or 0 < parts.port < 65536) and " " not in base_url
    except ValueError:
        raise ModelError(f"{base_url!r} is no base URL. It looks like http://127.0.0.1:11434/v1.") from None
    if (
        not usable
        or parts.scheme not in {"http", "https"}
        or not parts.hostname
        or parts.username
        or parts.query
        or parts.fragment
    ):
        raise ModelError(f"{base_url!r} is no base URL. It looks like http://127.0.0.1:11434/v1 and holds no key.")
