"""What is done about codings and anchors once the codebook means something else."""

from __future__ import annotations

from transcripts.revision.actions.anchors import add_anchor, draw_anchors, read_anchor, remove_anchor
from transcripts.revision.actions.migrating import drop_coding, keep_coding, migrate_merged, move_coding, undo_migration

__all__ = [
    "add_anchor",
    "draw_anchors",
    "drop_coding",
    "keep_coding",
    "migrate_merged",
    "move_coding",
    "read_anchor",
    "remove_anchor",
    "undo_migration",
]
