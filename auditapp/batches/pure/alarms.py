"""What must be said of answers that are worth nothing, in words that do not depend on what was asked."""

from __future__ import annotations

MIN_CAME = 5
"""From so many answers on, it is an alarm that not one could be read."""


def describe_unreadable(came: int, readable: int, no_room: int = 0) -> str:
    """That none of the answers that came could be read; "" where some could, or too few came. ``no_room``: those that are empty
    because the output limit was used up before they began."""
    if readable or came < MIN_CAME:
        return ""
    said = f"none of its {came:,} answers could be read."
    if no_room:
        whose = "all of them are" if no_room == came else f"{no_room:,} of them {'is' if no_room == 1 else 'are'}"
        said += f" {whose[0].upper()}{whose[1:]} empty, because the model used up its output limit before it answered."
    return said
