"""Launch a batch over invented texts and store an answered call for each of its cells: plain rows, no call is made."""

from __future__ import annotations

import argparse
import json
import random
import uuid

from django.db import connection, transaction
from django.utils import timezone

from auditapp.batches.models import Attempt, Batch, Result
from auditapp.benchmarks.sob.judging.actions.launching import launch_sob
from perf.inside.answer_sob import TASKS, VALUES, prepare
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.studies.actions import set_member_role

SEED = 7
ROWS_AT_A_TIME = 5_000
MODELS = 2
NUMBER = "UPDATE batches_cell SET state = 'done', outcome = 'attributed', answer_number = %s WHERE id = %s"


def write_answer(chance: random.Random) -> str:
    """About 300 characters, as models answer the instrument."""
    return json.dumps({key: chance.choice(values) for key, values in VALUES.items()})


def store_answers(batch: Batch) -> None:
    """An answered call with its result for every cell."""
    chance, now = random.Random(SEED), timezone.now()
    cells = list(batch.cells.order_by("pk"))
    for first in range(0, len(cells), ROWS_AT_A_TIME):
        some = cells[first : first + ROWS_AT_A_TIME]
        with transaction.atomic():
            attempts = Attempt.objects.bulk_create(
                Attempt(
                    cell=cell,
                    arm_id=cell.arm_id,
                    fence=1,
                    request_id=uuid.uuid4(),
                    runner="bench",
                    request_hash="0" * 64,
                    written_at=now,
                    sent_at=now,
                    done_at=now,
                    end=Attempt.End.ANSWERED,
                    http_status=200,
                    served_model="model-2026",
                    finish_reason="stop",
                    tokens_in=chance.randint(300, 900),
                    tokens_out=chance.randint(60, 120),
                    cost_nano=chance.randint(100_000, 900_000),
                )
                for cell in some
            )
            Result.objects.bulk_create(
                Result(cell=cell, attempt=attempt, answer=write_answer(chance), stored_at=now)
                for cell, attempt in zip(some, attempts, strict=True)
            )
            with connection.cursor() as cursor:
                cursor.executemany(NUMBER, [(number, cell.pk) for number, cell in enumerate(some, start=first + 1)])
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=now)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, required=True)
    given = parser.parse_args()
    dataset, variants = prepare(-(-given.answers // (MODELS * len(TASKS))), MODELS)
    batch = launch_sob(dataset=dataset, variants=variants, tasks=TASKS, by=trail.SYSTEM)
    store_answers(batch)
    reader = User.objects.create(username="collector")
    set_member_role(project=batch.project, user=reader, role="reader", by=trail.SYSTEM)
    _, secret = create_token(user=reader, name="bench", by=reader)
    print(json.dumps({"batch": batch.pk, "answers": batch.cells.count(), "token": secret}))


if __name__ == "__main__":
    main()
