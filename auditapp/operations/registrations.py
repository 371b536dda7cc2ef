"""What workers do for the site as a whole."""

from __future__ import annotations

from auditapp.batches.runner.recovery import take_tick
from transcripts.accounts.sessions import SessionStore
from transcripts.hooks import on, worker_swept

HOUR = 3600.0


def delete_old_sessions() -> None:
    """Delete expired sessions, once an hour."""
    if take_tick("old sessions", every=HOUR) is not None:
        SessionStore.clear_expired()


on(worker_swept, delete_old_sessions)
