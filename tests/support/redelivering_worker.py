"""A worker behind a broker that delivers again and again: ``python -m tests.support.redelivering_worker FILE``.

Every message is sent five times. A message counts as lost after two seconds and is acknowledged only when its work is
done, so the broker delivers it again while it is being worked on. FILE gets a line for each delivery.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import django
from django.core.management import execute_from_command_line

TIMES = 5
VISIBLE_AFTER_SECONDS = 2


def repeat_messages(file: Path) -> None:
    """Send each message several times, and note each delivery."""
    from auditapp.batches.runner import tasks
    from auditapp.celery import app

    app.conf.broker_transport_options = {
        **app.conf.broker_transport_options,
        "visibility_timeout": VISIBLE_AFTER_SECONDS,
        "unacked_mutex_expire": VISIBLE_AFTER_SECONDS,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }
    app.conf.task_acks_late = app.conf.task_reject_on_worker_lost = True
    tasks.run_queue.acks_late = True
    send, work = tasks.notify_queues, tasks.work_on_queue

    def send_often(queue_ids: Sequence[int]) -> bool:
        return send([queue_id for queue_id in queue_ids for _ in range(TIMES)])

    def note(queue_id: int) -> bool:
        with file.open("a", encoding="ascii") as lines:
            lines.write(f"{os.getpid()} {queue_id}\n")
        return work(queue_id)

    tasks.notify_queues, tasks.work_on_queue = send_often, note


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
    django.setup()
    repeat_messages(Path(sys.argv[1]))
    execute_from_command_line(["manage.py", "worker", "--skip-checks"])


if __name__ == "__main__":
    main()
