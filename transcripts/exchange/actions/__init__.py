"""Exporting and importing a study."""

from __future__ import annotations

from transcripts.exchange.actions.exporting import (
    Written,
    describe_file,
    draft_beside,
    hash_file,
    letting_rows_go,
    record_export,
    say_long_cells,
    write_export,
    write_file,
)
from transcripts.exchange.actions.importing import StudyRefused, import_qdpx

__all__ = [
    "StudyRefused",
    "Written",
    "describe_file",
    "draft_beside",
    "hash_file",
    "import_qdpx",
    "letting_rows_go",
    "record_export",
    "say_long_cells",
    "write_export",
    "write_file",
]
