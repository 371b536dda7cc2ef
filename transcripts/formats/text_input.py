"""From the bytes of a small file to its text, as spreadsheets and editors write it."""

from __future__ import annotations

import codecs
import re

from transcripts.formats.problems import InputRefused, Problem

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
MAX_WORDS = 3


def decode_text(data: bytes) -> tuple[str, str]:
    """The text without its mark, and a warning where its encoding is a guess, else "".

    UTF-8, and UTF-16 with a mark; what is neither and could be Windows-1252 is read as that. Raises ``InputRefused``.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], encoding), ""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            found = f"the byte 0x{data[error.start]:02X} in line {line}, which is neither UTF-8 nor Windows-1252"
            raise InputRefused(Problem(0, found, "the file saved as “CSV UTF-8”")) from None
    words = dict.fromkeys(word for word in re.findall(r"\w+", text) if not word.isascii())
    shown = ", ".join(f"“{word[:40]}”" for word in list(words)[:MAX_WORDS])
    return text, (
        f"The file is not in UTF-8 and was read as Windows-1252. Check {f'words such as {shown}' if shown else 'its dashes'}. "
        "If they are wrong, save the file as “CSV UTF-8” and choose it again."
    )


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        found = f"a mark of {encoding[:6].upper()} and the byte 0x{data[error.start]:02X} at offset {error.start:,}, which is not"
        raise InputRefused(Problem(0, found, "the file saved as “CSV UTF-8”")) from None
