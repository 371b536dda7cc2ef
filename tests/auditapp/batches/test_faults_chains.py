"""Plays through faults: every question has its answer or a named failure, and each call sent what was said before it."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from tests.auditapp.batches.ground import Ground, kill_a_child
from tests.instance import Instance, kill_group, wait_until
from tests.services import quick_on

pytestmark = pytest.mark.processes

LAUNCH = (
    "import sys\n"
    "from tests.auditapp.batches.talking import launch_by_label, register\n"
    "register()\n"
    "plays, questions, concurrency = map(int, sys.argv[2:5])\n"
    "print(launch_by_label(sys.argv[1], plays=plays, questions=questions, concurrency=concurrency))"
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


def launch_plays(instance: Instance, label: str, *, plays: int, questions: int, in_flight: int) -> int:
    """A batch of talks with a model of this label; its number."""
    return int(instance.run_code(LAUNCH, label, str(plays), str(questions), str(in_flight)))


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


def check_plays(ground: Ground, batch: int, *, cells: int) -> None:
    rows = ground.instance.query(CELLS.format(batch=batch))
    assert len(rows) == cells
    unnamed = [row for row in rows if (row[2] == "done") != (row[4] is not None) or not row[3]]
    assert unnamed == [], "every question has its answer, or a failure with a name"
    assert {row[2] for row in rows} <= {"done", "failed"}
    assert ground.instance.query(HASTY.format(batch=batch)) == [(0,)]
    assert find_wrong_histories(ground.instance, batch) == []
    ground.check_books()


def play_through_kills(ground: Ground, *, plays: int, questions: int, in_flight: int, latency: float) -> None:
    """A process of the worker is killed, then the worker as a whole, while the paid API turns calls away."""
    chance, cells = random.Random(19), plays * questions
    ground.provider.order(latency=latency, p429=0.05, p500=0.02, retry_after=1)
    worker = ground.instance.start("-m", "tests.talking_worker")
    batch = launch_plays(ground.instance, "m", plays=plays, questions=questions, in_flight=in_flight)
    ground.wait_for_results(cells // 4)
    time.sleep(chance.uniform(0, latency))
    kill_a_child(worker)
    ground.wait_for_results(cells // 2)
    time.sleep(chance.uniform(0, latency))
    kill_group(worker)
    ground.instance.start("-m", "tests.talking_worker")
    wait_until(lambda: ground.read_state(batch) == "done", what="all plays came to their end")
    check_plays(ground, batch, cells=cells)


@quick_on("sqlite")
def test_a_few_plays_come_through_kills_and_errors(ground: Ground) -> None:
    play_through_kills(ground, plays=16, questions=3, in_flight=6, latency=0.15)


@pytest.mark.full
def test_two_hundred_plays_of_five_questions_come_through_kills_and_errors(ground: Ground) -> None:
    play_through_kills(ground, plays=200, questions=5, in_flight=30, latency=0.3)
