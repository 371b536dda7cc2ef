"""How one text became another, word by word."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

SAME, OUT, IN = "same", "out", "in"
# Texts that repeat the same words over and over would keep a web request busy; they are shown as replaced.
MAX_PAIRS = 300_000
# Characters of scripts that put no space between words: each is compared by itself.
UNSPACED = (("\u0e00", "\u0eff"), ("\u2e80", "\u31ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"))
JOINER = "\u200d"


class Piece(NamedTuple):
    """A stretch of text that both have (``same``), or only the first (``out``) or only the second (``in``)."""

    kind: str
    text: str


def compare_words(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces in reading order: without ``in`` they are ``before``, without ``out`` they are ``after``."""
    old, new = list(split_words(before)), list(split_words(after))
    start = _count_common(old, new)
    end = _count_common(old[start:][::-1], new[start:][::-1])
    middle = _compare_middle(old[start : len(old) - end], new[start : len(new) - end])
    return tuple(_join([Piece(SAME, "".join(old[:start])), *middle, Piece(SAME, "".join(old[len(old) - end :]))]))


def split_words(text: str) -> Iterator[str]:
    """Words, runs of white space and single signs; marks stay with the letter they stand on."""
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
        yield from (Piece(OUT, "".join(old)), Piece(IN, "".join(new)))
        return
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield Piece(SAME, "".join(old[old_start:old_end]))
        else:
            yield Piece(OUT, "".join(old[old_start:old_end]))
            yield Piece(IN, "".join(new[new_start:new_end]))


def _join(pieces: list[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind as one piece, empty ones left out."""
    last: Piece | None = None
    for piece in pieces:
        if not piece.text:
            continue
        if last is not None and last.kind == piece.kind:
            last = Piece(last.kind, last.text + piece.text)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last
