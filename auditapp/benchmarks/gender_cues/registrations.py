"""What the probe adds to the registries of other rooms."""

from __future__ import annotations

from auditapp.batches.kinds import register_kind
from auditapp.benchmarks.gender_cues.exports import PROBE_FUNNELS, PROBE_TABLE1
from auditapp.benchmarks.gender_cues.queries import read_notes
from auditapp.benchmarks.gender_cues.runner import ProbeKind
from transcripts.exchange.rows import register_export, register_machines

register_kind(ProbeKind())
for export in (PROBE_TABLE1, PROBE_FUNNELS):
    register_export(export)
register_machines(template="gender_cues/machine_notes.html", notes=read_notes)
