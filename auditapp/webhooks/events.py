"""What a webhook can be told of. Each event has a name and a meaning; the code that makes it happen announces it (`outbox`)."""

from __future__ import annotations

from transcripts.projects.registrations import load_registrations

# Sent only when a lead asks for it; nobody needs to choose it.
TEST = "test"

_events: dict[str, str] = {}


def register_event(name: str, meaning: str) -> None:
    """Add an event that webhooks can be told of. ``meaning`` says in a sentence when it happens. Called in ``registrations``."""
    _events[name] = meaning


def list_events() -> dict[str, str]:
    """Every event with its meaning, by its name."""
    load_registrations()
    return dict(_events)
