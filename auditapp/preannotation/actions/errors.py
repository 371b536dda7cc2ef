"""What the actions of pre-annotation refuse with."""

from __future__ import annotations


class PreannotationError(Exception):
    """A sentence for the person who asked."""
