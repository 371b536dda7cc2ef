"""What blinding adds to the registries of other apps."""

from __future__ import annotations

from transcripts.blinding.own_acts import UNBLINDINGS
from transcripts.blinding.viewers import keep_what_was_seen
from transcripts.desk.history import register_history
from transcripts.hooks import on, role_changed

on(role_changed, keep_what_was_seen)
register_history(UNBLINDINGS)
