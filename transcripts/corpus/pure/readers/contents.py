"""The bytes of a file, wherever they lie: read as often as needed and some at a time, so that a large file takes little memory."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from transcripts.corpus.pure.readers.base import MAX_FILE_SIZE, MAX_WHOLE_SIZE, refuse_by_ending
from transcripts.formats.problems import InputRefused, ReadError
from transcripts.formats.zip_input import NO_ZIP, ZipInput, ZipLimits, open_zip

CHUNK_BYTES = 1 << 20

_SIGNATURE = b"PK\x03\x04"
# Texts pack well, and nothing is unpacked beyond the size that files may have. Logs are written on while they run, and then hold
# a member more than once.
_LIMITS = ZipLimits(
    archive_bytes=MAX_FILE_SIZE, unpacked_bytes=1_000_000_000, entries=20_000, ratio=1_000, last_wins=True
)


@dataclass(frozen=True)
class Content:
    """The bytes of the file ``name``: in memory, in a file on a disk, or, with ``entry``, in that file of an archive.

    A file on a disk must stay as it is while it is in use: ``stamp``, its size and the time of its change, shows whether it did.
    """

    name: str
    data: bytes | Path
    entry: str = ""
    stamp: tuple[int, int] | None = None

    @classmethod
    def of(cls, name: str, data: bytes | Path) -> Content:
        """These bytes, or those of the file at a path. Raises `ReadError` for more than are read, and ``OSError``."""
        stamp = None if isinstance(data, bytes) else _stamp(data)
        size = len(data) if isinstance(data, bytes) else data.stat().st_size
        if size > MAX_FILE_SIZE:
            raise ReadError(name, None, f"{size:,} bytes", f"at most {MAX_FILE_SIZE:,} bytes in one file (divide it)")
        return cls(name, data, stamp=stamp)

    @property
    def size(self) -> int:
        """Bytes; of an entry those that its archive declares. Raises `ReadError`."""
        if self.entry:
            with self.open_archive() as archive:
                return archive.read_size(self.entry)
        return len(self.data) if isinstance(self.data, bytes) else self.data.stat().st_size

    @property
    def is_archive(self) -> bool:
        """Whether these are the bytes of a zip archive. Raises `ReadError`."""
        return next(self.read_chunks(), b"").startswith(_SIGNATURE)

    def hash(self) -> str:
        """The SHA-256 of the bytes. Raises `ReadError`."""
        digest = hashlib.sha256()
        for chunk in self.read_chunks():
            digest.update(chunk)
        return digest.hexdigest()

    def read_chunks(self) -> Iterator[bytes]:
        """The bytes, some at a time. Raises `ReadError`."""
        if self.entry:
            with self.open_archive() as archive:
                yield from archive.read_chunks(self.entry)
        elif isinstance(self.data, bytes):
            for first in range(0, len(self.data), CHUNK_BYTES):
                yield self.data[first : first + CHUNK_BYTES]
        else:
            with self._open_file(self.data) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk

    def read_whole(self) -> bytes:
        """All bytes at once. Raises `ReadError`, also for more than are read so."""
        content = bytearray()
        for chunk in self.read_chunks():
            content += chunk
            if len(content) > MAX_WHOLE_SIZE:
                found = f"more than {MAX_WHOLE_SIZE:,} bytes in a format that is read as a whole"
                raise ReadError(self.name, None, found, f"at most {MAX_WHOLE_SIZE:,} bytes (divide the file)")
        return bytes(content)

    @contextmanager
    def open_archive(self) -> Iterator[ZipInput]:
        """The archive that these bytes are, or in which the entry is. Raises `ReadError` for one that is not safe to read."""
        stream = io.BytesIO(self.data) if isinstance(self.data, bytes) else self._open_file(self.data)
        try:
            with stream, open_zip(stream, limits=_LIMITS) as archive:
                yield archive
        except InputRefused as refused:
            problem = refused.problem
            if problem.found == NO_ZIP:
                refuse_by_ending(self.name)
            raise ReadError(self.name, problem.row or None, problem.found, problem.expected) from None

    def _open_file(self, path: Path) -> io.BufferedReader:
        if _stamp(path) != self.stamp:
            found = "a file that was changed while it was read"
            raise ReadError(self.name, None, found, "a file that stays as it is until the import has ended")
        return path.open("rb")


def _stamp(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
