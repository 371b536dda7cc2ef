"""Why something was not done: each a sentence for the person who asked."""

from __future__ import annotations

from transcripts.refusals import Refused


class AskedMeanwhile(Refused):
    """Something else was asked in a play after the person last saw it: ``stored``, question ``number``. ``text`` is hers."""

    def __init__(self, number: int, stored: str, text: str) -> None:
        super().__init__(
            f"Question {number} was asked meanwhile, in another window or by somebody else. Yours was not sent. Read both, and "
            "send yours again if it still fits."
        )
        self.number, self.stored, self.text = number, stored, text
