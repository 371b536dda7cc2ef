"""Why something was not done to a theme: each a sentence for the person who asked."""

from __future__ import annotations

from transcripts.refusals import Refused
from transcripts.themes.models import PhaseEntry, PositionalityStatement, ThemeQuote, ThemeVersion


class NotYours(Refused):
    """People change what they wrote themselves."""


class ThemeChanged(Refused):
    """Somebody else was quicker; ``latest`` is what holds now."""

    def __init__(self, latest: ThemeVersion) -> None:
        super().__init__(
            f"{latest.written_by.username} changed theme {latest.theme.number} after you opened it. Your changes were not "
            "stored, but nothing is lost: both versions are on this page."
        )
        self.latest = latest


class QuoteChanged(Refused):
    """Somebody else quoted the same sentence or withdrew the quote; ``active`` is what holds now, if anything."""

    def __init__(self, active: ThemeQuote | None) -> None:
        done = f"{active.added_by.username} quoted this sentence" if active else "This quote was withdrawn"
        super().__init__(f"{done} after you opened it. Your changes were not stored; both versions are on this page.")
        self.active = active


class EntryChanged(Refused):
    """The same text was changed in another window; ``active`` is what holds now, if anything."""

    def __init__(self, active: PhaseEntry | PositionalityStatement | None) -> None:
        done = "You changed this text in another window" if active else "You withdrew this text in another window"
        super().__init__(f"{done}. Your changes in this window were not stored; both versions are on this page.")
        self.active = active
