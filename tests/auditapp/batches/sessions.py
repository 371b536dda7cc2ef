"""Sessions in an instance of its own: launched, asked again, and compared with what its calls sent. Their workers are those of
``tests.support.conversation_worker``."""

from __future__ import annotations

import json
from typing import Any

from tests.support.instance import Instance

LAUNCH = (
    "import sys\n"
    "from tests.auditapp.batches.talking import launch_by_label, register\n"
    "register()\n"
    "sessions, questions, concurrency = map(int, sys.argv[2:5])\n"
    "print(launch_by_label(sys.argv[1], sessions=sessions, questions=questions, concurrency=concurrency))"
)
RETRY = (
    "import sys\n"
    "from auditapp.batches.actions import retry_failed\n"
    "from auditapp.batches.models import Batch\n"
    "from tests.auditapp.batches.talking import register\n"
    "from transcripts.audit_trail import trail\n"
    "register()\n"
    "print(retry_failed(batch=Batch.objects.get(pk=int(sys.argv[1])), by=trail.SYSTEM))"
)
CELLS = (
    "SELECT c.id, c.after_id, c.state, c.outcome, r.answer, a.prompt FROM batches_cell c "
    "LEFT JOIN batches_result r ON r.cell_id = c.id LEFT JOIN batches_attempt a ON a.id = r.attempt_id WHERE c.batch_id = {batch}"
)
CALLS = "SELECT a.cell_id, a.history FROM batches_attempt a JOIN batches_cell c ON c.id = a.cell_id WHERE c.batch_id = {batch}"
HASTY = (
    "SELECT count(*) FROM batches_attempt a JOIN batches_cell c ON c.id = a.cell_id "
    "LEFT JOIN batches_result r ON r.cell_id = c.after_id "
    "WHERE c.batch_id = {batch} AND c.after_id IS NOT NULL AND (r.stored_at IS NULL OR a.sent_at < r.stored_at)"
)


def launch_sessions(instance: Instance, label: str, *, sessions: int, questions: int, in_flight: int) -> int:
    """A batch of talks with a model of this label; its number."""
    return int(instance.run_code(LAUNCH, label, str(sessions), str(questions), str(in_flight)))


def retry_sessions(instance: Instance, batch: int) -> int:
    """Every failed question of the batch is asked again; their number."""
    return int(instance.run_code(RETRY, str(batch)))


def count_hasty_calls(instance: Instance, batch: int) -> int:
    """The calls that were sent before the answer they continue was stored."""
    return int(instance.query(HASTY.format(batch=batch))[0][0])


def find_wrong_histories(instance: Instance, batch: int) -> list[int]:
    """Cells of which a call sent something else than the questions and answers of the cells before it, read one by one."""
    rows = {row[0]: row for row in instance.query(CELLS.format(batch=batch))}

    def say(cell: int | None) -> list[dict[str, str]]:
        if cell is None:
            return [{"role": "system", "content": "You are asked."}]
        _, after, _, _, answer, prompt = rows[cell]
        return [*say(after), {"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]

    wrong = []
    for cell, history in instance.query(CALLS.format(batch=batch)):
        sent: Any = json.loads(history) if isinstance(history, str) else history
        after = rows[cell][1]
        if sent != (None if after is None else say(after)):
            wrong.append(cell)
    return wrong
