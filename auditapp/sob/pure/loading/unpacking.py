"""Unpack gzip, up to a size: a small file may unpack to one that fills the memory."""

from __future__ import annotations

import gzip
import io
import zlib

from auditapp.sob.pure.loading.row_files import DatasetError

GZIP_START = b"\x1f\x8b"
MAX_UNPACKED_BYTES = 128 * 1024 * 1024


def unpack_gzip(data: bytes, *, file: str, largest: int = MAX_UNPACKED_BYTES) -> bytes:
    """The unpacked bytes of all its members. Raises DatasetError for a damaged file and for more than ``largest`` bytes."""
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(largest + 1)
    except EOFError:
        raise DatasetError(file, found="a gzip file that breaks off", expected="a whole one; fetch it again") from None
    except (gzip.BadGzipFile, zlib.error):
        raise DatasetError(file, found="a damaged gzip file", expected="a whole one; fetch it again") from None
    if len(unpacked) > largest:
        found = f"a gzip file that unpacks to more than {largest // 2**20} MB"
        raise DatasetError(file, found=found, expected="less; split the file, or remove columns")
    return unpacked
