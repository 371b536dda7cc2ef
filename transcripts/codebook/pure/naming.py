"""Names and identifiers of codes: how a new code gets its identifier, and which codes have a name like another."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from transcripts.codebook.pure.checking import fold
from transcripts.formats.codebook_content import CodeContent

MAX_STEM_LENGTH = 94  # leaves room for a number within the hundred characters of an identifier
ALIKE = 0.85
MAX_ALIKE = 5
MAX_COMPARED_LENGTH = 200
# Words that tell nothing about what a code is for.
SMALL_WORDS = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to"}
)


def make_identifier(name: str, *, prefix: str, used: Iterable[str]) -> str:
    """An identifier for a new code or family: its name in small letters, numbered where that is taken."""
    taken = {fold(identifier) for identifier in used}
    stem = (prefix + (_spell(name) or "code"))[:MAX_STEM_LENGTH]
    found, number = stem, 1
    while fold(found) in taken:
        number += 1
        found = f"{stem}_{number}"
    return found


def _spell(name: str) -> str:
    letters = (character if character.isalnum() else " " for character in unicodedata.normalize("NFC", name).lower())
    return "_".join("".join(letters).split())


def find_prefix(family: str, codes: Iterable[CodeContent]) -> str:
    """How the identifiers of a family's codes begin: as most of them do, such as ``theme.``."""
    heads = Counter(
        head for head, dot, _ in (code.identifier.partition(".") for code in codes if code.family == family) if dot
    )
    return f"{heads.most_common(1)[0][0]}." if heads else f"{family[:60]}."


def find_similar(name: str, codes: Sequence[CodeContent]) -> list[CodeContent]:
    """The codes whose name or other name is close to this one, the closest first."""
    wanted = _list_words(name)
    likeness = {
        code.identifier: max(_compare(wanted, _list_words(known)) for known in (code.name, *code.aliases))
        for code in codes
    }
    close = [code for code in codes if likeness[code.identifier] >= ALIKE]
    return sorted(close, key=lambda code: -likeness[code.identifier])[:MAX_ALIKE]


def _list_words(name: str) -> tuple[str, ...]:
    words = _spell(name[:MAX_COMPARED_LENGTH]).split("_")
    return tuple(word for word in words if word not in SMALL_WORDS) or tuple(words)


def _compare(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """How sure it is that the shorter name is within the other, in any order: by its least certain word."""
    shorter, longer = sorted((one, other), key=len)
    if not any(shorter) or not any(longer):
        return 0.0
    return min(max(_compare_words(word, known) for known in longer) for word in shorter)


def _compare_words(one: str, other: str) -> float:
    """1 for the same word, else how much of their letters they have in common."""
    if one == other:
        return 1.0
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= ALIKE else 0.0


def is_in_words(name: str, text: str) -> bool:
    """Whether a name is said in a text, word for word."""
    wanted, words = _spell(name), _spell(text)
    return bool(wanted) and f"_{wanted}_" in f"_{words}_"
