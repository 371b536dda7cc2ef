"""A search in a study, and finding its words in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from unicodedata import category, is_normalized, normalize
from urllib.parse import urlencode

MAX_LENGTH = 500
MAX_TERMS = 20
# Characters with more marks than this are folded in parts, because otherwise one sentence could take minutes.
MAX_LETTER_LENGTH = 64
QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|(\S+)')
QUOTATION_MARKS = '"“”„«»'
# The characters allowed between two words of a phrase: white space, and Markdown's emphasis marks around it.
GAP = r"[*_~`]*\s+[*_~`]*"

APOSTROPHES = "’‘ʼ"
# Letters that have no decomposition in Unicode.
PLAIN = {"ı": "i", "ȷ": "j", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"}
# Blocks whose marks can be ignored: accents, points of Hebrew, Arabic and Syriac.
MARKS = (
    *((0x0300, 0x036F), (0x0483, 0x0487), (0x0591, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670)),
    *((0x06D6, 0x06ED), (0x0711, 0x0711), (0x0730, 0x074A), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF)),
    (0xFE20, 0xFE2F),
)
TATWEEL = "ـ"
OWN = "me"
EVERYBODY = "all"
NOT_STATED = "-"
"""The value for codings of moves without enactment, stored before it was required."""
UNNAMED = "-"
"""The value in addresses for interviews whose model is not known."""


class _Folded(dict[int, str]):
    """The folded form of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        found = self[code] = _fold_character(chr(code))
        return found


FOLDED = _Folded()


def _fold_character(character: str) -> str:
    """The form in which a character is compared: case-folded and in normal form C (Unicode 3.13, 3.11), without accents, the
    points of Hebrew, the vowels of Arabic and the dots that distinguish Turkish i from ı.

    Full-width and other forms of a letter count as the plain letter, and so do typographic apostrophes; soft hyphens and
    zero-width characters are ignored. Signs that are letters themselves, such as vowels of Devanagari or the voicing of kana,
    are kept. This is not done by the database, because SQLite and PostgreSQL fold letters differently.
    """
    if character in APOSTROPHES:
        return "'"
    # Soft hyphens, joiners, marks of direction.
    if category(character) == "Cf" or character == TATWEEL:
        return ""
    plain = normalize("NFKC", character)
    if any(each.isspace() for each in plain) and not character.isspace():
        plain = character
    letters = normalize("NFD", plain.casefold())
    kept = "".join(letter for letter in letters if not _is_mark(letter))
    return normalize("NFC", "".join(PLAIN.get(letter, letter) for letter in kept))


def _is_mark(letter: str) -> bool:
    return category(letter) == "Mn" and any(first <= ord(letter) <= last for first, last in MARKS)


