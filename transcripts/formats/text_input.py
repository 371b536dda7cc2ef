"""Reads text and rows from the bytes of a small file, as spreadsheets and editors write it. Does not import Django.

Also handles invisible characters: controls, direction marks, zero-width characters, tags. They can reverse words, hide words or
control a terminal. Texts keep them, because they are evidence, and pages show each with a badge and contain its effect; they
are removed from names and titles when a file is read.
"""

from __future__ import annotations

import codecs
import csv
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from itertools import islice
from typing import Any, NamedTuple, Protocol
from unicodedata import category

from transcripts.formats.problems import InputRefused, Problem, show_count

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
MAX_WORDS = 3
GUESSED = {"cp1252": "Windows-1252", "mac-roman": "Mac Roman"}
"""The encodings that are guessed, with their common names."""
WINDOWS, PLAIN = "\r\n", "\n"
MAX_CELL_LENGTH = 16_000_000
"""The greatest length of a cell. A reasoning model's answer in a released table of results may have millions of characters."""

_FEW = 0.1
_LOOKED_AT = 20_000
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_IN_WORDS = frozenset("’-‐–—…")
_NEVER = frozenset("ﬁﬂƒ\ufffd")
DELIMITERS = ",;\t"
A_CSV_FILE = "a CSV file (a spreadsheet saves one as “CSV UTF-8”)"
NO_NUL = "a NUL character", "text without NUL"
_LONGEST_HEAD = 1_000_000
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"PAR1": "a parquet file",
    b"\x1f\x8b": "a gzip file",
}


def guess_encoding(data: bytes) -> str:
    """The one of ``GUESSED`` in which bytes that are not UTF-8 are text in a Western language; "" if that is not clear.

    In the wrong encoding, accented letters become capitals and signs inside words: é is È, ä is ‰, ü is ¸, or “ is Ò.
    """
    wrong = {encoding: _count_wrong(data, encoding) for encoding in GUESSED}
    # In a tie the first, which is far more frequent.
    best = min(wrong, key=lambda encoding: wrong[encoding])
    return best if wrong[best] <= _FEW else ""


def say_guessed(encoding: str, text: str) -> str:
    """The warning that ``text`` was read in a guessed ``encoding``, with words by which to check it."""
    words = dict.fromkeys(word for word in re.findall(r"\w+", text) if not word.isascii())
    shown = ", ".join(f"“{word[:40]}”" for word in islice(words, MAX_WORDS))
    check = f"words such as {shown}" if shown else "its dashes and quotation marks"
    return (
        f"The file is not in UTF-8 and was read as {GUESSED[encoding]}. Check {check}. If they are wrong, save the file as UTF-8 "
        "and choose it again."
    )


def _count_wrong(data: bytes, encoding: str) -> float:
    """The share of the non-ASCII characters that would be unusual in their places."""
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
        # No Western language has words of only such letters, but Cyrillic and Greek look like this in the wrong encoding.
        return (sign.isupper() and last.islower()) or sum(map(_is_accented, before + after)) > 2
    return last.isalpha() and next_.isalpha() and sign not in _IN_WORDS


def _is_accented(sign: str) -> bool:
    return sign.isalpha() and not sign.isascii()


