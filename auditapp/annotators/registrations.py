"""What annotators add to the registries of other rooms."""

from __future__ import annotations

from auditapp.annotators.runner import CheckKind, PreannotationKind
from auditapp.annotators.withholding import find_machine_read, is_draft
from auditapp.batches.kinds import register_kind
from transcripts.blinding.viewers import register_labels
from transcripts.hooks import draft_checked, on, worker_swept


def notify_idle_runs() -> None:
    """A sweep that loads Celery only where one is done: in a worker."""
    from auditapp.annotators.tasks import ring_idle_runs

    ring_idle_runs()


on(draft_checked, is_draft)
register_labels(find_machine_read)
register_kind(PreannotationKind())
register_kind(CheckKind())
on(worker_swept, notify_idle_runs)
