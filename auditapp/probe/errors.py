from __future__ import annotations


class ProbeError(Exception):
    """An error whose message is shown to the user."""
