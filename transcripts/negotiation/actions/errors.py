"""Why something was not stored: each a sentence for the person who asked."""

from __future__ import annotations

from transcripts.coding.actions import CodingError

MAX_REASON = 2_000


class NegotiationError(CodingError):
    """A sentence for the person who asked."""


class WrittenMeanwhile(CodingError):
    """Somebody else wrote a number after the person opened the page."""

    def __init__(self, what: str, by: str) -> None:
        super().__init__(
            f"{by} wrote {what} after you opened this page. Nothing was stored. Read it first; what you entered is still in the "
            "form."
        )
