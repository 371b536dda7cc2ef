"""Project files of REFI-QDA (.qdpx, and the bare .qde inside) read into plain tuples.

A file is refused when it is not safe or its XML breaks the standard; what is merely missing or of another kind (media,
formatted text, links) is listed in ``warnings``.
"""

from __future__ import annotations

import io
import re
from typing import BinaryIO

from transcripts.formats.problems import FileRefused, InputRefused, Problem, ReadError, quote
from transcripts.formats.qde import LoadedText, ProjectRefused, read_qde
from transcripts.formats.qdpx_content import ENTRY, OwnPart, QdpxFile, read_own_part
from transcripts.formats.xml_input import read_chunks
from transcripts.formats.zip_input import DEFAULT_LIMITS, ZipInput, ZipLimits, open_zip

PROJECT_ENTRY = "project.qde"
MAX_PROJECT_SIZE = 200_000_000
"""Bytes of a bare .qde file."""

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_INTERNAL = re.compile(r"internal:/{1,3}", re.IGNORECASE)


class ProjectFileError(FileRefused):
    """A project file was refused, or a study has no place in one."""


def read_qdpx(stream: BinaryIO, *, name: str, limits: ZipLimits = DEFAULT_LIMITS) -> QdpxFile:
    """The project in a seekable stream. ``name`` is the file's name, for messages. Raises ``ProjectFileError``."""
    stream.seek(0)
    try:
        if stream.read(4).startswith(b"PK"):
            with open_zip(stream, limits=limits) as archive:
                return _read_archive(archive)
        size = stream.seek(0, io.SEEK_END)
        if size > MAX_PROJECT_SIZE:
            raise InputRefused(Problem(0, f"{size:,} bytes", f"at most {MAX_PROJECT_SIZE:,}"))
        stream.seek(0)
        return read_qde(read_chunks(stream), load_text=_miss_text, own=OwnPart({}, {}, {}, {}))
    except InputRefused as refused:
        raise ProjectFileError(name, [refused.problem]) from None
    except ProjectRefused as refused:
        raise ProjectFileError(name, refused.problems) from None


def _read_archive(archive: ZipInput) -> QdpxFile:
    # A person who packs an unpacked project again often packs the folder around it too.
    projects = [entry for entry in archive.names if entry.casefold().rpartition("/")[2] == PROJECT_ENTRY]
    if PROJECT_ENTRY not in archive and len(projects) != 1:
        raise InputRefused(Problem(0, f"an archive with {len(projects)} entries {PROJECT_ENTRY}", "one"))
    own, warnings = OwnPart({}, {}, {}, {}), []
    if ENTRY in archive:
        try:
            own = read_own_part(archive.read_chunks(ENTRY))
        except (ValueError, ReadError):
            warnings.append(f"The entry {ENTRY} was changed or is of another version; turns and details are left out.")
    loader = _TextLoader(archive)
    file = read_qde(
        archive.read_chunks(PROJECT_ENTRY if PROJECT_ENTRY in archive else projects[0]), load_text=loader.load, own=own
    )
    return file._replace(warnings=(*warnings, *file.warnings))


class _TextLoader:
    """Finds texts in the archive and nowhere else, in whatever folder other programs put them."""

    def __init__(self, archive: ZipInput) -> None:
        self._archive = archive
        self._loaded: dict[str, LoadedText] = {}
        self._by_last_part = {name.rpartition("/")[2].casefold(): name for name in archive.names}

    def load(self, path: str) -> LoadedText:
        file, internal = _INTERNAL.subn("", path, count=1)
        if not internal or not path.lower().startswith("internal:"):
            return None, f"it lies outside the file, at {quote(path)}"
        entry = f"sources/{file}"
        if entry not in self._archive:
            entry = self._by_last_part.get(file.rpartition("/")[2].casefold(), "")
        if not entry:
            return None, f"{quote(file)} is not in the archive"
        if entry not in self._loaded:
            self._loaded[entry] = _decode(self._archive.read_entry(entry))
        return self._loaded[entry]


def _decode(data: bytes) -> LoadedText:
    encoding = _BYTE_ORDER_MARKS.get(data[:2], "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return None, f"it is not in UTF-8, beginning with byte {error.start + 1:,}"
    if "\0" in text:
        return None, f"it has a NUL at character {text.index(chr(0)) + 1:,}, which cannot be stored"
    return text, ""


def _miss_text(path: str) -> LoadedText:
    return None, f"{quote(path)} is not part of a bare .qde file; read the .qdpx that it comes from"
