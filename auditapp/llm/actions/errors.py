from __future__ import annotations


class ModelError(Exception):
    """A sentence for the person who asked. It never holds a key."""
