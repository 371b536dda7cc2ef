"""Every variant gets the account its address and key stand for, and its prices become rows of their table."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

DEFAULT_PORTS = {"http": 80, "https": 443}


def fill_accounts(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    accounts = apps.get_model("llm", "ProviderAccount").objects
    variants: Any = apps.get_model("llm", "ModelVariant").objects.order_by("pk")
    for variant in variants:
        known = {"provider": variant.provider, "base_url": variant.base_url, "key_env": variant.key_env}
        account = accounts.filter(**known).first()
        if account is None:
            account = accounts.create(name=name_account(accounts, variant), created_at=variant.created_at, **known)
        variant.account = account
        variant.save(update_fields=["account"])
        allow_address(apps, variant)
        keep_price(apps, variant)


def allow_address(apps: Apps, variant: Any) -> None:
    """Whoever runs the server has used this address so far: a private one stays in use."""
    parts = urlsplit(variant.base_url)
    if not parts.hostname or (parts.scheme == "https" and not is_local(parts.hostname)):
        return
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    apps.get_model("llm", "AllowedAddress").objects.get_or_create(
        address=f"{host}:{parts.port or DEFAULT_PORTS.get(parts.scheme, 443)}",
        defaults={"added_by_name": "upgrade", "added_at": variant.created_at},
    )


def is_local(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host


def keep_price(apps: Apps, variant: Any) -> None:
    """The price given with a variant; of two variants of one model, the price of the later one holds."""
    prices = apps.get_model("llm", "Price").objects
    if variant.price_in is None or variant.price_out is None:
        return
    newest = prices.filter(account=variant.account, model=variant.model).order_by("-number").first()
    if newest is not None and (newest.price_in, newest.price_out) == (variant.price_in, variant.price_out):
        return
    prices.create(
        account=variant.account,
        model=variant.model,
        number=newest.number + 1 if newest else 1,
        price_in=variant.price_in,
        price_out=variant.price_out,
        source="as given with the model",
        recorded_by_name="upgrade",
        recorded_at=variant.created_at,
    )


def name_account(accounts: Any, variant: Any) -> str:
    base: str = (urlsplit(variant.base_url).netloc.rpartition("@")[2] or variant.provider)[:90]
    name, number = base, 1
    while accounts.filter(name=name).exists():
        number += 1
        name = f"{base} {number}"
    return name


class Migration(migrations.Migration):

    dependencies = [
        ("llm", "0002_accounts"),
    ]

    operations = [migrations.RunPython(fill_accounts, migrations.RunPython.noop)]
