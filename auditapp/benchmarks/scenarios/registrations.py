"""What scenarios register with other rooms."""

from __future__ import annotations

from auditapp.batches.kinds import register_kind
from auditapp.benchmarks.scenarios.actions.storing import store_when_ended, sweep_sessions
from auditapp.benchmarks.scenarios.exports import EXPORTS, SCENARIO_OUTCOMES, find_held
from auditapp.benchmarks.scenarios.queries.runs import (
    find_run_threads,
    read_notes,
)
from auditapp.benchmarks.scenarios.runner import ScenarioKind, SessionKind
from transcripts.blinding.viewers import register_labels
from transcripts.exchange.rows import register_export, register_machines
from transcripts.hooks import batch_ended, on, worker_swept

register_kind(SessionKind())
register_kind(ScenarioKind())
on(batch_ended, store_when_ended)
on(worker_swept, sweep_sessions)
for export in (*EXPORTS, SCENARIO_OUTCOMES):
    register_export(export)
register_labels(find_held)
register_labels(find_run_threads)
register_machines(template="scenarios/machine_notes.html", notes=read_notes)
