"""Taking out of a thread what would tell the condition under which it was held, before it is cut into sentences.

Models, vendors, places, dates, system prompts and the kinds of prompts are sealed, and names of models and vendors in the text
are covered: each by two blocks, so that its length gives none away, and by characters without a width in the place of the rest,
so that offsets stay. Knows nothing of Django.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from transcripts.formats.interviews.base import ReadInterview, ReadTurn
from transcripts.formats.unseen import BLOCK, FILLER

BLOCKS = 2
"""How many blocks each name is covered by: the shortest has two characters."""
# Of scripts that put no space between words, and of Korean, whose particles follow a name at once.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9f"
_LETTER = rf"[^\W_{_UNSPACED}]"
MASKED = "masked"
"""What the name and the format of a file say that brought masked threads."""
LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Of labels: none is easily taken for another."""
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
"""Characters of a thread's own model or vendor that is looked for in its text; a shorter one needs a digit."""


@dataclass(frozen=True)
class Sealed:
    """What was taken out of a thread: see ``models.MaskedFacts``, whose columns these are."""

    external_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    turns: dict[str, dict[str, Any]] = field(default_factory=dict)
    names_covered: int = 0


@dataclass(frozen=True)
class MaskedInterview(ReadInterview):
    """A thread as it comes in masked. What it hangs on is still named by the id in the file."""

    sealed: Sealed = field(default_factory=Sealed)


@dataclass(frozen=True)
class MaskedTurns:
    """Turns of a masked thread, what was ``sealed`` of them by position, and how many names were covered."""

    turns: tuple[ReadTurn, ...]
    sealed: dict[str, dict[str, Any]]
    names_covered: int


def mask_interview(read: ReadInterview, label: str) -> MaskedInterview:
    """The thread as it is stored under a label, with what was taken out of it."""
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

    A file calls a turn a challenge where the design wants one; who decides whether it is one is not to read that before.
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
        new = replace(turn, text=text, speaker="", prompt_kind="", details={}, call_id=new_ids.get(turn.call_id, ""))
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
    """The text with each name of a model or vendor covered, and how many there were. ``own`` are looked for besides ours."""
    if not text:
        return text, 0
    return _find_names(tuple(own)).subn(_cover, text)


def is_covered(text: str, original: str) -> bool:
    """Whether a text is the original with names covered, by whichever list of names and form of blocks that was."""
    pairs = zip(text, original, strict=False)
    return len(text) == len(original) and all(one == other or one in (BLOCK, FILLER) for one, other in pairs)


def _cover(found: re.Match[str]) -> str:
    return BLOCK * BLOCKS + FILLER * (len(found[0]) - BLOCKS)


@lru_cache(maxsize=64)
def _find_names(own: tuple[str, ...]) -> re.Pattern[str]:
    """What finds names with what goes on in one word or in numbers: GPT-4o, Claude 3.5 Sonnet, gemini-1.5-pro, Claudes."""
    known = json.loads(NAMES_FILE.read_text(encoding="utf-8"))
    ends = rf"(?!{_LETTER})"
    more = rf"(?:[-‐‑_.:/]+{_LETTER}+)*"
    goes_on = rf"(?:\d{_LETTER}*|{ends}){more}"
    number = rf"[vV]?\d(?:\.?{_LETTER})*"
    variant = rf"(?i:{_join(known['variants'])})"
    version = rf"(?:[ \u00a0](?:{number}|{variant}){ends}(?:-{_LETTER}+)*)*"
    # A genitive, as in German. In small letters it is another word: llamas, he googles.
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
