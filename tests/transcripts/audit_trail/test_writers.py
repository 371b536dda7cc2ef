import pytest

from tests.support.instance import PATIENCE
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("postgres")]

WRITE = """
from django.db import transaction
from transcripts.audit_trail import trail

for number in range(EACH):
    with transaction.atomic():
        trail.record("test.done", target=str(number), by=trail.SYSTEM, stream="test:1")
"""


@pytest.mark.parametrize(("count", "each"), [(4, 25), pytest.param(50, 10, marks=pytest.mark.full)])
def test_writers_at_once_leave_one_chain_without_gaps(instance, count, each):
    """The very first event included, before which the stream has no head to lock."""
    writers = [instance.start_code(WRITE.replace("EACH", str(each))) for _ in range(count)]
    assert [writer.wait(PATIENCE) for writer in writers] == [0] * count, instance.read_words()
    kept = instance.query(
        "SELECT count(*), min(sequence), max(sequence) FROM audit_trail_auditevent WHERE stream = 'test:1'"
    )
    assert kept == [(count * each, 1, count * each)]
    assert instance.ask("audit", "verify")["breaks"] == []
