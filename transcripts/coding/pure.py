"""Whether the interviewer had raised a topic before the model did.

A coding on the model's words is prompted when an earlier turn of the interviewer mentions the code (its name, another
name, or one of its terms), or when the same coder applied the same code to an earlier sentence of the interviewer. A term
in square brackets, such as [challenge], names a kind of turn instead of words.

It is unprompted only if a search was possible and found nothing: there is an earlier turn of the interviewer, and the code has
terms. Everything else is unclear. This is a proposal from the words alone; a coder may say otherwise.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

PROMPTED = "prompted"
UNPROMPTED = "unprompted"
UNCLEAR = "unclear"
OPENING_PROMPT = "opening prompt"
# Scripts without spaces between words: Thai, Lao, Khmer, Myanmar, and the ideographs and syllables of East Asia.
SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
MIN_PLURAL_LENGTH = 3
ENDING = re.compile("(?:ies|y|s)$")
KIND_OF_TURN = re.compile(r"\[([^\[\]]+)\]")

Question = tuple[int, str, str]
"""A turn of the interviewer: position, text, and what kind of question the imported file calls it, if it does.

Where an interview begins with the model's words, the place of these is taken for the question that is not in the file: it
has no text. An opening prompt that the file gives apart from the turns is placed at the first of them.
"""


class Signs(NamedTuple):
    """The signs by which the mention of a code by the interviewer is recognised.

    If a code has no terms (``has_terms`` is false), it may have been raised in words that nobody anticipated.
    """

    words: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    has_terms: bool = False


def read_signs(names: Iterable[str], terms: Sequence[str]) -> Signs:
    """The signs of a code with these names and terms."""
    kinds = {term: match[1] for term in terms if (match := KIND_OF_TURN.fullmatch(term.strip()))}
    words = (*names, *(term for term in terms if term not in kinds))
    return Signs(words, frozenset(map(_fold_kind, kinds.values())), bool(terms))


class Prompts:
    """When the interviewer raised each code, in one interview.

    ``signs`` are those of each code. ``codings`` are people's codings of the interviewer's sentences: coder, code, and
    position of the turn.
    """

    def __init__(
        self,
        questions: Iterable[Question],
        signs: Mapping[str, Signs],
        codings: Iterable[tuple[str, str, int]] = (),
    ) -> None:
        questions = sorted(questions)
        folded = [text.casefold() for _, text, _ in questions]
        # One text to search: a null, which no transcript contains, separates the turns.
        self._text = "\0".join(folded)
        self._ends = list(accumulate(len(text) + 1 for text in folded))
        self._positions = [position for position, _, _ in questions]
        self._kinds = [_fold_kind(kind) for _, _, kind in questions]
        self._empty = [position for position, text, _ in questions if not text.strip()]
        self._signs = signs
        self._mentioned: dict[str, int | None] = {}
        self._coded: dict[tuple[str, str], int] = {}
        for coder, code, position in codings:
            key = (coder, code)
            self._coded[key] = min(position, self._coded.get(key, position))

    def find_mention(self, code: str) -> int | None:
        """The position of the interviewer's first turn that names ``code`` or is of a kind that the code names, if any."""
        if code not in self._mentioned:
            signs = self._signs.get(code, Signs())
            hit = _find_words(self._text, signs.words)
            found = [] if hit is None else [self._positions[bisect_right(self._ends, hit)]]
            if signs.kinds:
                kinds = zip(self._positions, self._kinds, strict=True)
                found += [position for position, kind in kinds if kind in signs.kinds][:1]
            self._mentioned[code] = min(found, default=None)
        return self._mentioned[code]

    def find_search(self, code: str) -> tuple[int | None, int | None]:
        """The first turn in which ``code`` could be searched, and the first that leaves open whether it was raised.

        A turn leaves it open if it has no text, or if the code names kinds of turns and the file does not give the kind.
        """
        signs = self._signs.get(code, Signs())
        if not signs.has_terms or not self._positions:
            return None, None
        left_open = self._empty[:1]
        if signs.kinds:
            left_open += [place for place, kind in zip(self._positions, self._kinds, strict=True) if not kind][:1]
        return self._positions[0], min(left_open, default=None)

    def derive(self, *, coder: str, code: str, position: int) -> str:
        """Prompted, unprompted or unclear, for a coding on what the model says in the turn at ``position``."""
        raised = [self.find_mention(code), self._coded.get((coder, code))]
        return decide(
            min((each for each in raised if each is not None), default=None), self.find_search(code), position
        )


