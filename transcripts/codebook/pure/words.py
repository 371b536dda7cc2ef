"""How one text became another, word by word."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

SAME, OUT, IN = "same", "out", "in"
# Texts that repeat the same words over and over would keep a web request busy; they are shown as replaced.
MAX_PAIRS = 300_000
# Characters of scripts that put no space between words: each is compared by itself.
UNSPACED = (("\u0e00", "\u0eff"), ("\u2e80", "\u31ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"))
JOINER = "\u200d"


Piece = tuple[str, str]
"""A stretch of text that both have (``same``), or only the first (``out``) or only the second (``in``): kind and text."""


def compare_words(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces in reading order: without ``in`` they are ``before``, without ``out`` they are ``after``."""
    old, new = list(split_words(before)), list(split_words(after))
    start = _count_common(old, new)
    end = _count_common(old[start:][::-1], new[start:][::-1])
    middle = _compare_middle(old[start : len(old) - end], new[start : len(new) - end])
    return tuple(_join([(SAME, "".join(old[:start])), *middle, (SAME, "".join(old[len(old) - end :]))]))


def split_words(text: str) -> Iterator[str]:
    """Words, runs of white space and single signs; marks stay with their letter."""
    token, kind = "", ""
    for character in text:
        found = _find_kind(character)
        if token and (found == "mark" or token.endswith(JOINER) or (found == kind != "sign")):
            token += character
            continue
        if token:
            yield token
        token, kind = character, found
    if token:
        yield token


def _find_kind(character: str) -> str:
    if character.isspace():
        return "space"
    if character == JOINER or unicodedata.category(character).startswith("M"):
        return "mark"
    if character.isalnum() and not any(first <= character <= last for first, last in UNSPACED):
        return "word"
    return "sign"


def _count_common(old: list[str], new: list[str]) -> int:
    shorter = min(len(old), len(new))
    return next((place for place in range(shorter) if old[place] != new[place]), shorter)


def _compare_middle(old: list[str], new: list[str]) -> Iterator[Piece]:
    counted = Counter(token for token in old if not token.isspace())
    pairs = sum(counted[token] for token in new)
    if pairs > MAX_PAIRS:
        yield from ((OUT, "".join(old)), (IN, "".join(new)))
        return
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield (SAME, "".join(old[old_start:old_end]))
        else:
            yield (OUT, "".join(old[old_start:old_end]))
            yield (IN, "".join(new[new_start:new_end]))


def _join(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Without empty pieces, and neighbours of the same kind as one."""
    for kind, group in groupby((piece for piece in pieces if piece[1]), key=itemgetter(0)):
        yield kind, "".join(text for _, text in group)
