"""Redaction entries: which words are replaced in copies of texts, and where they are. Knows nothing of Django.

An entry is looked for as whole words, whatever the case, however its accents are composed, with any white space between
its words and with hidden characters (zero width, soft hyphens, direction marks) anywhere in it. In scripts without
spaces there are no whole words, so there it is found anywhere. Of entries that begin at one place the longest counts;
what was replaced is not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

MAX_TEXT_LENGTH = 200
MAX_REPLACEMENT_LENGTH = 60
MAX_ENTRIES = 200
ARROW = re.compile(r"\s*(?:->|=>|→)\s*")
# Between two letters of a name: characters that nobody sees.
HIDDEN = "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
HIDDEN_SIGN = re.compile(HIDDEN)
# Scripts that put no spaces between words: Thai and Lao, Myanmar, Khmer, kana, Han.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# A character that a word goes on with: next to it, a word is neither begun nor ended.
IN_WORD = rf"[^\W{UNSPACED}]"
STARTS_WORD = re.compile(IN_WORD)
UNWANTED = re.compile(r"[\x00-\x1f\x7f<>{}`|\\]")


class BadEntry(ValueError):
    """A list of entries that cannot work; the sentence says which one, why, and what to write."""


class Entry(NamedTuple):
    """What is searched for, and what replaces it in the copy."""

    text: str
    replacement: str


Place = tuple[int, int, int]
"""Start and end of what is replaced, and by which of the entries (counted from 0)."""


def read_lines(typed: str) -> list[Entry]:
    """Entries as a person types them, ``text -> replacement``, one a line. Raises ``BadEntry``, which names the line."""
    entries: list[Entry] = []
    for number, line in enumerate(typed.splitlines(), 1):
        if not line.strip():
            continue
        parts = ARROW.split(line.strip())
        if len(parts) != 2:
            raise BadEntry(f"Line {number} is not an entry. Write the text, ->, and its replacement.")
        entries.append(Entry(*parts))
    return entries


def write_lines(entries: Sequence[Entry]) -> str:
    """The same as text, an entry a line."""
    return "\n".join(f"{entry.text} -> {entry.replacement}" for entry in entries)


def read_stored(stored: Sequence[Mapping[str, str]]) -> list[Entry]:
    """Entries as a list of the study holds them."""
    return [Entry(each["text"], each["replacement"]) for each in stored]


def check_entries(entries: Sequence[Entry]) -> None:
    """Raise ``BadEntry`` for the first entry, counted from 1, that cannot do what it is there for."""
    if len(entries) > MAX_ENTRIES:
        raise BadEntry(f"A list has at most {MAX_ENTRIES} entries; this one has {len(entries)}.")
    first_of: dict[tuple[str, ...], int] = {}
    for number, entry in enumerate(entries, 1):
        _check_entry(number, entry)
        earlier = first_of.setdefault(_fold(entry.text), number)
        if earlier != number:
            raise BadEntry(f"Entries {earlier} and {number} have the same words (ignoring case). Keep one of them.")
    _check_replacements(entries)
    _check_overlaps(first_of)


def _check_entry(number: int, entry: Entry) -> None:
    if not any(map(str.isalnum, entry.text)):
        raise BadEntry(f"Entry {number} has no text to replace. It needs a letter or a digit before the arrow.")
    if len(entry.text) > MAX_TEXT_LENGTH:
        raise BadEntry(f"Entry {number} is longer than {MAX_TEXT_LENGTH} characters. Replace names, not passages.")
    if not any(map(str.isalnum, entry.replacement)):
        raise BadEntry(f"Entry {number} has no replacement. Write one, such as [PERSON 1].")
    if len(entry.replacement) > MAX_REPLACEMENT_LENGTH:
        raise BadEntry(f"The replacement of entry {number} is longer than {MAX_REPLACEMENT_LENGTH} characters.")
    if UNWANTED.search(entry.replacement) or HIDDEN_SIGN.search(entry.replacement) or UNWANTED.search(entry.text):
        raise BadEntry(
            f"Entry {number} has a character that is not allowed (< > {{ }} ` | \\ or an invisible one). Use "
            "letters, digits, spaces and square brackets."
        )


def _check_replacements(entries: Sequence[Entry]) -> None:
    """Refuse a replacement that would bring back what the list is to take out."""
    for number, entry in enumerate(entries, 1):
        for _, _, found in find_places(entry.replacement, entries):
            raise BadEntry(
                f"The replacement of entry {number} contains the text of entry {found + 1}, so that text would stay in "
                "the copy. Choose another replacement."
            )


def _check_overlaps(numbers: Mapping[tuple[str, ...], int]) -> None:
    """Refuse two entries of which one ends as the other begins, unless the whole is an entry too."""
    beginnings: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for words in numbers:
        for length in range(1, len(words)):
            beginnings.setdefault(words[:length], []).append(words)
    for words, number in numbers.items():
        for length in range(1, len(words)):
            for other in beginnings.get(words[-length:], ()):
                if (*words, *other[length:]) not in numbers:
                    raise BadEntry(
                        f"Entries {number} and {numbers[other]} can overlap in a text, because one ends as the other begins. "
                        "Part of the second would then stay. Add an entry for the whole, or one for each word alone."
                    )


def find_places(text: str, entries: Sequence[Entry]) -> list[Place]:
    """Every stretch of the text that is replaced, in order, none touching another."""
    return list(_find(text, entries)) if entries else []


def _find(text: str, entries: Sequence[Entry]) -> Iterator[Place]:
    pattern, order = _compile(tuple(entry.text for entry in entries), whole=True)
    for found in pattern.finditer(text):
        yield found.start(), found.end(), order[(found.lastindex or 1) - 1]


def count_inside(text: str, entries: Sequence[Entry]) -> dict[int, int]:
    """How often each entry is part of a longer word, where it is not replaced."""
    counted: dict[int, int] = {}
    if not entries:
        return counted
    replaced = {place[:2] for place in find_places(text, entries)}
    pattern, order = _compile(tuple(entry.text for entry in entries), whole=False)
    for found in pattern.finditer(text):
        inside = any(start <= found.start() and found.end() <= end for start, end in replaced)
        if not inside:
            entry = order[(found.lastindex or 1) - 1]
            counted[entry] = counted.get(entry, 0) + 1
    return counted


def replace(text: str, entries: Sequence[Entry]) -> str:
    """The copy with every place replaced."""
    pieces: list[str] = []
    at = 0
    for start, end, entry in find_places(text, entries):
        pieces += [text[at:start], entries[entry].replacement]
        at = end
    return "".join([*pieces, text[at:]])


@lru_cache(maxsize=64)
def _compile(texts: tuple[str, ...], *, whole: bool) -> tuple[re.Pattern[str], list[int]]:
    """One pattern with a group per entry, the longest first, and the entry of each group.

    Entries that begin a word come first: at most places of a text one look at the character before is then enough.
    """
    by_length = sorted(range(len(texts)), key=lambda entry: (-len(texts[entry]), entry))
    worded = [entry for entry in by_length if whole and STARTS_WORD.match(_read_words(texts[entry])[0])]
    others = [entry for entry in by_length if entry not in worded]
    parts = [_write_group([texts[entry] for entry in group], whole=whole) for group in (worded, others) if group]
    pattern = (f"(?<!{IN_WORD})" if worded else "") + "|".join(parts)
    return re.compile(pattern, re.IGNORECASE), [*worded, *others]


def _write_group(texts: Sequence[str], *, whole: bool) -> str:
    firsts = {each for text in texts for each in _read_words(text)[0][0]}
    firsts |= {normalize("NFD", each)[0] for each in firsts}
    any_first = "".join(map(re.escape, sorted(firsts)))
    return f"(?=[{any_first}])(?:{'|'.join(f'({_write_pattern(text, whole=whole)})' for text in texts)})"


def _write_pattern(text: str, *, whole: bool) -> str:
    words = _read_words(text)
    between = rf"(?:\s|{HIDDEN})+"
    written = between.join(f"{HIDDEN}*".join(map(_write_character, word)) for word in words)
    return written + (f"(?!{IN_WORD})" if whole and STARTS_WORD.match(words[-1][-1]) else "")


def _read_words(text: str) -> list[str]:
    return normalize("NFC", HIDDEN_SIGN.sub("", text)).split()


def _write_character(character: str) -> str:
    """A character as it may be written: composed or not."""
    apart = normalize("NFD", character)
    return re.escape(character) if apart == character else f"(?:{re.escape(character)}|{re.escape(apart)})"


def _fold(text: str) -> tuple[str, ...]:
    """The words of an entry as they are compared with those of another."""
    return tuple(normalize("NFC", word.casefold()) for word in _read_words(text))
