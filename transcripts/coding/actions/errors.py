"""What is said when an act is refused."""

from __future__ import annotations

from transcripts.refusals import Refused


class WrongPlace(Refused):
    """The sentence, code or row is not one of this study, or cannot be coded."""


class OncePerAnswer(Refused):
    """The person has applied the code to another sentence of this answer, and the codebook asks for one."""


class NotDecided(Refused):
    """Suggestions are shown after a person's own decision, never before."""


class NotYours(Refused):
    """People change their own work only."""


class NotOpen(Refused):
    """The round is locked, the work signed off, or the interview somebody else's."""


class UsedForAnother(Refused):
    """An idempotency key came back with different content."""
