"""What experiments register with other rooms."""

from __future__ import annotations

from auditapp.benchmarks.experiments.exports import ENROLMENTS
from auditapp.benchmarks.experiments.queries import read_notes
from transcripts.exchange.rows import register_export, register_machines

register_export(ENROLMENTS)
register_machines(template="experiments/machine_notes.html", notes=read_notes)
