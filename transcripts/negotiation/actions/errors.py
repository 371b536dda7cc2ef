"""Why something was not stored: each a sentence for the person who asked."""

from __future__ import annotations

from transcripts.coding.actions import CodingError, WrongInput

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


def check_text(text: str, *, field: str, max_length: int = MAX_REASON, needed: str = "") -> str:
    """``text`` as it is stored: line ends alike, no white space around it. Raises ``WrongInput``.

    ``needed`` is what to say when it is empty.
    """
    text = text.replace("\r\n", "\n").strip()
    if needed and not text:
        raise WrongInput(needed, field=field)
    if len(text) > max_length:
        raise WrongInput(f"This text has {len(text):,} characters; the limit is {max_length:,}.", field=field)
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise WrongInput(
            "This contains a character that cannot be stored, such as a null character. Remove it.", field=field
        )
    return text
