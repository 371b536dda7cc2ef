"""Handing out a study, and taking one in."""

from __future__ import annotations

from transcripts.exchange.actions.exporting import CONTENT_TYPES, ExportError, WrittenExport, write_export
from transcripts.exchange.actions.importing import StudyRefused, import_qdpx

__all__ = ["CONTENT_TYPES", "ExportError", "StudyRefused", "WrittenExport", "import_qdpx", "write_export"]
