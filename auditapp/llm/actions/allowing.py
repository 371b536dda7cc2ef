"""The list of private addresses that calls may go to."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from auditapp.llm.actions.errors import ModelError
from auditapp.llm.models import AllowedAddress
from auditapp.llm.pure.addresses import NoAddress, is_open_http, looks_private, name_address, read_listed
from auditapp.llm.queries import read_allowed_addresses
from transcripts.audit_trail import trail


@transaction.atomic
def allow_address(*, address: str, by: trail.Actor) -> AllowedAddress:
    """Add a private ``host:port`` to the list, unless it is there already. Raises ``ModelError``."""
    try:
        address = read_listed(address)
    except NoAddress as error:
        raise ModelError(str(error)) from None
    existing = AllowedAddress.objects.filter(address=address).first()
    if existing is not None:
        return existing
    row = AllowedAddress.objects.create(address=address, added_by_name=by.get_username()[:200], added_at=timezone.now())
    trail.record("llm.address.allowed", target=row, by=by, details={"address": address})
    return row


@transaction.atomic
def disallow_address(*, address: str, by: trail.Actor) -> None:
    """Remove an address from the list. Raises ``ModelError`` when it is not on it."""
    row = AllowedAddress.objects.filter(address=address.strip().lower()).first()
    if row is None:
        raise ModelError(f"{address} is not on the list of allowed addresses, so there is nothing to remove.")
    trail.record("llm.address.disallowed", target=row, by=by, details={"address": row.address})
    row.delete()


def check_reachable(base_url: str, *, by: trail.Actor, allow_private: bool) -> None:
    """Check that calls may go to ``base_url``. A private address that is not on the list raises ``ModelError``; with
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
    raise ModelError(
        f"{what}. The person who runs the server can allow calls to it with `python manage.py allow_address "
        f"{address}`, or by adding {address} to the setting ALLOW_PRIVATE_PROVIDERS."
    )
