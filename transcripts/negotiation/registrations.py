"""What negotiation adds to the registries of other rooms."""

from __future__ import annotations

from transcripts.blinding.labels_seen import register_labels
from transcripts.negotiation.queries.scores import find_scored

register_labels(find_scored)
