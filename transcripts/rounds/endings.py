"""What other rooms do when everything assigned in a round is signed off: each says so when the program starts."""

from __future__ import annotations

from collections.abc import Callable

from transcripts.projects.registrations import load_registrations
from transcripts.rounds.models import Round

_listeners: list[Callable[[Round], None]] = []


def register_round_finished(listener: Callable[[Round], None]) -> None:
    """Call ``listener`` inside the transaction that signs off, or takes away, the last open assignment of a round. It is called
    again where one is returned and signed off anew. Called once, in an app's ``registrations``."""
    _listeners.append(listener)


def announce_if_finished(round_: Round) -> None:
    """Tell every part that asked for it, if nothing of the round is left to be signed off. The round's row is locked."""
    counted = round_.assignments.counted()
    if counted.filter(signed_at__isnull=True).exists() or not counted.exists():
        return
    load_registrations()
    for listener in _listeners:
        listener(round_)