def decode_text(data: bytes) -> tuple[str, str]:
    """The text without its byte order mark, and a warning if its encoding is a guess, otherwise "".

    It reads UTF-8, and UTF-16 with a mark; other text is read as Windows-1252 or Mac Roman if that is clear. Raises
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


class Folded(NamedTuple):
    """A text in which each line end is one character. ``places`` are the positions, in this text, of those that were two."""

    text: str
    places: list[int]

    def find(self, place: int) -> int:
        """The position in this text of a position in the original. One between the two characters of a line end is before it."""
        # Each of the line ends before it has lost a character.
        lost = bisect_left(range(len(self.places)), place, key=lambda number: self.places[number] + number)
        return place - lost


def fold(text: str) -> Folded:
    """The text with plain line ends."""
    lines = text.split(WINDOWS)
    places, length = [], 0
    for line in lines[:-1]:
        places.append(length + len(line))
        length += len(line) + 1
    return Folded(PLAIN.join(lines), places)


def unfold(text: str, places: Sequence[int]) -> str | None:
    """The original text; ``None`` if there is no line end at one of the places."""
    pieces, before = [], 0
    for place in places:
        if not before <= place < len(text) or text[place] != PLAIN:
            return None
        pieces += [text[before:place], WINDOWS]
        before = place + 1
    return "".join([*pieces, text[before:]])


def find_unfolded(place: int, places: Sequence[int]) -> int:
    """The position in the original text of a position in the folded text."""
    return place + bisect_left(places, place)


# Python's limit is that of the process, and 131,072 characters unless set: a reader that raised it for its own files would change
# what every other reader takes after it. So it is set here, once, and readers have limits of their own for what they store.
csv.field_size_limit(MAX_CELL_LENGTH)

CsvError = csv.Error


class CsvReader(Protocol):
    """The rows of a CSV as lists of cells; ``line_num`` counts the lines read so far."""

    @property
    def line_num(self) -> int: ...

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


def read_csv(lines: Iterable[str], *, delimiter: str = ",", strict: bool = True) -> CsvReader:
    """The rows of a CSV. ``lines`` keep their line ends, so that those inside quotation marks stay as they are; with ``strict``
    a quotation mark that does not enclose a cell is an error. Raises ``CsvError`` as rows are read."""
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def find_delimiter(text: str, *, among: str = DELIMITERS, rate: Callable[[list[str]], Any] = len) -> str:
    """The separator of the columns of ``text``: the one for which ``rate`` rates the first row best; in a tie, the first."""

    def rate_first_row(delimiter: str) -> Any:
        lines = StringIO(text[:_LONGEST_HEAD], newline="")
        try:
            return rate(next(read_csv(lines, delimiter=delimiter, strict=False), []))
        except CsvError:
            return rate([])

    return max(among, key=rate_first_row)


def find_other_format(start: bytes) -> str:
    """The format of a file with this beginning, if it is not text; "" if it may be text."""
    return next((kind for sign, kind in _OTHER_FORMATS.items() if start.startswith(sign)), "")


def explain_width(cells: int, width: int) -> tuple[str, str]:
    """What was found and what is expected, for a row with the wrong number of cells."""
    if width == 1:
        expected = "one, as in the first line, or names of all columns there, separated by commas"
    else:
        expected = f"{width}, one under each heading (a cell that contains the separator needs quotation marks)"
    return show_count(cells, "cell"), expected


def explain_error(error: CsvError) -> tuple[str, str]:
    """What was found and what is expected, for the refusal of a file."""
    if "field limit" in str(error):
        return f"a cell of more than {MAX_CELL_LENGTH:,} characters", "smaller ones"
    if "new-line character" in str(error):
        return "a carriage return outside quotes", "rows that end with a line feed"
    expected = "a text with line breaks or quotation marks in quotation marks, those within doubled"
    if "expected after" in str(error):
        return "a quotation mark that does not end a cell", expected
    return f"something that is not CSV ({error})", expected


# The characters that cover a name in a masked text, and those that replace the rest of it (redacting.py).
BLOCK, FILLER = "█", "\u2060"
# Arabic to Tibetan, where a joiner between two letters is part of the spelling. The Arabic letter mark is not a letter.
_JOINED = "[\u0590-\u061b\u061d-\u0fff]"
HIDDEN = re.compile(
    # Controls other than tab and line breaks, soft hyphen, blank fillers, direction marks.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    # Line and paragraph separators stay, as line breaks; embeddings, isolates and invisible operators are included.
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    f"|[\u200c\u200d](?!{_JOINED})|(?<!{_JOINED})[\u200c\u200d]"
)
# Characters that join two into one picture, or choose how a sign is drawn; they are visible only with their neighbours.
_OF_PICTURES = frozenset("\u200d\ufe0e\ufe0f")


def mark_unseen(html: str) -> str:
    """Escaped text, or HTML whose attributes contain none of the text, with a badge around each hidden character.

    The characters stay where they are, so that the text that a browser reads from the page is exact.
    """
    return HIDDEN.sub(_write_badge, html)


def drop_unseen(name: str) -> str:
    """A name or a title without hidden characters; the replacement character if nothing else is left."""
    if not HIDDEN.search(name):
        return name
    return HIDDEN.sub(lambda found: found[0] if _is_of_picture(found) else "", name) or "\ufffd"


def _is_of_picture(found: re.Match[str]) -> bool:
    """Whether it is part of a visible picture, as in emoji."""
    before = found.string[found.start() - 1 : found.start()]
    return (
        found[0] in _OF_PICTURES and bool(before) and (unicodedata.category(before) == "So" or before in "\ufe0f#*‼⁉↔")
    )


def _is_of_block(found: re.Match[str]) -> bool:
    """Whether it belongs to the cover of a name."""
    return found[0] == FILLER and found.string[: found.start()].rstrip(FILLER).endswith(BLOCK)


def _write_badge(found: re.Match[str]) -> str:
    if _is_of_picture(found) or _is_of_block(found):
        return found[0]
    point = f"U+{ord(found[0]):04X}"
    meaning = unicodedata.name(found[0], "control character").lower()
    return f'<span class="unseen" data-point="{point}" title="Hidden: {point}, {meaning}">{found[0]}</span>'
