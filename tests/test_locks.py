"""What an act goes by is locked before it is read: on PostgreSQL nobody changes it between the look and the write."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from auditapp.webhooks.actions import add_webhook, seal_secrets_again, turn_off_webhook
from tests.support.masked_threads import bring_in_masked, make_thread
from transcripts.analysis.notebook.actions import revise_memo, write_memo
from transcripts.analysis.notebook.queries import find_place
from transcripts.blinding.actions import unmask_interviews

pytestmark = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite takes one writer at a time anyway")


def list_locks(act):
    """The tables whose rows the act locks, in the order in which it does, and the rows' order where it says one."""
    with CaptureQueriesContext(connection) as queries:
        act()
    locks = []
    for query in queries:
        sql = query["sql"]
        if re.search(r" FOR (NO KEY )?UPDATE", sql) and (table := re.search(r'FROM "(\w+)"', sql)):
            ordered = re.search(r'ORDER BY "\w+"\."id" ASC', sql)
            locks.append(table[1] + (" by id" if ordered else ""))
    return locks


@pytest.fixture
def memo(study, coder):
    return write_memo(
        study=study, place=find_place(study, {}), text="First.", kind="interpretive", by=coder, idempotency_key=uuid4()
    )


@pytest.fixture
def webhook(study, lead):
    return add_webhook(study=study, address="https://example.org/hook", events=("batch.ended",), by=lead)[0]


def test_a_memo_is_locked_before_its_next_version_is_written(memo, coder):
    def revise():
        revise_memo(memo=memo, text="Second.", kind="interpretive", by=coder, idempotency_key=uuid4())

    assert list_locks(revise)[0] == "coding_memo"


def test_a_webhook_is_locked_before_it_is_turned_off(webhook, lead):
    assert list_locks(lambda: turn_off_webhook(webhook=webhook, by=lead))[0] == "webhooks_webhook"


def test_webhooks_are_locked_in_the_order_of_their_ids_while_their_secrets_are_sealed_again(webhook, lead):
    assert list_locks(lambda: seal_secrets_again(by=lead))[0] == "webhooks_webhook by id"


def test_interviews_are_locked_in_the_order_of_their_ids_after_their_study_when_they_are_unmasked(study, lead):
    masked = bring_in_masked(study, lead, [make_thread("xenobare", 1), make_thread("xenobriefed", 1)])

    def unmask():
        unmask_interviews(study=study, interviews=masked[::-1], reason="All is read.", by=lead)

    assert list_locks(unmask)[:2] == ["studies_study", "corpus_interview by id"]
