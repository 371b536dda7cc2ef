"""What the desk adds to the registries of the program."""

from __future__ import annotations

from transcripts.desk.history import PARTS, register_history

register_history(*PARTS)
