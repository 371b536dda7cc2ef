"""What negotiation adds to the registries of other rooms."""

from __future__ import annotations

from transcripts.blinding.viewers import register_labels
from transcripts.desk.history import register_history
from transcripts.negotiation.queries.cases import find_paired, find_with_sheets
from transcripts.negotiation.queries.scores import SCORES, find_scored

for find in (find_with_sheets, find_paired, find_scored):
    register_labels(find)
register_history(SCORES)
