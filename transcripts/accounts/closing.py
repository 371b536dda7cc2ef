"""What other rooms have to say when an account is to be closed: each says so when the program starts.

``obstacles`` are sentences that forbid it and say what to do first; ``notes`` are sentences for the person who closes it;
``close`` runs inside the transaction and may still raise ``Refused``.
"""

from __future__ import annotations

from collections.abc import Callable

from transcripts.accounts.models import User
from transcripts.audit_trail import trail

Tell = Callable[[User], list[str]]
_obstacles: list[Tell] = []
_notes: list[Tell] = []
_closers: list[Callable[[User, trail.Actor], None]] = []


def register_closing(
    *,
    obstacles: Tell | None = None,
    notes: Tell | None = None,
    close: Callable[[User, trail.Actor], None] | None = None,
) -> None:
    """Take part in the closing of accounts. Called once, when an app is ready."""
    _obstacles.extend([obstacles] if obstacles else [])
    _notes.extend([notes] if notes else [])
    _closers.extend([close] if close else [])


def find_obstacles(user: User) -> list[str]:
    """Why the account cannot be closed, with what to do; nothing when it can."""
    alone = (
        user.is_superuser and not User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk).exists()
    )
    own = [
        f"{user.username} is the only owner of the site. Make another one first: manage.py user create NAME --site-owner."
    ]
    return (own if alone else []) + [sentence for tell in _obstacles for sentence in tell(user)]


def list_notes(user: User) -> list[str]:
    """What the person who closes the account should know before."""
    return [sentence for tell in _notes for sentence in tell(user)]


def announce_closing(user: User, by: trail.Actor) -> None:
    """Let every part do what it has to. Runs in the transaction that closes the account."""
    for close in _closers:
        close(user, by)
