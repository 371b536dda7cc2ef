"""How a broken invariant of the ledger is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

MAX_NUMBERS = 10

# The invariant that is broken, the batch or ``None`` where it does not belong to one, and what is wrong.
Break = tuple[str, int | None, str]


def list_breaks(invariant: str, rows: QuerySet[Any], what: str, *, of_cell: str = "") -> Iterator[Break]:
    """One break per batch that has such rows, with the numbers of the first cells. One statement."""
    found: dict[int, list[int]] = {}
    for batch, cell in rows.values_list(f"{of_cell}batch", f"{of_cell}pk"):
        found.setdefault(batch, []).append(cell)
    for batch in sorted(found):
        cells = sorted(found[batch])
        yield (
            invariant,
            batch,
            f"Batch {batch}, {len(cells)} cell{'s'[: len(cells) > 1]} ({list_numbers(cells)}): {what}.",
        )


def list_numbers(numbers: Sequence[int]) -> str:
    """The first few, to keep the sentence short."""
    more = ", …" if len(numbers) > MAX_NUMBERS else ""
    return ", ".join(map(str, numbers[:MAX_NUMBERS])) + more
