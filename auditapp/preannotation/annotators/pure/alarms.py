"""What must be said of a machine whose answers are worth nothing: none could be read, or a critic that never says no."""

from __future__ import annotations

from collections.abc import Mapping

from auditapp.batches.pure.alarms import describe_unreadable

MIN_VERDICTS = 20
"""From so many verdicts on, it is an alarm that a critic reversed none. One that reverses a suggestion in seven upholds as many in
a row in fewer than 5 of 100 cases."""


def list_annotator_alarms(outcomes: Mapping[str, int]) -> list[str]:
    """The alarms of an annotator, from how many of its answers have which outcome, as they came."""
    return _list_unreadable(outcomes, readable=outcomes.get("valid", 0) + outcomes.get("partial", 0))


def list_critic_alarms(outcomes: Mapping[str, int]) -> list[str]:
    """The alarms of a critic, from how many of its answers have which outcome."""
    upheld, reversed_ = outcomes.get("upheld", 0), outcomes.get("reversed", 0)
    never = describe_never_reversed(upheld + reversed_, reversed_)
    return [*_list_unreadable(outcomes, readable=upheld + reversed_), *([never] if never else [])]


def describe_never_reversed(tested: int, reversals: int) -> str:
    """That a critic upheld everything; "" where it did not, or tested too little."""
    if reversals or tested < MIN_VERDICTS:
        return ""
    return (
        f"as a critic it upheld every one of the {tested:,} suggestions it tested. A critic that never says no does not show which "
        "suggestions are right: have people check some of them in an audit."
    )


def _list_unreadable(outcomes: Mapping[str, int], *, readable: int) -> list[str]:
    no_room = outcomes.get("no_room", 0)
    unreadable = outcomes.get("invalid", 0) + outcomes.get("not_storable", 0) + no_room
    said = describe_unreadable(readable + unreadable, readable, no_room)
    return [said] if said else []
