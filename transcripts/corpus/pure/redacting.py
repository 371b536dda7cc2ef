"""Redaction entries: the words that are replaced in copies of texts, and where they are. Does not import Django.

An entry matches whole words, in upper or lower case, with composed or decomposed accents, with any white space between its
words and with hidden characters (zero width, soft hyphens, direction marks) anywhere in it. In scripts without spaces it
matches anywhere. Of entries that begin at the same place, the longest counts; replaced text is not searched again.

Masking: removing everything from a thread that would reveal the condition under which it was held, before it is divided into
sentences.

Models, vendors, places, dates, system prompts and the kinds of prompts are sealed, and names of models and vendors in the text
are covered: each by two blocks, so that its length reveals nothing, and by zero-width characters in place of the rest, so that
offsets stay the same.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

from transcripts.formats.interviews.base import ReadInterview, ReadTurn
from transcripts.formats.text_input import BLOCK, FILLER

MAX_TEXT_LENGTH = 200
MAX_REPLACEMENT_LENGTH = 60
MAX_ENTRIES = 200
ARROW = re.compile(r"\s*(?:->|=>|→)\s*")
# Invisible characters between two letters of a name.
HIDDEN = "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
HIDDEN_SIGN = re.compile(HIDDEN)
# Scripts that put no spaces between words: Thai and Lao, Myanmar, Khmer, kana, Han.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# A character that continues a word: no word begins or ends next to it.
IN_WORD = rf"[^\W{UNSPACED}]"
STARTS_WORD = re.compile(IN_WORD)
UNWANTED = re.compile(r"[\x00-\x1f\x7f<>{}`|\\]")


class BadEntry(ValueError):
    """An invalid list of entries; the message says which one, why, and what to write."""


class Entry(NamedTuple):
    """What is searched for, and what replaces it in the copy."""

    text: str
    replacement: str


Place = tuple[int, int, int]
"""Start and end of a replaced stretch, and the number of the entry (counted from 0)."""


def read_lines(typed: str) -> list[Entry]:
    """Read entries as a person types them, ``text -> replacement``, one per line. Raises ``BadEntry``, which names the line."""
    entries: list[Entry] = []
    for number, line in enumerate(typed.splitlines(), 1):
        if not line.strip():
            continue
        parts = ARROW.split(line.strip())
        if len(parts) != 2:
            raise BadEntry(f"Line {number} is not an entry. Write the text, an arrow (->) and the replacement.")
        entries.append(Entry(*parts))
    return entries


def write_lines(entries: Sequence[Entry]) -> str:
    """The entries as text, one per line."""
    return "\n".join(f"{entry.text} -> {entry.replacement}" for entry in entries)


def read_stored(stored: Sequence[Mapping[str, str]]) -> list[Entry]:
    """Read the entries of a stored list."""
    return [Entry(each["text"], each["replacement"]) for each in stored]


def check_entries(entries: Sequence[Entry]) -> None:
    """Raise ``BadEntry`` for the first invalid entry, counted from 1."""
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
    """Refuse a replacement that contains text which the list is to remove."""
    for number, entry in enumerate(entries, 1):
        for _, _, found in find_places(entry.replacement, entries):
            raise BadEntry(
                f"The replacement of entry {number} contains the text of entry {found + 1}, so that text would remain in the copy. "
                "Choose another replacement."
            )


def _check_overlaps(numbers: Mapping[tuple[str, ...], int]) -> None:
    """Refuse two entries if one ends as the other begins, unless the combined text is an entry too."""
    beginnings: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for words in numbers:
        for length in range(1, len(words)):
            beginnings.setdefault(words[:length], []).append(words)
    for words, number in numbers.items():
        for length in range(1, len(words)):
            for other in beginnings.get(words[-length:], ()):
                if (*words, *other[length:]) not in numbers:
                    raise BadEntry(
                        f"Entries {number} and {numbers[other]} can overlap in a text, because one ends as the other begins. Part "
                        "of the second would then remain. Add an entry for the whole text, or one for each word."
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

    Entries that begin a word come first, so that at most places of a text checking the previous character is enough.
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
    """A pattern for a character, composed or decomposed."""
    apart = normalize("NFD", character)
    return re.escape(character) if apart == character else f"(?:{re.escape(character)}|{re.escape(apart)})"


def _fold(text: str) -> tuple[str, ...]:
    """The words of an entry in the form in which entries are compared."""
    return tuple(normalize("NFC", word.casefold()) for word in _read_words(text))


BLOCKS = 2
"""The number of blocks that cover a name; the shortest name has two characters."""
# Letters of scripts without spaces between words, and of Korean, whose particles follow a name directly.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9f"
_LETTER = rf"[^\W_{_UNSPACED}]"
MASKED = "masked"
"""The name and the format that are shown for a file with masked threads."""
LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""The characters of labels; none is easily mistaken for another."""
# Columns of an interview that are emptied; its title and its id become its label.
EMPTIED_TEXTS = (
    "model_label",
    "vendor",
    "surface",
    "period",
    "interviewer",
    "tier",
    "inclusion_reason",
    "opening_prompt",
)
EMPTIED_OBJECTS = ("metadata", "run")
EMPTIED = (*EMPTIED_TEXTS, *EMPTIED_OBJECTS)
NAMES_FILE = Path(__file__).parent.parent / "data" / "model_names.json"
MIN_OWN_NAME = 3
"""The least length of the name of a thread's own model or vendor to be searched in its text; a shorter one needs a digit."""


@dataclass(frozen=True)
class Sealed:
    """The facts removed from a thread, by the columns of ``models.MaskedFacts``."""

    external_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    turns: dict[str, dict[str, Any]] = field(default_factory=dict)
    names_covered: int = 0


