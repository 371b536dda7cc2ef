"""What is said when an act is refused."""

from __future__ import annotations

from transcripts.refusals import Refused


class CodingError(Refused):
    """A sentence for the person who asked."""


class WrongPlace(CodingError):
    """The sentence, code or row is not one of this study, or cannot be coded."""


class WrongInput(CodingError):
    """What was typed or chosen does not fit the code; ``field`` says where to put the message."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message, field=field)


class OncePerAnswer(CodingError):
    """The person has applied the code to another sentence of this answer, and the codebook asks for one."""


class NotDecided(CodingError):
    """Suggestions are shown after a person's own decision, never before."""


class NotYours(CodingError):
    """People change their own work only."""


class NotOpen(CodingError):
    """The round is locked, the work signed off, or the interview somebody else's."""


class UsedForAnother(CodingError):
    """An idempotency key came back with different content."""
