from __future__ import annotations


class SobError(Exception):
    """An error whose message is shown to the user."""
