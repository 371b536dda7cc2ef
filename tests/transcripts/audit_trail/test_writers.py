from __future__ import annotations

import pytest

from tests.instance import PATIENCE, Instance
from tests.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("postgres")]

WRITERS = 4
EACH = 25
WRITE = f"""
from django.db import transaction
from transcripts.audit_trail import trail

for number in range({EACH}):
    with transaction.atomic():
        trail.record("test.done", target=str(number), by=trail.SYSTEM, stream="test:1")
"""


def test_writers_at_once_leave_one_chain_without_gaps(instance: Instance) -> None:
    """The very first event included, before which the stream has no head to lock."""
    writers = [instance.start_code(WRITE) for _ in range(WRITERS)]
    assert [writer.wait(PATIENCE) for writer in writers] == [0] * WRITERS, instance.read_words()
    kept = instance.query(
        "SELECT count(*), min(sequence), max(sequence) FROM audit_trail_auditevent WHERE stream = 'test:1'"
    )
    assert kept == [(WRITERS * EACH, 1, WRITERS * EACH)]
    assert instance.ask("verify_audit")["breaks"] == []
