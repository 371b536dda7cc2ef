"""Writing a study's project file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from uuid import UUID

from transcripts.exchange.pure import refi_names as naming
from transcripts.exchange.refi import content
from transcripts.exchange.registry import Scope
from transcripts.formats.codebook_content import CodebookContent
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.formats.qdpx_write import EARLIEST, write_qdpx


def write_study(scope: Scope, path: Path) -> int:
    """Write the study, or one person's part of it; returns the number of codings.

    Memory holds twenty interviews at a time. What the standard has no place for goes into entries of our own, which
    other programs leave alone.
    """
    project, codebook = content.read_project(scope)
    with path.open("w+b") as stream:
        # Filled while the sources are written, and read when the notes are.
        joined: set[UUID] = set()
        sources, notes = content.read_sources(scope, joined), content.read_notes(scope, joined)
        written = write_qdpx(project, sources=sources, notes=notes, stream=stream)
    _add_codebook(path, codebook)
    return written["codings"] + len(joined)


def _add_codebook(path: Path, codebook: CodebookContent) -> None:
    text = io.StringIO()
    write_codebook_json(codebook, text)
    entry = zipfile.ZipInfo(naming.CODEBOOK_ENTRY, EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system, entry.external_attr = 3, 0o100644 << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(entry, text.getvalue())
