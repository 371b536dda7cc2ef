"""What this room refuses."""

from __future__ import annotations


class RevisionError(Exception):
    """A sentence for the person who asked."""
