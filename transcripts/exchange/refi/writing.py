"""Writing a study's project file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from transcripts.exchange.pure import refi_names as naming
from transcripts.exchange.refi import content
from transcripts.exchange.refi.guids import StudyGuids
from transcripts.exchange.registry import Scope
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.formats.qdpx_write import EARLIEST, write_qdpx

README_ENTRY = "README.txt"
README = """\
This is a REFI-QDA project, written by auditapp. Any program that reads the standard can open it.

project.qde and sources/ are the standard's: texts, codes, codings, memos, sets, people.
auditapp.jsonl and codebook.json hold what the standard has no place for: who speaks, and of each coding its layer, level,
enactment, grounding, prompting, reason, answers and range; of the codebook everything. Only auditapp reads them.

A link of a coding, such as what a move acts on, is a note on it whose name begins with "auditapp link: ". It is there to be
read: an import leaves it out. The interpretive line of a coding is the description of its selection, and a note "Interpretation"
with a number. Every note has a name of its own, because some programs take no two of one name.

Not in this file, because neither has a place for it: decisions, rounds, sign-offs, adjudications, withdrawn rows and earlier
versions, machines' suggestions, consents, splits and merges of sentences, the kind of an interview (trajectory), the thread on
which it hangs, its run, and of turns the ids of calls, times, tokens and other details. Download those as tables, or as
"trajectories" and "texts" (JSON lines). Archived and excluded interviews are in it only where that was asked for.

Line ends are plain line feeds; auditapp puts back those that the texts had.
"""


def write_study(scope: Scope, path: Path) -> int:
    """Write the study, or one person's part of it; returns the number of codings.

    Memory holds twenty interviews at a time. What the standard has no place for goes into entries of our own, which
    other programs leave alone.
    """
    guids = StudyGuids(scope.project)
    project, codebook = content.read_project(scope, guids)
    with path.open("w+b") as stream:
        # Filled while the sources are written, and read when the notes are.
        joined: set[int] = set()
        sources, notes = content.read_sources(scope, guids, joined), content.read_notes(scope, guids, joined)
        written = write_qdpx(project, sources=sources, notes=notes, stream=stream)
    text = io.StringIO()
    write_codebook_json(codebook, text)
    _add_entries(path, {naming.CODEBOOK_ENTRY: text.getvalue(), README_ENTRY: README})
    return written["codings"] + len(joined)


def _add_entries(path: Path, texts: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        for name, text in texts.items():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, text)