@dataclass(frozen=True)
class Term:
    """A word, or words in quotation marks, as typed; ``words`` are its folded words."""

    typed: str
    words: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A pattern that finds the term in folded text."""
        return re.compile(GAP.join(map(re.escape, self.words)))

    def occurs_in(self, folded: str) -> bool:
        """Whether folded text contains the term."""
        if len(self.words) == 1:
            return self.words[0] in folded
        return all(word in folded for word in self.words) and self.pattern.search(folded) is not None


def read_terms(typed: str) -> list[Term]:
    """The words and phrases of a search, all of which a sentence must contain. They are found inside longer words too ("culture"
    in "subcultures"), so that scripts without spaces can be searched."""
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
    return normalize("NFC", normalize("NFC", text).translate(FOLDED))


def holds_all(text: str, terms: Sequence[Term]) -> bool:
    """Whether the text of one sentence contains every term."""
    folded = fold(text)
    return all(term.occurs_in(folded) for term in terms)


def may_hold_all(text: str, terms: Sequence[Term]) -> bool:
    """Whether one sentence of this longer text could contain every term; a negative answer is always correct.

    A part of a text in normal form is itself in normal form, so a text without a match need not be searched again. A text in
    another form could gain a letter at a cut, so it is never excluded.
    """
    if text.isascii():
        folded = text.lower()
    else:
        folded = text.translate(FOLDED)
        if not (is_normalized("NFC", text) and is_normalized("NFC", folded)):
            return True
    return all(word in folded for term in terms for word in term.words)


def mark(text: str, terms: Sequence[Term]) -> list[tuple[str, bool]]:
    """The text in pieces, in order, each with whether it matches the search."""
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
    """The text letter by letter, as typed and folded. A letter includes its accents, everything else that folds with it, and
    ignored characters after it."""
    if text.isascii():
        yield from zip(text, text.lower(), strict=True)
        return
    text_now, folded_now = text[:1], fold(text[:1])
    for character in text[1:]:
        own = fold(character)
        both = fold(text_now + character)
        is_apart = both == folded_now + own and own != ""
        if is_apart or len(text_now) == MAX_LETTER_LENGTH:
            yield text_now, folded_now
            text_now, folded_now = character, own
        else:
            text_now, folded_now = text_now + character, both
    yield text_now, folded_now


class Speaker(StrEnum):
    """The kinds of speakers that can be searched separately."""

    MODEL = "model"
    INTERVIEWER = "interviewer"
    REASONING = "reasoning"
    SYSTEM = "system"
    TOOLS = "tools"


class State(StrEnum):
    """The state of the work on a sentence."""

    UNCODED = "uncoded"
    DECIDED = "decided"
    STALE = "stale"
    MEMO = "memo"
    DISAGREED = "disagreed"


class Together(StrEnum):
    """Where all the requested codes must be applied; without it, one of them is enough."""

    SENTENCE = "sentence"
    TURN = "turn"


@dataclass(frozen=True)
class Search:
    """One search; empty values do not filter.

    ``coder`` is ``me``, ``all`` or a user name. ``answer`` is what a coding answers to a question of its code, as
    ``write_answer`` writes it.
    """

    words: str = ""
    codes: tuple[str, ...] = ()
    together: str = ""
    family: str = ""
    level: str = ""
    enactment: str = ""
    grounding: str = ""
    prompted: str = ""
    coder: str = OWN
    role: str = ""
    model: str | None = None
    interview: int | None = None
    turn: int | None = None
    state: str = ""
    answer: str = ""

    @property
    def asks_for_codings(self) -> bool:
        """Whether a sentence must have a coding. A family alone only limits the state."""
        asked = bool(self.codes or self.level or self.enactment or self.grounding or self.prompted or self.answer)
        return asked or (bool(self.family) and self.state not in {State.STALE, State.DISAGREED})

    def as_query(self) -> str:
        """The search as a query string."""
        asked: list[tuple[str, object]] = [("code", code) for code in self.codes]
        names = (
            "words",
            "together",
            "family",
            "level",
            "enactment",
            "grounding",
            "prompted",
            "answer",
            "role",
            "state",
        )
        asked += [(name, getattr(self, name)) for name in names]
        asked += [("interview", self.interview), ("turn", self.turn)]
        asked.append(("coder", "" if self.coder == OWN else self.coder))
        query = [(name, value) for name, value in asked if value not in {"", None}]
        # The unknown model can be requested too.
        return urlencode(query + ([("model", self.model or UNNAMED)] if self.model is not None else []))


def write_answer(code: str, key: str, answer: str | None) -> str:
    """A question of a code and an answer to it, as in "theme.compassion:direction=about self".

    Any answer is ``None``, as in "theme.compassion:direction"; no answer is "", as in "theme.compassion:direction=".
    """
    return f"{code}:{key}" if answer is None else f"{code}:{key}={answer}"


def split_answer(written: str) -> tuple[str, str, str | None]:
    """The code, the key and the answer that ``write_answer`` wrote."""
    question, given, answer = written.partition("=")
    code, _, key = question.rpartition(":")
    return code, key, answer if given else None
