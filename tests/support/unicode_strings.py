"""Strings of every script with a stretch in each, made up from a seed: the same everywhere, thousands in a second."""

from __future__ import annotations

import random
from typing import NamedTuple

# Each holds what has been counted differently by different programs. No halves of pairs and no NUL, which no text has.
KINDS: tuple[tuple[str, ...], ...] = (
    tuple("abcdefghij XYZ .,;:!?'\"()-"),
    tuple("äöüßéèñçœłžşığİ"),
    ("e\u0301", "o\u0308", "a\u030a", "n\u0303", "\u0301\u0308\u0323"),
    tuple("我会先问你呢日本語の文章です、。한국어"),
    tuple("𝒜𝓑𝔠𠀀𠮷𡃁𐍈𐎀𒀀"),
    ("😀", "🙂", "👍🏽", "👩‍👩‍👧", "🏳️‍🌈", "🇨🇭", "👋", "❤️", "1️⃣", "🧑🏿‍🚀"),
    tuple("שלוםעולםمرحبابالعالم"),
    ("\u200e", "\u200f", "\u202a", "\u202e", "\u202c", "\u2066", "\u2069"),
    ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\ufe0f", "\ufe0e"),
    tuple("नमस्तेสวัสดีகணினි"),
    ("\t", "\n", " ", "\u00a0", "\u2028", "\u2029", "\u3000", "\x0b", "\x85"),
    ("\U000e0001", "\U000e0041", "\U000e007f", "\U000f0000", "\U0010fffd", "\ufffd", "\ue000"),
    ("a" + "\u0301" * 30, "Z̸̢͓̀"),
)
BREAKS = ("\r\n", "\n", "\r\n\r\n")


class Marked(NamedTuple):
    """A text, and a stretch of it by its places in code points. ``quote`` is what stands there."""

    text: str
    start: int
    end: int
    quote: str


def make_strings(count: int, *, seed: int = 17, breaks: bool = False) -> list[Marked]:
    """So many texts, each with some stretch. With ``breaks``, line breaks of two characters occur as well."""
    chance = random.Random(seed)
    kinds = (*KINDS, BREAKS) if breaks else KINDS
    return [_make_string(chance, kinds) for _ in range(count)]


def _make_string(chance: random.Random, kinds: tuple[tuple[str, ...], ...]) -> Marked:
    mixed = chance.sample(kinds, k=chance.randint(1, 4))
    before, quote, after = (
        "".join(chance.choice(chance.choice(mixed)) for _ in range(chance.randint(least, 12))) for least in (0, 1, 0)
    )
    return Marked(before + quote + after, len(before), len(before) + len(quote), quote)
