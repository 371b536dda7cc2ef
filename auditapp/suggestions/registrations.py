"""What suggestions add to the registries of other rooms."""

from __future__ import annotations

from auditapp.suggestions.exports import SHOWINGS, SUGGESTIONS, TURN_ARMS
from transcripts.exchange.rows import register_export

for export in (SUGGESTIONS, SHOWINGS, TURN_ARMS):
    register_export(export)