@dataclass(frozen=True)
class MaskedInterview(ReadInterview):
    """A thread in masked form. The thread from which it continues is still named by its id in the file."""

    sealed: Sealed = field(default_factory=Sealed)


@dataclass(frozen=True)
class MaskedTurns:
    """Turns of a masked thread, what was ``sealed`` of them by position, and how many names were covered."""

    turns: tuple[ReadTurn, ...]
    sealed: dict[str, dict[str, Any]]
    names_covered: int


def mask_interview(read: ReadInterview, label: str) -> MaskedInterview:
    """The thread in the form that is stored under a label, with the facts removed from it."""
    masked = mask_turns(read.turns, names=list_own_names(read))
    basis, covered = cover_names(read.consent_basis, list_own_names(read))
    facts: dict[str, Any] = {"title": read.title, "external_id": read.external_id}
    facts |= {name: getattr(read, name) for name in EMPTIED if getattr(read, name)}
    if covered:
        facts["consent_basis"] = read.consent_basis
    kept = {name: getattr(read, name) for name in ReadInterview.__dataclass_fields__}
    return MaskedInterview(
        **{
            **kept,
            **dict.fromkeys(EMPTIED_TEXTS, ""),
            **{name: {} for name in EMPTIED_OBJECTS},
            "external_id": label,
            "title": label,
            "turns": masked.turns,
            "consent_basis": basis,
        },
        sealed=Sealed(read.external_id, facts, masked.sealed, masked.names_covered),
    )


def mask_turns(
    turns: Sequence[ReadTurn], *, names: Iterable[str], after: int = 0, calls: dict[str, str] | None = None
) -> MaskedTurns:
    """Turns without speakers, details, ids of calls that tell their maker, system prompts, kinds of prompts and names of models.

    A file calls a turn a challenge if the design intends one; the coders who decide whether it is one must not know this.
    ``names`` are the thread's own, ``after`` the number of its turns before these, and ``calls`` the new ids of calls there, by
    the old ones.
    """
    own = tuple(sorted(set(names)))
    new_ids = {} if calls is None else dict(calls)
    masked, sealed, total = [], {}, 0
    for position, turn in enumerate(turns, after + 1):
        if turn.call_id and turn.call_id not in new_ids:
            new_ids[turn.call_id] = f"call-{len(new_ids) + 1}"
        text, covered = ("", 0) if turn.role == "system" else cover_names(turn.text, own)
        new = dataclasses.replace(
            turn, text=text, speaker="", prompt_kind="", details={}, call_id=new_ids.get(turn.call_id, "")
        )
        taken = {
            name: getattr(turn, name)
            for name in ("text", "speaker", "prompt_kind", "details", "call_id")
            if getattr(turn, name) != getattr(new, name)
        }
        if taken:
            sealed[str(position)] = taken
        masked.append(new)
        total += covered
    return MaskedTurns(tuple(masked), sealed, total)


def list_own_names(read: ReadInterview) -> list[str]:
    """The names by which a file calls the model of a thread and its vendor."""
    told = {read.model_label, read.vendor, *(str(turn.details.get("model") or "") for turn in read.turns)}
    parts = {part.strip() for name in told for part in (name, *re.split(r"[/:]", name))}
    return sorted(part for part in parts if len(part) >= MIN_OWN_NAME or re.search(r"\w\d", part))


def cover_names(text: str, own: Iterable[str] = ()) -> tuple[str, int]:
    """The text with each name of a model or vendor covered, and the number of names. ``own`` names are searched in addition."""
    if not text:
        return text, 0
    return _find_names(tuple(own)).subn(_cover, text)


def is_covered(text: str, original: str) -> bool:
    """Whether a text is the original with names covered, with any list of names and any form of blocks."""
    pairs = zip(text, original, strict=False)
    return len(text) == len(original) and all(one == other or one in (BLOCK, FILLER) for one, other in pairs)


def _cover(found: re.Match[str]) -> str:
    return BLOCK * BLOCKS + FILLER * (len(found[0]) - BLOCKS)


@lru_cache(maxsize=64)
def _find_names(own: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for names with their continuations in one word or in numbers: GPT-4o, Claude 3.5 Sonnet, gemini-1.5-pro,
    Claudes."""
    known = json.loads(NAMES_FILE.read_text(encoding="utf-8"))
    ends = rf"(?!{_LETTER})"
    more = rf"(?:[-‐‑_.:/]+{_LETTER}+)*"
    goes_on = rf"(?:\d{_LETTER}*|{ends}){more}"
    number = rf"[vV]?\d(?:\.?{_LETTER})*"
    variant = rf"(?i:{_join(known['variants'])})"
    version = rf"(?:[ \u00a0](?:{number}|{variant}){ends}(?:-{_LETTER}+)*)*"
    # A genitive, as in German. In lower case it is another word: llamas, he googles.
    has_genitive = [name for name in known["names"] if name not in known["without_genitive"]]
    parts = [
        rf"(?=[A-Z])(?i:{_join(has_genitive)})s{ends}",
        rf"(?i:{_join(known['names'])}){goes_on}{version}",
        rf"(?:{_join(known['exact_names'])})(?:-{_LETTER}+)*s?{ends}{version}",
    ]
    if own:
        parts.insert(0, rf"(?i:{_join(own)})s?{ends}")
    return re.compile(rf"(?<!{_LETTER})(?:{'|'.join(parts)})")


def _join(names: Iterable[str]) -> str:
    """The names as alternatives, the longest first; a space in one stands for any white space in a line."""
    ordered = sorted(names, key=len, reverse=True)
    return "|".join(re.escape(name).replace(r"\ ", r"[ \u00a0]") for name in ordered)
