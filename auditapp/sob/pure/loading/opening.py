"""From the bytes of any file we take to its rows: by what it holds, not by its name."""

from __future__ import annotations

import gzip
import io
import zlib

from auditapp.sob.pure.loading.parquet import PARQUET_START, read_parquet
from auditapp.sob.pure.loading.published_sources import PublishedSource, find_published_source
from auditapp.sob.pure.loading.row_files import Table, is_json, open_csv, read_rows
from transcripts.formats.problems import ReadError

GZIP_START = b"\x1f\x8b"
MAX_FILE_BYTES = 64 * 1024 * 1024
# A small file may unpack to one that fills the memory.
MAX_UNPACKED_BYTES = 128 * 1024 * 1024


OpenedFile = tuple[Table, PublishedSource | None]
"""The rows, and which of the benchmark's five sources they are, if any."""


def open_file(data: bytes, *, file: str) -> OpenedFile:
    """csv, JSON lines, either of them in gzip, or parquet. Raises ReadError."""
    if len(data) > MAX_FILE_BYTES:
        found = f"more than {MAX_FILE_BYTES // 2**20} MB"
        raise ReadError(file, None, found=found, expected="a smaller file; split it, or remove columns")
    if data.startswith(PARQUET_START):
        table = read_parquet(data, file=file)
        return table, find_published_source(table.columns)
    if data.startswith(GZIP_START):
        data = unpack_gzip(data, file=file)
    if is_json(data):
        table = read_rows(data, file=file)
        return table, find_published_source(list(table.rows[0].values))
    opened = open_csv(data, file=file)
    source = find_published_source(opened.headings)
    if source and source.has_literal_quotes:
        opened = open_csv(data, file=file, has_literal_quotes=True)
    return read_rows(opened, file=file), source


def unpack_gzip(data: bytes, *, file: str, largest: int = MAX_UNPACKED_BYTES) -> bytes:
    """The unpacked bytes of all its members. Raises ReadError for a damaged file and for more than ``largest`` bytes."""
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(largest + 1)
    except EOFError:
        raise ReadError(
            file, None, found="a gzip file that breaks off", expected="a whole one; fetch it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error):
        raise ReadError(file, None, found="a damaged gzip file", expected="a whole one; fetch it again") from None
    if len(unpacked) > largest:
        found = f"a gzip file that unpacks to more than {largest // 2**20} MB"
        raise ReadError(file, None, found=found, expected="less; split the file, or remove columns")
    return unpacked
