"""Finding the words that a machine quotes: verbatim, except for white space, quotation marks, case and how accents are
composed. Plain Python."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

QUOTATION_MARKS = {
    **dict.fromkeys("‘’‚‛′`´ʼ‹›", "'"),
    **dict.fromkeys("“”„‟″«»「」『』＂", '"'),
}
AROUND = "\"' "


def find_quote(quote: str, sentence: str) -> tuple[int, int] | None:
    """Where the words first occur in the sentence; ``None`` if they do not, or have no letter or digit."""
    words = quote.strip()
    if not any(map(str.isalnum, words)):
        return None
    start = sentence.find(words)
    if start >= 0:
        return start, start + len(words)
    (folded, starts, ends), wanted = _fold_once(sentence), fold(words)[0].strip()
    for looked_for in (wanted, wanted.strip(AROUND)):
        place = folded.find(looked_for)
        if place >= 0 and looked_for:
            return starts[place], ends[place + len(looked_for) - 1]
    return None


def fold(text: str) -> tuple[str, list[int], list[int]]:
    """The text with one kind of space and of quotation marks, in one case, accents composed; and for each of its
    characters where the original that it stands for starts and ends."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    place = 0
    while place < len(text):
        end = _find_end(text, place)
        written = _fold_cluster(text[place:end])
        pieces.append(written)
        starts.extend([place] * len(written))
        ends.extend([end] * len(written))
        place = end
    return "".join(pieces), starts, ends


# An answer may quote one sentence thousands of times.
_fold_once = lru_cache(maxsize=8)(fold)


def _find_end(text: str, place: int) -> int:
    """The end of what is folded together: a run of white space, or a character with its combining marks."""
    end = place + 1
    if text[place].isspace():
        while end < len(text) and text[end].isspace():
            end += 1
        return end
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end


def _fold_cluster(cluster: str) -> str:
    if cluster.isspace():
        return " "
    if len(cluster) == 1:
        return QUOTATION_MARKS.get(cluster) or cluster.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", cluster).casefold())
