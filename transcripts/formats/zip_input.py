"""Zip archives of unknown origin: looked through before anything is unpacked, and never unpacked to a disk.

What is refused raises ``InputRefused`` with a sentence: too many or too large entries, entries packed suspiciously
tight or sharing bytes, names that lead elsewhere or are given twice, encrypted entries, links.
"""

from __future__ import annotations

import re
import stat
import struct
import sys
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    # The same module as in Python 3.14, which unpacks Zstandard.
    from backports.zstd import ZstdError, zipfile

from transcripts.formats.problems import InputRefused, Problem, quote

CHUNK_BYTES = 65_536

NO_ZIP = "something that is not a zip archive"
_END = b"PK\5\6"
_END_BYTES = 22
_END64_BYTES = 56
_LOCATOR = b"PK\6\7"
_LOCATOR_BYTES = 20
_MAX_COMMENT_BYTES = 65_535
_LEADING_ELSEWHERE = re.compile(r"[\\\0]|\A[A-Za-z]:")
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD})
# What `zipfile` and `zlib` raise on bytes that are not what they say.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    ZstdError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class ZipLimits(NamedTuple):
    """How large an archive may be. ``ratio`` counts for entries larger than ``ratio_from`` bytes. With ``last_wins`` a name may
    be given more than once, and the last of them counts."""

    archive_bytes: int = 200_000_000
    entries: int = 2_000
    directory_bytes: int = 2_000_000
    unpacked_bytes: int = 200_000_000
    ratio: int = 100
    ratio_from: int = 1_000_000
    last_wins: bool = False


DEFAULT_LIMITS = ZipLimits()


class ZipInput:
    """An archive that was looked through. Entries are found whatever the case of their names."""

    def __init__(self, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> None:
        self._archive = archive
        self._entries = entries

    def __contains__(self, name: str) -> bool:
        return _fold(name) in self._entries

    @property
    def names(self) -> list[str]:
        """The names of the files in it, as the archive spells them."""
        return [entry.filename for entry in self._entries.values() if not entry.is_dir()]

    def read_chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an entry, some at a time and at most as many as the archive declares."""
        try:
            with self._archive.open(self._entries[_fold(name)]) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk
        except _BROKEN as error:
            raise _refuse(f"the entry {quote(name)}, which cannot be unpacked", "an undamaged archive") from error

    def read_size(self, name: str) -> int:
        """The unpacked bytes of an entry, as the archive declares them."""
        return self._entries[_fold(name)].file_size

    def read_entry(self, name: str) -> bytes:
        """All bytes of an entry."""
        return b"".join(self.read_chunks(name))


@contextmanager
def open_zip(stream: BinaryIO, *, limits: ZipLimits = DEFAULT_LIMITS) -> Iterator[ZipInput]:
    """Look an archive through; raises ``InputRefused`` for one that is not safe to read."""
    _check_directory(stream, limits)
    try:
        archive = zipfile.ZipFile(stream)
    except _BROKEN as error:
        raise _refuse("something that is not a readable zip archive", "an undamaged zip archive") from error
    with archive:
        yield ZipInput(archive, _list_entries(archive, limits))


def _refuse(found: str, expected: str) -> InputRefused:
    return InputRefused(Problem(0, found, expected))


def _check_directory(stream: BinaryIO, limits: ZipLimits) -> None:
    """Bound the list of contents before it is read, for every entry of it takes memory."""
    size = stream.seek(0, 2)
    if size > limits.archive_bytes:
        raise _refuse(f"an archive of {size:,} bytes", f"at most {limits.archive_bytes:,}")
    start = max(0, size - _MAX_COMMENT_BYTES - _END_BYTES - _LOCATOR_BYTES - _END64_BYTES)
    stream.seek(start)
    tail = stream.read()
    stream.seek(0)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise _refuse(NO_ZIP, "a zip archive")
    (directory,) = struct.unpack_from("<L", tail, at + 12)
    locator = at - _LOCATOR_BYTES
    if locator >= _END64_BYTES and tail.startswith(_LOCATOR, locator):
        (large,) = struct.unpack_from("<Q", tail, locator - _END64_BYTES + 40)
        directory = max(large, directory if directory < 2**32 - 1 else 0)
    if directory > limits.directory_bytes:
        raise _refuse(f"a list of contents of {directory:,} bytes", f"at most {limits.directory_bytes:,}")


def _list_entries(archive: zipfile.ZipFile, limits: ZipLimits) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > limits.entries:
        raise _refuse(f"{len(infos):,} entries", f"at most {limits.entries:,}")
    entries: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for info in infos:
        _check_name(info)
        _check_kind(info)
        total += info.file_size
        if total > limits.unpacked_bytes:
            raise _refuse("more bytes unpacked than are read", f"at most {limits.unpacked_bytes:,}")
        if info.file_size > max(limits.ratio_from, limits.ratio * info.compress_size):
            found = (
                f"the entry {quote(info.filename)}, which grows from {info.compress_size:,} to {info.file_size:,} bytes"
            )
            raise _refuse(found, f"at most {limits.ratio} times as many")
        name = _fold(info.filename)
        if name in entries and not limits.last_wins:
            raise _refuse(f"the entry {quote(info.filename)} twice, perhaps in another case", "each name once")
        entries[name] = info
    _check_places(infos)
    return entries


def _check_name(info: zipfile.ZipInfo) -> None:
    name = info.orig_filename
    parts = name.removesuffix("/").split("/")
    if _LEADING_ELSEWHERE.search(name) or any(part in {"", ".", ".."} for part in parts):
        raise _refuse(f"the entry name {quote(name)}", "names below the archive, separated by /")


def _check_kind(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.flag_bits & 0x1:
        raise _refuse(f"the encrypted entry {quote(info.filename)}", "an archive without a password")
    if kind == stat.S_IFLNK:
        raise _refuse(f"the symbolic link {quote(info.filename)}", "files and folders")
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise _refuse(f"the entry {quote(info.filename)}, which is no file", "files and folders")
    if info.compress_type not in _METHODS:
        raise _refuse(f"the entry {quote(info.filename)}, packed by method {info.compress_type}", "deflated or stored")


def _check_places(infos: list[zipfile.ZipInfo]) -> None:
    """Entries that share bytes make much of little."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise _refuse(f"the entry {quote(info.filename)}, which shares bytes with another", "entries apart")
        end = info.header_offset + 30 + info.compress_size


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
