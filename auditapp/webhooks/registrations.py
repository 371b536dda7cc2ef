"""The events that webhooks can be told of, and the sweep that finds what was not sent."""

from __future__ import annotations

from auditapp.batches.kinds import register_end_listener
from auditapp.batches.models import Batch
from auditapp.batches.runner.recovery import register_sweep
from auditapp.webhooks.actions import announce, sweep_deliveries
from auditapp.webhooks.models import register_event
from transcripts.rounds.actions import register_round_finished
from transcripts.rounds.models import Round

BATCH_ENDED, ROUND_FINISHED = "batch.ended", "round.finished"


def announce_batch(batch: Batch) -> None:
    """Tell webhooks that a batch is done or cancelled."""
    state = Batch.objects.values_list("state", flat=True).get(pk=batch.pk)
    data: dict[str, int | str] = {"batch": batch.pk, "kind": batch.kind, "state": state}
    announce(BATCH_ENDED, project_id=batch.project_id, data=data)


def announce_round(round_: Round) -> None:
    """Tell webhooks that every assignment of a round is signed off."""
    data: dict[str, int | str] = {"round": round_.number, "state": "finished"}
    announce(ROUND_FINISHED, project_id=round_.project_id, data=data)


register_event(BATCH_ENDED, "A batch is done or cancelled.")
register_event(ROUND_FINISHED, "Everything assigned in a round is signed off.")
register_end_listener(announce_batch)
register_round_finished(announce_round)
register_sweep("webhooks", sweep_deliveries)
