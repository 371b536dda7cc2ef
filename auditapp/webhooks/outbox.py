"""Events become deliveries in the transaction of what happened: an event that is undone is never sent, and none is forgotten."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping

from django.core.cache import cache
from django.db import transaction

from auditapp.batches.ledger.clock import read_now
from auditapp.webhooks.models import Delivery, Webhook
from auditapp.webhooks.queries import find_due

# Where every process of the workers is busy a message waits; it is not to be followed by another at each sweep.
NOTIFY_AGAIN_SECONDS = 20


def announce(event: str, *, project_id: int, data: Mapping[str, int | str]) -> None:
    """Write a delivery of ``event`` for every webhook of the study that asked for it.

    Called inside the transaction of what happened. ``data`` has ids and states only: no text, no names of people, nothing
    that somebody who still has to decide may not know.
    """
    asked = Webhook.objects.active().filter(project_id=project_id).select_related("project")
    write_deliveries([webhook for webhook in asked if event in webhook.events], event, data)


def write_deliveries(webhooks: Iterable[Webhook], event: str, data: Mapping[str, int | str]) -> list[Delivery]:
    """Store an event for each of the webhooks, and tell the workers of it once it is stored. Reads webhook.project."""
    now = read_now()
    deliveries = []
    for webhook in webhooks:
        delivery_id = uuid.uuid4()
        body = {
            "id": str(delivery_id),
            "event": event,
            "created_at": now.isoformat(),
            "study": webhook.project.slug,
            "data": dict(data),
        }
        deliveries.append(
            Delivery(pk=delivery_id, webhook=webhook, event=event, body=json.dumps(body), created_at=now, due_at=now)
        )
    Delivery.objects.bulk_create(deliveries)
    if deliveries:
        transaction.on_commit(lambda: _notify([delivery.pk for delivery in deliveries]))
    return deliveries


def sweep_deliveries() -> None:
    """Tell the workers of every delivery that is due: of new ones whose message was lost, and of those to be tried again."""
    untold = [
        delivery_id for delivery_id in find_due() if cache.add(f"webhook-told:{delivery_id}", 1, NOTIFY_AGAIN_SECONDS)
    ]
    if untold:
        _notify(untold)


def _notify(delivery_ids: list[uuid.UUID]) -> None:
    """Loads Celery only where something is sent."""
    from auditapp.webhooks import tasks

    tasks.notify_of(delivery_ids)
