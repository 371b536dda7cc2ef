"""Whether the interviewer had raised a thing before the model came to it.

A coding on the model's words is prompted when an earlier turn of the interviewer mentions the code (its name, another
name, or one of its terms), or when the same coder applied the same code to an earlier sentence of the interviewer. It is a
proposal made from the words alone; a coder may say otherwise.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

PROMPTED = "prompted"
UNPROMPTED = "unprompted"
# Written without spaces between words: Thai, Lao, Khmer, Myanmar, and the ideographs and syllables of East Asia.
SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
MIN_PLURAL_LENGTH = 3


class Prompts:
    """When the interviewer raised each code, in one interview.

    ``questions`` are the interviewer's turns: position and text. ``words`` lists, for each code, all words that count as
    naming it. ``codings`` are people's codings of the interviewer's sentences: coder, code, and position of the turn.
    """

    def __init__(
        self,
        questions: Iterable[tuple[int, str]],
        words: Mapping[str, Sequence[str]],
        codings: Iterable[tuple[str, str, int]] = (),
    ) -> None:
        questions = sorted(questions)
        folded = [text.casefold() for _, text in questions]
        # One text to search: a null, which no transcript holds, keeps turns apart.
        self._text = "\0".join(folded)
        self._ends = list(accumulate(len(text) + 1 for text in folded))
        self._positions = [position for position, _ in questions]
        self._words = words
        self._mentioned: dict[str, int | None] = {}
        self._coded: dict[tuple[str, str], int] = {}
        for coder, code, position in codings:
            key = (coder, code)
            self._coded[key] = min(position, self._coded.get(key, position))

    def find_mention(self, code: str) -> int | None:
        """The position of the first turn of the interviewer that names ``code``, if any does."""
        if code not in self._mentioned:
            hit = _find_words(self._text, tuple(self._words.get(code, ())))
            self._mentioned[code] = None if hit is None else self._positions[bisect_right(self._ends, hit)]
        return self._mentioned[code]

    def derive(self, *, coder: str, code: str, position: int) -> str:
        """Prompted or unprompted, for a coding on what the model says in the turn at ``position``."""
        raised = [self.find_mention(code), self._coded.get((coder, code))]
        return PROMPTED if any(each is not None and each < position for each in raised) else UNPROMPTED


@lru_cache(maxsize=4_000)
def _find_words(text: str, words: tuple[str, ...]) -> int | None:
    """The place of the first of ``words``; kept in memory, because a coder opens few interviews, each many times."""
    pattern = compile_words(words)
    hit = pattern.search(text) if pattern else None
    return hit.start() if hit else None


@lru_cache(maxsize=2_000)
def compile_words(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern that finds any of ``words`` in casefolded text; ``None`` when there is nothing to find."""
    parts = {_write_pattern(folded) for word in words if (folded := " ".join(word.casefold().split()))}
    return re.compile("|".join(sorted(parts, key=lambda part: (-len(part), part)))) if parts else None


def _write_pattern(word: str) -> str:
    """Whole words, the last also in a simple plural; scripts without spaces anywhere in the text."""
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
