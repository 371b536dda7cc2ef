"""What the engine itself has workers do every few seconds."""

from __future__ import annotations

from auditapp.batches.overview import read_batches, read_notes
from auditapp.batches.planning import cancel_abandoned
from auditapp.batches.runner.sweeps import register_sweep
from transcripts.projects.overview import register_card, register_note

register_sweep("abandoned launches", lambda: cancel_abandoned(seconds=1))
register_card("batches/_card.html", read_batches, rank=20)
register_note(read_notes)
