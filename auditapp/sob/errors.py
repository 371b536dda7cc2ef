from __future__ import annotations

from transcripts.refusals import Refused


class SobError(Refused):
    """An error whose message is shown to the user."""
