"""The data dictionary: what every column of every table means. It is exported with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transcripts.exchange.registry import Scope, list_exports
from transcripts.exchange.rows import column

COLUMNS = [
    column("export", meaning="Key of the export."),
    column("column", meaning="Heading of the column."),
    column("meaning", meaning="What it holds."),
]


def read_dictionary(scope: Scope) -> Iterator[Sequence[object]]:
    """Every column of every table."""
    for export in list_exports():
        for each in export.columns:
            yield export.key, each.name, each.meaning
