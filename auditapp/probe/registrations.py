"""What the probe adds to the registries of other rooms."""

from __future__ import annotations

from auditapp.batches.kinds import register_kind, register_unreadable, register_visibility
from auditapp.probe.exports import PROBE_FUNNELS, PROBE_TABLE1
from auditapp.probe.kind import ProbeKind, find_probe_visibility, list_probe_interviews
from auditapp.probe.pure.parsing import INVALID, NO_ANSWER
from auditapp.probe.queries.method import read_notes
from auditapp.probe.queries.trials import KIND
from transcripts.exchange.registry import register_export, register_machine_notes

register_kind(ProbeKind())
register_machine_notes("probe/machine_notes.html", read_notes)
register_unreadable(KIND, [INVALID, NO_ANSWER])
register_visibility(KIND, find_probe_visibility, list_probe_interviews)
for export in (PROBE_TABLE1, PROBE_FUNNELS):
    register_export(export)
