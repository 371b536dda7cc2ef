"""One person's keys at the desk and on the page where interviews are held.

A key is identified by its position, with the name that browsers use (KeyM is the key that prints "m" on a QWERTY keyboard), so
that it stays in place on every layout. Two keys are recognised by their character instead, wherever the layout has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.models import DeskSettings
from transcripts.desk.desk import PanelFamily

OFF = ""
_SIGN_KEYS = "Minus Equal BracketLeft BracketRight Semicolon Quote Comma Period Slash Backslash Backquote"
_PRINTED = {
    **{f"Key{letter.upper()}": letter for letter in "abcdefghijklmnopqrstuvwxyz"},
    **{f"Digit{digit}": digit for digit in "0123456789"},
    **dict(zip(_SIGN_KEYS.split(), "-=[];',./\\`", strict=True)),
}
# Keys that print nothing: they still work when single-letter keys are switched off.
_NAMED = {
    "Enter": "Enter",
    "ArrowDown": "↓",
    "ArrowUp": "↑",
    "PageDown": "PgDn",
    "PageUp": "PgUp",
    "Home": "Home",
    "End": "End",
}
_SIGNS = {"sign:/": "/", "sign:?": "?"}
POSITION_OF = {printed: position for position, printed in _PRINTED.items()}
CAPS = {**_PRINTED, **_NAMED, **_SIGNS}


class KeysRefused(Exception):
    """A sentence for the person who asked; ``fields`` are those at fault."""

    def __init__(self, message: str, *, fields: Iterable[str]) -> None:
        super().__init__(message)
        self.fields = frozenset(fields)


class Act(NamedTuple):
    """A key and what it does; ``shifted`` is what it does with Shift."""

    name: str
    key: str
    words: str
    shifted: str = ""


# Acts by kind, in the order of the key card.
GROUPS: tuple[tuple[str, tuple[Act, ...]], ...] = (
    (
        "Moving",
        (
            Act("down", "ArrowDown", "the next sentence", "add it to a selection of several sentences"),
            Act("up", "ArrowUp", "the previous sentence", "add it to the selection, or remove one"),
            Act("next_turn", "PageDown", "the next turn"),
            Act("previous_turn", "PageUp", "the previous turn"),
            Act("first", "Home", "the first sentence"),
            Act("last", "End", "the last sentence"),
            Act("previous_interview", "BracketLeft", "the previous interview"),
            Act("next_interview", "BracketRight", "the next interview"),
            Act("next_reason", "KeyP", "the next sentence of the study that needs you, and why"),
            Act("turns", "Comma", "the list of turns: arrows move through it, Enter goes to the turn"),
            Act("reasoning", "Minus", "open the model's reasoning here, which is recorded; fold and unfold it"),
            Act("filters", "KeyZ", "filters: uncoded, changed code, memo, one code"),
        ),
    ),
    (
        "Coding",
        (
            Act("decide", "Enter", "nothing more here, next sentence", "the same, but stay here"),
            Act("repeat", "Period", "apply the last code again"),
            Act("palette", "sign:/", "find a code by name or definition (also Ctrl K)"),
            Act(
                "quote",
                "KeyX",
                "mark words as the quote of the next code: arrows move, Shift extends, Enter keeps them",
            ),
            Act("details", "KeyV", "change the details of the last code here"),
            Act("meaning", "Backquote", "the meaning of the code that you last pressed or pointed at"),
            Act("propose", "KeyN", "propose a new code, named after the marked words"),
            Act("memo", "KeyM", "memo on the sentence", "memo on the interview"),
            Act("suggestions", "KeyO", "open the machine's suggestions, after your own decision"),
            Act("accept", "KeyK", "accept the first open suggestion"),
            Act("reject", "KeyL", "reject the first open suggestion"),
        ),
    ),
    (
        "Boundary edits",
        (
            Act("split", "KeyC", "split this sentence: arrows choose the place, Enter splits"),
            Act("merge", "KeyB", "merge this sentence with the one below"),
        ),
    ),
    (
        "Negotiation",
        (
            Act("links", "Semicolon", "what the last move here acts on: digits choose among the case features"),
            Act(
                "evidence",
                "Quote",
                "this sentence, or its marked words, is evidence: for the last feature or Revise, or the open score",
            ),
            Act("challenges", "Equal", "challenges on an interviewer’s turn, responses on a model’s"),
            Act("scores", "Backslash", "score this thread"),
        ),
    ),
    ("Help", (Act("help", "sign:?", "every key"),)),
)
ACTS = {act.name: act for _, acts in GROUPS for act in acts}
# The page where interviews are held. Codes have no keys there, so a key may do one thing there and another at the desk.
CONSOLE_TITLE = "Live interviews"
CONSOLE = {
    act.name: act
    for act in (
        Act("open", "Digit1", "the question is open"),
        Act("expand", "Digit2", "it asks to expand"),
        Act("reflect", "Digit3", "it asks to reflect"),
        Act("challenge", "Digit4", "it is a challenge; the first four of these keys then say what it is meant to be"),
        Act("new_information", "Digit5", "it gives new information"),
        Act("leading", "Digit6", "it is leading"),
        Act("bank", "sign:/", "the bank of questions"),
        Act("next_turn", "ArrowDown", "the next turn"),
        Act("previous_turn", "ArrowUp", "the previous turn"),
        Act("branch", "KeyB", "ask otherwise from the turn in focus, or the last one"),
        Act("again", "KeyA", "ask the last question again"),
        Act("text", "KeyT", "to the text of the question"),
    )
}

# The identifier and name of a code, and the letter that the codebook gives it.
CodeKey = tuple[str, str, str]
Choices = Mapping[str, Mapping[str, str]]
"""Keys of "acts", of "codes" and of the "console", each by its name; ``OFF`` for an act or code without a key."""
# A code or an act without a key because the key is taken: its name, the key as printed, and what the key does.
Clash = tuple[str, str, str]


def find_key(typed: str, *, default: str = OFF) -> str:
    """The key that somebody entered: pressed in the field (KeyM), or typed as it prints (m, Enter, ↓).

    Text that prints like ``default`` is that key. Any other text is returned unchanged, to be refused.
    """
    typed = typed.strip()
    if typed in CAPS or typed == OFF:
        return typed
    if default and typed.lower() == cap_of(default).lower():
        return default
    named = {cap.lower(): key for key, cap in _NAMED.items()}
    return POSITION_OF.get(typed.lower()) or named.get(typed.lower()) or typed


def cap_of(key: str) -> str:
    """What a QWERTY keyboard prints on a key."""
    return CAPS.get(key, "")


def resolve_keys(codes: Iterable[CodeKey], choices: Choices) -> tuple[Choices, list[Clash]]:
    """The keys of one person, and the clashes: her own choices, or else the defaults of the desk and of the codebook.

    Her choices take precedence over all defaults, including those of acts that were added after she chose. Otherwise keys of
    the desk take precedence over those of codes. A code or act that loses its key is listed as a clash.
    """
    chosen_acts, chosen_codes = choices.get("acts", {}), choices.get("codes", {})
    codes = list(codes)
    holders: dict[str, str] = {}
    own = {key: name for identifier, name, _ in codes if (key := chosen_codes.get(identifier, OFF))}
    acts: dict[str, str] = {}
    clashes = []
    for act in sorted(ACTS.values(), key=lambda act: act.name not in chosen_acts):
        key = chosen_acts.get(act.name, act.key)
        taken_by = holders.get(key) or (own.get(key) if act.name not in chosen_acts else None)
        if taken_by:
            clashes.append((act.words, cap_of(key), taken_by))
        acts[act.name] = OFF if taken_by or key not in CAPS else key
        if acts[act.name]:
            holders[key] = act.words
    of_codes: dict[str, str] = {}
    for identifier, name, letter in sorted(codes, key=lambda code: code[0] not in chosen_codes):
        key = chosen_codes.get(identifier, POSITION_OF.get(letter, OFF))
        if key in holders:
            clashes.append((name, cap_of(key), holders[key]))
            key = OFF
        elif key:
            holders[key] = name
        of_codes[identifier] = key
    in_order = {
        "acts": {name: acts[name] for name in ACTS},
        "codes": {identifier: of_codes[identifier] for identifier, *_ in codes},
    }
    return in_order, clashes


def resolve_console(choices: Choices) -> dict[str, str]:
    """The key of each act on the page where interviews are held: her own, or the default unless she gave it to another act."""
    chosen = choices.get("console", {})
    taken = {key for name, key in chosen.items() if name in CONSOLE}
    keys = {name: chosen.get(name, OFF if act.key in taken else act.key) for name, act in CONSOLE.items()}
    return {name: key if key in CAPS else OFF for name, key in keys.items()}


def read_choices(given: Mapping[str, str], codes: Iterable[CodeKey], before: Choices) -> dict[str, dict[str, str]]:
    """A person's choices as they are stored: only those that differ from the defaults.

    ``given`` has a key, or ``OFF``, under names such as "act:memo" and "code:theme.balance". Keys that are not given
    stay, as do choices for codes of other studies. Raises ``KeysRefused`` for an unknown key or one given twice.
    """
    codes = list(codes)
    now, _ = resolve_keys(codes, before)
    wanted = {f"act:{name}": key for name, key in now["acts"].items()}
    wanted |= {f"code:{identifier}": key for identifier, key in now["codes"].items()}
    wanted |= {name: key for name, key in given.items() if name in wanted}
    names = {f"act:{name}": act.words for name, act in ACTS.items()}
    _check_distinct(wanted, names | {f"code:{identifier}": name for identifier, name, _ in codes})
    acts = {name: wanted[f"act:{name}"] for name, act in ACTS.items() if wanted[f"act:{name}"] != act.key}
    known = {identifier for identifier, *_ in codes}
    others = {identifier: key for identifier, key in before.get("codes", {}).items() if identifier not in known}
    plain, _ = resolve_keys(codes, {"acts": acts})
    own = {name: key for name in known if (key := wanted[f"code:{name}"]) != plain["codes"][name]}
    console = _read_console(given, before)
    return {"acts": acts, "codes": {**others, **own}, **({"console": console} if console else {})}


def _read_console(given: Mapping[str, str], before: Choices) -> dict[str, str]:
    wanted = {f"console:{name}": key for name, key in resolve_console(before).items()}
    wanted |= {name: key for name, key in given.items() if name in wanted}
    _check_distinct(wanted, {f"console:{name}": act.words for name, act in CONSOLE.items()})
    return {name: wanted[f"console:{name}"] for name, act in CONSOLE.items() if wanted[f"console:{name}"] != act.key}


def _check_distinct(wanted: Mapping[str, str], names: Mapping[str, str]) -> None:
    holders: dict[str, str] = {}
    for field, key in wanted.items():
        if key == OFF:
            continue
        is_fit = key in (_PRINTED if field.startswith("code:") else CAPS)
        if not is_fit:
            raise KeysRefused(
                f"The key for “{names[field]}” is not valid. Give one letter, digit or punctuation mark, or leave the field empty.",
                fields=[field],
            )
        if key in holders:
            raise KeysRefused(
                f"{cap_of(key)} is used twice: for “{names[holders[key]]}” and for “{names[field]}”. Give one of them another "
                "key, or none.",
                fields=[holders[key], field],
            )
        holders[key] = field


def list_code_keys(families: Iterable[PanelFamily]) -> list[CodeKey]:
    """The codes with the letters that the codebook gives them."""
    return [(code.identifier, code.name, code.key) for family in families for code in family.codes]


def read_keymap(user_id: int, codes: Iterable[CodeKey]) -> tuple[Choices, list[Clash]]:
    """The key of every act and code for a person, and the clashes: one query."""
    return resolve_keys(codes, _read_stored(user_id))


def read_console_keys(user_id: int) -> dict[str, str]:
    """The key of every act on the page where interviews are held, for a person: one query."""
    return resolve_console(_read_stored(user_id))


def list_console_keys(user_id: int) -> dict[str, dict[str, str]]:
    """The same as a page shows them: by act, its key, what that prints, and what it does."""
    keys = read_console_keys(user_id)
    return {name: _make_line(name, keys[name], words=act.words, more="") for name, act in CONSOLE.items()}


def _read_stored(user_id: int) -> Choices:
    return DeskSettings.objects.filter(user=user_id).values_list("keys", flat=True).first() or {}


def build_card(keymap: Choices, clashes: Sequence[Clash], families: Sequence[PanelFamily]) -> dict[str, object]:
    """The key card for templates: every key in the order in which people learn them, codes with a key first.

    A line has the key (empty if it is switched off), what it does, and more: what Shift adds, or the definition of a code.
    """
    acts = [
        {
            "title": title,
            "lines": [
                _make_line(act.name, keymap["acts"][act.name], words=act.words, more=act.shifted) for act in group
            ],
        }
        for title, group in GROUPS
    ]
    codes = [
        {
            "title": family.name,
            "place": family.place,
            "lines": [
                _make_line(code.identifier, keymap["codes"][code.identifier], words=code.name, more=code.definition)
                for code in sorted(family.codes, key=lambda code: not keymap["codes"][code.identifier])
            ],
        }
        for family in families
    ]
    return {"acts": acts, "codes": codes, "clashes": clashes}


def _make_line(name: str, key: str, *, words: str, more: str) -> dict[str, str]:
    return {"name": name, "key": key, "cap": cap_of(key), "words": words, "more": more}


@transaction.atomic
def set_keys(*, given: Mapping[str, str], codes: Iterable[CodeKey], by: User) -> DeskSettings:
    """Give acts and codes other keys, or none; see ``keys.read_choices``. Raises ``KeysRefused``."""
    stored = DeskSettings.objects.select_for_update().filter(user=by).first()
    return _store_keys(read_choices(given, codes, stored.keys if stored else {}), by)


@transaction.atomic
def reset_keys(*, by: User) -> DeskSettings:
    """Reset the keys of every act and every code, of every study, to the defaults."""
    return _store_keys({}, by)


def _store_keys(choices: Choices, by: User) -> DeskSettings:
    before = DeskSettings.objects.filter(user=by).first()
    if before is not None and before.keys == choices:
        return before
    settings, _ = DeskSettings.objects.update_or_create(
        user=by, defaults={"keys": choices, "changed_at": timezone.now()}
    )
    keys = [key for chosen in choices.values() for key in chosen.values()]
    trail.record("coding.keys.set", target=settings, by=by, details={"chosen": len(keys), "off": keys.count(OFF)})
    return settings
