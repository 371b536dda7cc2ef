"""The Celery task. A message names a delivery, and may be lost or repeated without harm."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from kombu.exceptions import OperationalError

from auditapp.batches.runner.tasks import connect_at_once
from auditapp.celery import app
from auditapp.webhooks import runner


@app.task(name="webhooks.deliver")
def deliver(delivery_id: str) -> None:
    """Send a delivery if it is due."""
    runner.deliver(uuid.UUID(delivery_id))


def notify_of(delivery_ids: Iterable[uuid.UUID]) -> bool:
    """Notify the workers of deliveries. Returns whether all messages were sent. The sweep repeats lost ones."""
    try:
        with connect_at_once() as connection:
            for delivery_id in delivery_ids:
                deliver.apply_async((str(delivery_id),), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        return False
    return True
