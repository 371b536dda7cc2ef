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
    """Put a private ``host:port`` on the list; one that is on it stays. Raises ``ModelError``."""
    try:
        address = read_listed(address)
    except NoAddress as error:
        raise ModelError(str(error)) from None
    standing = AllowedAddress.objects.filter(address=address).first()
    if standing is not None:
        return standing
    row = AllowedAddress.objects.create(address=address, added_by_name=by.get_username()[:200], added_at=timezone.now())
    trail.record("llm.address.allowed", target=row, by=by, details={"address": address})
    return row


@transaction.atomic
def disallow_address(*, address: str, by: trail.Actor) -> None:
    """Take an address off the list. Raises ``ModelError`` when it is not on it."""
    row = AllowedAddress.objects.filter(address=address.strip().lower()).first()
    if row is None:
        raise ModelError(f"{address} is not on the list of allowed addresses, so there is nothing to take off.")
    trail.record("llm.address.disallowed", target=row, by=by, details={"address": row.address})
    row.delete()


def check_reachable(base_url: str, *, by: trail.Actor, allow_private: bool) -> None:
    """See that calls may go to ``base_url``: with ``allow_private`` its address is put on the list, else a private one
    that is not on it raises ``ModelError``."""
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
        else f"{address} without https would carry texts and key across the open network for all to read"
    )
    raise ModelError(
        f"{what}. Calls go there only when whoever runs the server allows it, with `python manage.py allow_address "
        f"{address}` or by {address} in the setting ALLOW_PRIVATE_PROVIDERS."
    )
