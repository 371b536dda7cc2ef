"""Names in the order in which people count: 2 before 10."""

from __future__ import annotations

import re

DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """A key to sort names by: numbers in them by their values, the rest by its letters, small and capital alike.

    A number comes before letters at the same place.
    """
    parts = [part for part in DIGITS.split(name.casefold()) if part]
    return [(0, int(part), part) if DIGITS.fullmatch(part) else (1, 0, part) for part in parts]