def quote_mention(text: str, signs: Signs) -> str:
    """The first words of ``text`` that name the code with these signs, unchanged; empty if the code is not named."""
    characters = [character.casefold() for character in text]
    folded = "".join(characters)
    found = [match for word in _compile_words(signs.words) if (match := _find_match(folded, *word))]
    if not found:
        return ""
    first = min(found, key=lambda match: (match.start(), -match.end()))
    start, end = first.span()
    if len(folded) != len(text):
        # A letter may be folded to several.
        begins = list(accumulate(map(len, characters), initial=0))
        start, end = bisect_right(begins, start) - 1, bisect_left(begins, end)
    return " ".join(text[start:end].split())


def decide(raised: int | None, search: tuple[int | None, int | None], position: int) -> str:
    """The result at ``position`` for a code, from the first place that raised it, the first at which it could be searched, and the
    first that left it open."""
    if raised is not None and raised < position:
        return PROMPTED
    first, left_open = search
    is_known = first is not None and first < position and (left_open is None or left_open >= position)
    return UNPROMPTED if is_known else UNCLEAR


def _fold_kind(kind: str) -> str:
    return " ".join(kind.casefold().replace("_", " ").split())


@lru_cache(maxsize=4_000)
def _find_words(text: str, words: tuple[str, ...]) -> int | None:
    """The place of the first of ``words``; kept in memory, because a coder opens few interviews, each many times."""
    hits = [_find_word(text, stem, pattern) for stem, pattern in _compile_words(words) if stem in text]
    return min((hit for hit in hits if hit is not None), default=None)


def _find_word(text: str, stem: str, pattern: re.Pattern[str]) -> int | None:
    """The place of a word's first match."""
    match = _find_match(text, stem, pattern)
    return match.start() if match else None


def _find_match(text: str, stem: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """A word's first match. Searching its stem first is many times as fast as the pattern alone."""
    place = text.find(stem)
    while place >= 0:
        if match := pattern.match(text, place):
            return match
        place = text.find(stem, place + 1)
    return None


@lru_cache(maxsize=2_000)
def _compile_words(words: tuple[str, ...]) -> list[tuple[str, re.Pattern[str]]]:
    """The stem of each word, and a pattern that finds the word in casefolded text."""
    folded = sorted({" ".join(word.casefold().split()) for word in words} - {""})
    return [(_cut_stem(word), re.compile(_write_pattern(word))) for word in folded]


def _cut_stem(word: str) -> str:
    """The common beginning of all matches of a casefolded word, singular and plural."""
    return ENDING.sub("", word.split(maxsplit=1)[0])


def _write_pattern(word: str) -> str:
    """A pattern for whole words, the last also in a simple plural; in scripts without spaces it matches anywhere."""
    inner = r"\s+".join(re.escape(part) for part in word.split())
    if SPACELESS.search(word):
        return inner
    return rf"(?<!\w){_allow_plural(word, inner)}(?!\w)"


def _allow_plural(word: str, pattern: str) -> str:
    """The word and its simple plural, whichever of the two was given; English rules, harmless elsewhere."""
    if not (word[-1].isascii() and word[-1].isalpha()) or len(word) < MIN_PLURAL_LENGTH:
        return pattern
    if word.endswith("ies"):
        return rf"{pattern[:-3]}(?:ies|y)"
    if word.endswith("y") and word[-2] not in "aeiou":
        return rf"{pattern[:-1]}(?:y|ies)"
    if word.endswith("s") and not word.endswith("ss"):
        return rf"{pattern}?"
    return rf"{pattern}(?:s|es)?"
