from __future__ import annotations


class SobError(Exception):
    """A sentence for the person who asked."""
