"""Finding words in sentences: what counts as the same, and where in a text they are. Knows nothing of Django.

Words are found inside longer ones ("culture" in "subcultures"), so that scripts without spaces can be searched too.
Letters are compared case-folded and in normal form C (Unicode 3.13, 3.11), typographic apostrophes as plain ones. It is
done here and not by the database, for SQLite and PostgreSQL fold letters differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from unicodedata import is_normalized, normalize

MAX_LENGTH = 500
MAX_TERMS = 20
# Characters; what piles up more marks than this is folded in parts, lest one sentence take minutes.
MAX_LETTER_LENGTH = 64
QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|(\S+)')
QUOTATION_MARKS = '"“”„«»'
# What may be between two words of a phrase: white space, and the marks of Markdown's emphasis around it.
GAP = r"[*_~`]*\s+[*_~`]*"


@dataclass(frozen=True)
class Term:
    """A word, or words in quotation marks, as typed; ``words`` are what it is made of, folded."""

    typed: str
    words: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Where the term is in folded text."""
        return re.compile(GAP.join(map(re.escape, self.words)))

    def occurs_in(self, folded: str) -> bool:
        """Whether folded text holds the term."""
        if len(self.words) == 1:
            return self.words[0] in folded
        return all(word in folded for word in self.words) and self.pattern.search(folded) is not None


def read_terms(typed: str) -> list[Term]:
    """The words and phrases of a search, all of which a sentence has to hold."""
    terms: dict[tuple[str, ...], Term] = {}
    for found in QUOTED.finditer(typed):
        text = next((group for group in found.groups() if group), "").strip(QUOTATION_MARKS)
        words = tuple(fold(text).split())
        if words:
            terms.setdefault(words, Term(" ".join(text.split()), words))
    return list(terms.values())


def fold(text: str) -> str:
    """The text in the form in which it is compared."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFC", _straighten(text)).casefold())


def holds_all(text: str, terms: Sequence[Term]) -> bool:
    """Whether the text of one sentence holds every term."""
    folded = fold(text)
    return all(term.occurs_in(folded) for term in terms)


def may_hold_all(text: str, terms: Sequence[Term]) -> bool:
    """Whether one sentence of this longer text could hold every term; never wrong when it says no.

    A part of a text in normal form is itself in normal form, so a text without a match need not be searched again. A
    text in another form could gain a letter where it is cut, so it is never refused.
    """
    if text.isascii():
        folded = text.lower()
    else:
        straight = _straighten(text)
        folded = straight.casefold()
        if not (is_normalized("NFC", straight) and is_normalized("NFC", folded)):
            return True
    return all(word in folded for term in terms for word in term.words)


def mark(text: str, terms: Sequence[Term]) -> list[tuple[str, bool]]:
    """The text in pieces, in order, each with whether it was searched for."""
    letters = list(_fold_letters(text))
    folded = "".join(each for _, each in letters)
    place_of = [number for number, (_, each) in enumerate(letters) for _ in each]
    marked = bytearray(len(letters))
    for term in terms:
        for found in term.pattern.finditer(folded):
            first, last = place_of[found.start()], place_of[found.end() - 1]
            marked[first : last + 1] = b"\1" * (last + 1 - first)
    pieces: list[tuple[str, bool]] = []
    for (letter, _), is_match in zip(letters, marked, strict=True):
        if pieces and pieces[-1][1] == bool(is_match):
            pieces[-1] = (pieces[-1][0] + letter, bool(is_match))
        else:
            pieces.append((letter, bool(is_match)))
    return pieces


def _fold_letters(text: str) -> Iterator[tuple[str, str]]:
    """The text letter by letter, as typed and folded. A letter includes its accents and what else folds with it."""
    if text.isascii():
        yield from zip(text, text.lower(), strict=True)
        return
    text_now, folded_now = text[:1], fold(text[:1])
    for character in text[1:]:
        own = fold(character)
        both = fold(text_now + character)
        if both == folded_now + own or len(text_now) == MAX_LETTER_LENGTH:
            yield text_now, folded_now
            text_now, folded_now = character, own
        else:
            text_now, folded_now = text_now + character, both
    yield text_now, folded_now


def _straighten(text: str) -> str:
    return text.replace("’", "'").replace("‘", "'").replace("ʼ", "'")
