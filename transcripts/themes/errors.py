"""Why something was not done to a theme: each a sentence for the person who asked."""

from __future__ import annotations

from transcripts.themes.models import PhaseEntry, PositionalityStatement, ThemeQuote, ThemeVersion

MAX_TEXT = 20_000
MAX_REASON = 2_000


class ThemeError(Exception):
    """A sentence for the person who asked."""


class WrongInput(ThemeError):
    """What was typed or chosen cannot be taken; ``field`` says where to put the message."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class NotYours(ThemeError):
    """People change what they wrote themselves."""


class ThemeChanged(ThemeError):
    """Somebody else was quicker; ``latest`` is what holds now."""

    def __init__(self, latest: ThemeVersion) -> None:
        super().__init__(
            f"{latest.written_by.username} changed theme {latest.theme.number} after you opened it. Your changes were not "
            "stored, but nothing is lost: both versions are on this page."
        )
        self.latest = latest


class QuoteChanged(ThemeError):
    """Somebody else quoted the same sentence or withdrew the quote; ``active`` is what holds now, if anything."""

    def __init__(self, active: ThemeQuote | None) -> None:
        done = f"{active.added_by.username} quoted this sentence" if active else "This quote was withdrawn"
        super().__init__(f"{done} after you opened it. Your changes were not stored; both versions are on this page.")
        self.active = active


class EntryChanged(ThemeError):
    """The same text was changed in another window; ``active`` is what holds now, if anything."""

    def __init__(self, active: PhaseEntry | PositionalityStatement | None) -> None:
        done = "You changed this text in another window" if active else "You withdrew this text in another window"
        super().__init__(f"{done}. Your changes in this window were not stored; both versions are on this page.")
        self.active = active


def check_text(text: str, *, field: str, max_length: int = MAX_TEXT, needed: str = "") -> str:
    """``text`` as it is stored: line ends alike, no white space around it. Raises ``WrongInput``.

    ``needed`` is what to say when it is empty.
    """
    text = text.replace("\r\n", "\n").strip()
    if needed and not text:
        raise WrongInput(needed, field=field)
    if len(text) > max_length:
        raise WrongInput(f"This text has {len(text):,} characters; the limit is {max_length:,}.", field=field)
    if "\x00" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        raise WrongInput(
            "This contains a character that cannot be stored, such as a null character. Remove it.",
            field=field,
        )
    return text
