"""The events that webhooks announce, and the sweep that finds what was not sent."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.webhooks.actions import announce, sweep_deliveries
from auditapp.webhooks.models import BATCH_ENDED, ROUND_COMPLETED
from transcripts.hooks import batch_ended, on, round_completed, worker_swept
from transcripts.rounds.models import Round


def announce_batch(batch: Batch) -> None:
    """Tell webhooks that a batch is done or cancelled."""
    state = Batch.objects.values_list("state", flat=True).get(pk=batch.pk)
    data: dict[str, int | str] = {"batch": batch.pk, "kind": batch.kind, "state": state}
    announce(BATCH_ENDED, study_id=batch.study_id, data=data)


def announce_round(round_: Round) -> None:
    """Tell webhooks that every assignment of a round is completed."""
    data: dict[str, int | str] = {"round": round_.number, "state": "completed"}
    announce(ROUND_COMPLETED, study_id=round_.study_id, data=data)


on(batch_ended, announce_batch)
on(round_completed, announce_round)
on(worker_swept, sweep_deliveries)
