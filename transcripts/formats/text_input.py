"""From the bytes of a small file to its text, as spreadsheets and editors write it."""

from __future__ import annotations

import codecs
import re
from itertools import islice
from unicodedata import category

from transcripts.formats.problems import InputRefused, Problem

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
MAX_WORDS = 3
GUESSED = {"cp1252": "Windows-1252", "mac-roman": "Mac Roman"}
"""The encodings that are guessed, with the names that people know them by."""

_FEW = 0.1
_LOOKED_AT = 20_000
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_IN_WORDS = frozenset("’-‐–—…")
_NEVER = frozenset("ﬁﬂƒ\ufffd")


def guess_encoding(data: bytes) -> str:
    """The one of ``GUESSED`` in which bytes that are not UTF-8 are the text of a Western language; "" where that is not clear.

    In the wrong one of the two, accents become capitals and signs inside words: é is È, ä is ‰, ü is ¸, or “ is Ò.
    """
    wrong = {encoding: _count_wrong(data, encoding) for encoding in GUESSED}
    # Of two that are as good, the first, which is far more frequent.
    best = min(wrong, key=lambda encoding: wrong[encoding])
    return best if wrong[best] <= _FEW else ""


def say_guessed(encoding: str, text: str) -> str:
    """The warning that ``text`` was read in a guessed ``encoding``, with words that show whether it is right."""
    words = dict.fromkeys(word for word in re.findall(r"\w+", text) if not word.isascii())
    shown = ", ".join(f"“{word[:40]}”" for word in islice(words, MAX_WORDS))
    check = f"words such as {shown}" if shown else "its dashes and quotation marks"
    return (
        f"The file is not in UTF-8 and was read as {GUESSED[encoding]}. Check {check}. If they are wrong, save the file as UTF-8 "
        "and choose it again."
    )


def _count_wrong(data: bytes, encoding: str) -> float:
    """The share of the signs beyond ASCII that would be odd where they are."""
    text = f" {data.decode(encoding, 'replace')} "
    places = [found.start() for found in islice(_BEYOND_ASCII.finditer(text), _LOOKED_AT)]
    odd = [_is_odd(text[max(0, place - 2) : place], text[place], text[place + 1 : place + 3]) for place in places]
    return sum(odd) / max(1, len(odd))


def _is_odd(before: str, sign: str, after: str) -> bool:
    last, next_ = before[-1:], after[:1]
    if sign in _NEVER:
        return True
    if category(sign) in {"Sm", "Sk", "Lm"}:
        return any(each.isalpha() or not each.isascii() for each in (last, next_))
    if sign.isalpha():
        # No Western language writes words of such letters alone; Cyrillic and Greek look so in the wrong encoding.
        return (sign.isupper() and last.islower()) or sum(map(_is_accented, before + after)) > 2
    return last.isalpha() and next_.isalpha() and sign not in _IN_WORDS


def _is_accented(sign: str) -> bool:
    return sign.isalpha() and not sign.isascii()


def decode_text(data: bytes) -> tuple[str, str]:
    """The text without its mark, and a warning where its encoding is a guess, else "".

    UTF-8, and UTF-16 with a mark; what is neither is read as Windows-1252 or Mac Roman where that is clear. Raises
    ``InputRefused``.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], encoding), ""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        encoding = guess_encoding(data)
        try:
            text = data.decode(encoding or "utf-8")
        except UnicodeDecodeError:
            found = f"the byte 0x{data[error.start]:02X} in line {line}, which is not UTF-8, nor clearly Windows-1252"
            raise InputRefused(Problem(0, found, "the file saved as “CSV UTF-8”")) from None
    return text, say_guessed(encoding, text)


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        found = f"a mark of {encoding[:6].upper()} and the byte 0x{data[error.start]:02X} at offset {error.start:,}, which is not"
        raise InputRefused(Problem(0, found, "the file saved as “CSV UTF-8”")) from None
