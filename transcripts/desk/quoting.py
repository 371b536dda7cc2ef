"""Places inside a text: in code points, as they are stored, and in UTF-16 units, as a browser counts.

Both count a letter with its combining marks as several; they differ where a character lies outside the first 65,536
(emoji, rare ideographs), which a browser counts twice.
"""

from __future__ import annotations

from transcripts.corpus.pure.boundaries import Extent

UNIT_BYTES = 2


class WrongSpan(ValueError):
    """A sentence for the person who asked."""


def find_points(text: str, units: int) -> int:
    """The place in code points of a place that a browser has counted. Raises ``WrongSpan``."""
    if "\r\n" in text:
        return _find_points_past_breaks(text, units)
    if text.isascii():
        if units > len(text):
            raise WrongSpan("The quote ends after its sentence does. Mark the words again.")
        return units
    data = text.encode("utf-16-le", "surrogatepass")
    if units * UNIT_BYTES > len(data):
        raise WrongSpan("The quote ends after its sentence does. Mark the words again.")
    try:
        return len(data[: units * UNIT_BYTES].decode("utf-16-le"))
    except UnicodeDecodeError:
        raise WrongSpan("The quote cuts a character in two. Mark the words again.") from None


def _find_points_past_breaks(text: str, units: int) -> int:
    """The same for a text with line breaks of two characters, which a page shows as one: after sentences were joined."""
    rest = points = find_points(text.replace("\r\n", "\n"), units)
    for line in text.split("\r\n"):
        if rest <= len(line):
            break
        rest -= len(line) + 1
        points += 1
    return points


def find_span(text: str, first: int, last: int) -> Extent:
    """What a browser marked in ``text`` from ``first`` up to ``last``, in code points. Raises ``WrongSpan``."""
    span = Extent(find_points(text, first), find_points(text, last))
    if span.start >= span.end:
        raise WrongSpan("The quote is empty. Mark at least one character.")
    return span


def find_words(text: str, words: str) -> Extent:
    """Where ``words`` are in ``text``; they must occur once only. Raises ``WrongSpan``."""
    words = words.strip()
    start = text.find(words) if words else -1
    if start < 0:
        raise WrongSpan("These words are not in the sentence. Copy them exactly.")
    if text.find(words, start + 1) >= 0:
        raise WrongSpan("These words occur more than once in the sentence. Include the word before or after them.")
    return Extent(start, start + len(words))
