"""What backup and restore refuse."""

from __future__ import annotations


class OperationError(Exception):
    """Says what is wrong, where, and what to do."""
