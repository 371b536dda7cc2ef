"""What blinding adds to the registries of other apps."""

from __future__ import annotations

from transcripts.blinding.labels_seen import keep_what_was_seen
from transcripts.blinding.own_acts import UNBLINDINGS
from transcripts.desk.history import register_history
from transcripts.studies.role_changes import register_role_change

register_role_change(keep_what_was_seen)
register_history(UNBLINDINGS)
