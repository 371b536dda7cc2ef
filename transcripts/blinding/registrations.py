"""What blinding adds to the registries of other apps."""

from __future__ import annotations

from transcripts.blinding.own_acts import UNBLINDINGS
from transcripts.blinding.viewers import keep_what_was_seen
from transcripts.desk.history import register_history
from transcripts.studies.actions import register_role_change

register_role_change(keep_what_was_seen)
register_history(UNBLINDINGS)
