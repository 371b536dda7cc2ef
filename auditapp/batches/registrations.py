"""What the engine itself has workers do every few seconds."""

from __future__ import annotations

from auditapp.batches.planning import cancel_abandoned
from auditapp.batches.runner.sweeps import register_sweep

register_sweep("abandoned launches", lambda: cancel_abandoned(seconds=1))
