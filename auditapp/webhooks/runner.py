"""A worker sends one delivery. No transaction is open meanwhile.

The worker first takes the delivery by postponing the time when it is due: of two workers only one gets it, and if that worker
dies, another one takes it later. If a worker dies after sending and before storing the result, the delivery is sent again, with
the same id.
"""

from __future__ import annotations

import asyncio
import datetime
import uuid
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import F

from auditapp.llm.credentials import SealBroken, open_key
from auditapp.llm.providers.base import Account, ErrorClass, ProviderNotReady
from auditapp.llm.providers.http import CallFailed, HttpAccount
from auditapp.outbound.addresses import name_address
from auditapp.outbound.clock import read_now
from auditapp.webhooks.models import TURNED_OFF, Delivery, Webhook
from auditapp.webhooks.pure import MAX_TRIES, find_pause, shorten_answer, write_headers

TIMEOUT_SECONDS = 10.0
# Longer than any try can take.
LEASE = datetime.timedelta(seconds=60)
MAX_READ = 16 * 1024
MAX_KEPT = 100
REFUSED = (
    "Nothing was sent: {place} is a private address, or without https. If this is intended, the person who runs the server can "
    "add {place} to the setting ALLOW_PRIVATE_WEBHOOKS."
)
REDIRECTED = (
    "The receiver redirects to another address. Redirects are not followed: add a webhook with the final address."
)
LAST_TRY_LOST = "A worker died during the last try, so it is not known whether the receiver got it."


class Outcome(NamedTuple):
    """How a try ended: the status of the answer and its beginning, or why there is none."""

    status: int | None = None
    answer: str = ""
    error: str = ""

    @property
    def was_received(self) -> bool:
        """Whether the receiver confirmed the delivery."""
        return self.status is not None and 200 <= self.status < 300


def deliver(delivery_id: uuid.UUID) -> bool:
    """Send a delivery if it is due. Returns whether this call sent it. May be repeated without harm."""
    delivery = take_delivery(delivery_id)
    if delivery is None:
        return False
    store_outcome(delivery, send(delivery))
    return True


def take_delivery(delivery_id: uuid.UUID) -> Delivery | None:
    """The delivery with its webhook, for this caller alone to send within ``LEASE``; ``None`` if it is not due."""
    now = read_now()
    due = Delivery.objects.filter(pk=delivery_id, state=Delivery.State.WAITING, due_at__lte=now)
    off = due.filter(webhook__in=Webhook.objects.filter(turned_off_at__isnull=False))
    if off.update(state=Delivery.State.GIVEN_UP, ended_at=now, error=TURNED_OFF):
        return None
    if due.filter(tries__gte=MAX_TRIES).update(state=Delivery.State.GIVEN_UP, ended_at=now, error=LAST_TRY_LOST):
        return None
    if not due.update(due_at=now + LEASE, tries=F("tries") + 1):
        return None
    return Delivery.objects.select_related("webhook").get(pk=delivery_id)


def send(delivery: Delivery) -> Outcome:
    """Send a delivery once and wait for the answer, without touching the database. Reads delivery.webhook."""
    address, body = delivery.webhook.address, delivery.body.encode()
    try:
        secret = open_key(delivery.webhook.secret_sealed, address=address)
    except SealBroken:
        return Outcome(
            error="FIELD_KEY does not decrypt the secret of this webhook. Put the former FIELD_KEY back, or add the webhook "
            "again."
        )
    timestamp = int(datetime.datetime.now(datetime.UTC).timestamp())
    headers = write_headers(secret, delivery=str(delivery.pk), timestamp=timestamp, body=body)
    return asyncio.run(_post(address, headers, body))


async def _post(address: str, headers: dict[str, str], body: bytes) -> Outcome:
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    account = Account("webhook", origin, allowed=settings.ALLOW_PRIVATE_WEBHOOKS)
    try:
        http = HttpAccount(account, base_url=origin, headers={})
    except ProviderNotReady:
        return Outcome(error="The address of this webhook is not valid. Add it again.")
    try:
        status, answered, said, _ = await http.exchange(
            "POST", parts.path or "/", data=body, headers=headers, timeout_seconds=TIMEOUT_SECONDS, max_bytes=MAX_READ
        )
    except CallFailed as error:
        failure = error.answer
        if failure.error_class is ErrorClass.ADDRESS_REFUSED:
            return Outcome(error=REFUSED.format(place=name_address(address)))
        # A long answer has been received; it is not read to its end.
        return Outcome(failure.http_status, error="" if failure.http_status else failure.error[:300])
    finally:
        await http.close()
    return Outcome(
        status,
        answer=shorten_answer(answered, said, length=MAX_KEPT),
        error=REDIRECTED if 300 <= status < 400 else "",
    )


def store_outcome(delivery: Delivery, outcome: Outcome) -> None:
    """Store how the try of ``delivery`` ended, unless another worker has taken it since or its webhook was turned off."""
    now, state = read_now(), Delivery.State
    found = {"status": outcome.status, "answer": outcome.answer, "error": outcome.error}
    own = Delivery.objects.filter(pk=delivery.pk, tries=delivery.tries, state=state.WAITING)
    if outcome.was_received:
        own.update(state=state.DELIVERED, ended_at=now, **found)
    elif (pause := find_pause(delivery.tries)) is None:
        own.update(state=state.GIVEN_UP, ended_at=now, **found)
    else:
        own.update(due_at=now + datetime.timedelta(seconds=pause), **found)
