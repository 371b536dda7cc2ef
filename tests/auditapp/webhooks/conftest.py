import pytest

from auditapp.webhooks.actions import add_webhook
from tests.auditapp.webhooks.receiving import receive


@pytest.fixture
def receiver(settings):
    """A receiver that webhooks may go to."""
    with receive() as receiver:
        settings.ALLOW_PRIVATE_WEBHOOKS = frozenset({receiver.place})
        yield receiver


@pytest.fixture
def add_hook(study, lead, receiver):
    """Adds a webhook to the receiver, for both events."""

    def add(*events, address=""):
        return add_webhook(
            study=study,
            address=address or receiver.address,
            events=events or ("batch.ended", "round.completed"),
            by=lead,
        )

    return add
