"""Why something was not done: each a sentence for the person who asked."""

from __future__ import annotations

from transcripts.refusals import Refused


class AskedMeanwhile(Refused):
    """Something else was asked in a session after the person last saw it: ``stored``, question ``number``. ``text`` is hers."""

    def __init__(self, number: int, stored: str, text: str) -> None:
        super().__init__(
            f"Question {number} was asked in the meantime, in another window or by another person. Yours was not sent. Read both, "
            "and send yours again if it still fits."
        )
        self.number, self.stored, self.text = number, stored, text
