from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from auditapp.webhooks.actions import add_webhook
from auditapp.webhooks.models import Webhook
from tests.auditapp.webhooks.receiving import Receiver, receive
from transcripts.accounts.models import User
from transcripts.studies.models import Study


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A receiver that webhooks may go to."""
    with receive() as receiver:
        settings.ALLOW_PRIVATE_WEBHOOKS = frozenset({receiver.place})
        yield receiver


AddHook = Callable[..., tuple[Webhook, str]]


@pytest.fixture
def add_hook(study: Study, lead: User, receiver: Receiver) -> AddHook:
    """Adds a webhook to the receiver, for both events."""

    def add(*events: str, address: str = "") -> tuple[Webhook, str]:
        return add_webhook(
            study=study,
            address=address or receiver.address,
            events=events or ("batch.ended", "round.completed"),
            by=lead,
        )

    return add
