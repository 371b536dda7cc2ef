"""Handing out a study, and taking one in."""

from __future__ import annotations

from transcripts.exchange.actions.exporting import (
    CONTENT_TYPES,
    ExportError,
    letting_rows_go,
    record_export,
    write_export,
    write_file,
)
from transcripts.exchange.actions.importing import StudyRefused, import_qdpx

__all__ = [
    "CONTENT_TYPES",
    "ExportError",
    "StudyRefused",
    "import_qdpx",
    "letting_rows_go",
    "record_export",
    "write_export",
    "write_file",
]
