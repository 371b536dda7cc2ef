"""How a room meets rooms above it, which it may not import: events that it sends, and the loading of what they add.

docs/reference/hooks.md lists the events and the nine hooks. A room says in its module ``registrations`` what it adds and which
events it acts on. These modules are imported when the first hook is read or the first event sent, and not when the program
starts: together they import most of the program, which a command such as ``interview segment`` never uses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from django.dispatch import Signal
from django.utils.module_loading import autodiscover_modules

logger = logging.getLogger(__name__)

# Each with its facts; an arrow where receivers answer. All but the sweep are sent inside the transaction of what happens.
closing_checked = Signal()  # user -> sentences that forbid closing the account and say what to do first
closing_reviewed = Signal()  # user -> sentences for the person who closes the account
account_closing = Signal()  # user, by; a receiver may raise Refused
leaving_reviewed = Signal()  # study, user -> sentences for the person who takes a member out of a study
role_changed = Signal()  # change
round_completed = (
    Signal()
)  # round_: nothing assigned in it is open; sent again where one is returned and completed again
batch_ended = Signal()  # batch: it is done or cancelled
job_waiting = Signal()  # job_id
interviews_listed = Signal()  # interviews, coder -> the work on each, by its number
interviews_given_up = Signal()  # interviews -> rows about them, to be deleted before them
draft_checked = Signal()  # interview_id -> whether it is coded as a draft
worker_swept = Signal()  # every few seconds, in one worker; what acts on it is quick and safe to repeat


@cache
def load_registrations() -> None:
    """Import the module ``registrations`` of every app that has one. Every function that reads a hook calls this."""
    autodiscover_modules("registrations")


def on(event: Signal, act: Callable[..., Any]) -> None:
    """Call ``act`` at each such event, with its facts as keywords. Called in ``registrations``."""
    event.connect(
        lambda sender, signal, **facts: act(**facts), weak=False, dispatch_uid=f"{act.__module__}.{act.__qualname__}"
    )


def send(event: Signal, **facts: Any) -> list[Any]:
    """Send an event; returns the answers of its receivers, in the order of the rooms. An exception in one of them ends it."""
    load_registrations()
    return [answer for _, answer in event.send(sender=None, **facts)]


def send_to_each(event: Signal, **facts: Any) -> None:
    """Send an event to every receiver, even if one fails; Django logs the exception."""
    load_registrations()
    event.send_robust(sender=None, **facts)
