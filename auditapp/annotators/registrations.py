"""What annotators add to the registries of other rooms."""

from __future__ import annotations

from auditapp.annotators.models import TurnAnswer
from auditapp.annotators.pure.answers import list_annotator_alarms
from auditapp.annotators.runner import CheckKind, PreannotationKind, write_turn_schema
from auditapp.annotators.withholding import (
    find_machine_read,
    find_turn_visibility,
    is_draft,
    list_read_interviews,
)
from auditapp.batches.kinds import Parts, alarm_by_model, register_kind
from transcripts.blinding.viewers import register_labels
from transcripts.hooks import draft_checked, on, worker_swept


def notify_idle_runs() -> None:
    """A sweep that loads Celery only where one is done: in a worker."""
    from auditapp.annotators.tasks import ring_idle_runs

    ring_idle_runs()


on(draft_checked, is_draft)
register_labels(find_machine_read)
TURNS = Parts(
    find_turn_visibility,
    list_read_interviews,
    write_turn_schema,
    unreadable=[TurnAnswer.Outcome.INVALID],
    find_alarms=alarm_by_model(list_annotator_alarms),
)
for kind in (PreannotationKind(), CheckKind()):
    register_kind(kind, TURNS)
on(worker_swept, notify_idle_runs)
