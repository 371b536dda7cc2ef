"""What the desk adds to the registries of the program."""

from __future__ import annotations

from transcripts.coding.history import register_history
from transcripts.coding.own_acts import PARTS

register_history(*PARTS)
