"""A real worker is killed between sending and storing: the next one sends again, with the same id."""

import pytest

from tests.auditapp.webhooks.receiving import receive
from tests.support.instance import kill_group, wait_until

ADD = """
import sys
from django.conf import settings
from auditapp.webhooks.actions import add_webhook, send_test
from transcripts.accounts.models import User
from transcripts.studies.models import Study

settings.ALLOW_PRIVATE_WEBHOOKS = frozenset({sys.argv[2]})
owner = User.objects.get(username="owner")
webhook, _ = add_webhook(
    study=Study.objects.get(slug="demo"), address=sys.argv[1], events=["batch.ended"], by=owner
)
send_test(webhook=webhook, by=owner)
"""


@pytest.mark.full
@pytest.mark.processes
def test_a_delivery_survives_kill_9_of_the_worker_that_sent_it(instance):
    with receive() as receiver:
        instance.environment["ALLOW_PRIVATE_WEBHOOKS"] = receiver.place
        instance.manage("prepare")
        receiver.goes_on.clear()
        instance.run_code(ADD, receiver.address, receiver.place)
        # In a process that reads the settings anew.
        worker = instance.start("manage.py", "worker", "--skip-checks")
        wait_until(lambda: len(receiver.received) == 1, what="the first try")
        kill_group(worker)
        receiver.goes_on.set()
        assert instance.query("SELECT state, tries FROM webhooks_delivery") == [("waiting", 1)]
        instance.write(["UPDATE webhooks_delivery SET due_at = created_at"])
        instance.start("manage.py", "worker", "--skip-checks")
        wait_until(
            lambda: instance.query("SELECT state, tries, status FROM webhooks_delivery") == [("delivered", 2, 204)],
            what="the second try",
        )
        first, second = (headers["webhook-id"] for _, headers, _ in receiver.received)
        assert first == second
