"""Paid calls as the ledger keeps them, and the same calls with other answers."""

from __future__ import annotations

import uuid

from django.db.models import F
from django.utils import timezone

from auditapp.batches.models import Attempt, Batch, Cell, Result
from auditapp.batches.pages import progress
from transcripts.studies.models import Study


def answer_all(batch: Batch) -> list[Attempt]:
    """Every call of the batch answered with the same short words."""
    now = timezone.now()
    made = []
    for number, cell in enumerate(batch.cells.order_by("pk"), start=1):
        attempt = Attempt.objects.create(
            cell=cell,
            arm=cell.arm,
            fence=1,
            request_id=uuid.uuid4(),
            runner="x",
            written_at=now,
            sent_at=now,
            done_at=now,
            end=Attempt.End.ANSWERED,
            http_status=200,
            tokens_in=100 + number,
            tokens_out=10,
            cost_nano=1_000,
            raw="Nothing here.",
            request_hash="0" * 64,
        )
        Result.objects.create(cell=cell, attempt=attempt, answer="Nothing here.", stored_at=now)
        Cell.objects.filter(pk=cell.pk).update(answer_number=number)
        made.append(attempt)
    batch.cells.update(state=Cell.State.DONE, outcome="valid", fence=1)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=now, spent_nano=1_000 * len(made))
    return made


def say_otherwise(study: Study) -> None:
    """The same calls, had the machine said more in all of them."""
    attempts = Attempt.objects.filter(cell__batch__study=study)
    attempts.update(
        tokens_out=F("tokens_out") + 77,
        cost_nano=F("cost_nano") + 7_000,
        raw="theme.balance",
        done_at=F("written_at"),
        finish_reason="length",
    )
    Cell.objects.filter(batch__study=study).update(outcome="partial")
    Result.objects.filter(cell__batch__study=study).update(answer="theme.balance")
    Batch.objects.filter(study=study).update(spent_nano=F("spent_nano") + 7_000)
    progress._watched.clear()
