"""The keys of one person: her stored choices with the defaults of the desk and of the codebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transcripts.coding.keys import CONSOLE, GROUPS, Choices, Clash, CodeKey, cap_of, resolve_console, resolve_keys
from transcripts.coding.models import DeskSettings
from transcripts.coding.panel import PanelFamily


def list_code_keys(families: Iterable[PanelFamily]) -> list[CodeKey]:
    """The codes with the letters that the codebook gives them."""
    return [(code.identifier, code.name, code.key) for family in families for code in family.codes]


def read_keymap(user_id: int, codes: Iterable[CodeKey]) -> tuple[Choices, list[Clash]]:
    """The key of every act and code for a person, and the clashes: one query."""
    return resolve_keys(codes, _read_stored(user_id))


def read_console_keys(user_id: int) -> dict[str, str]:
    """The key of every act where interviews are held, for a person: one query."""
    return resolve_console(_read_stored(user_id))


def list_console_keys(user_id: int) -> dict[str, dict[str, str]]:
    """The same as a page shows them: by act, its key, what that prints, and what it does."""
    keys = read_console_keys(user_id)
    return {name: _make_line(name, keys[name], words=act.words, more="") for name, act in CONSOLE.items()}


def _read_stored(user_id: int) -> Choices:
    return DeskSettings.objects.filter(user=user_id).values_list("keys", flat=True).first() or {}


def build_card(keymap: Choices, clashes: Sequence[Clash], families: Sequence[PanelFamily]) -> dict[str, object]:
    """The key card, for its templates: every key in the order in which people learn them, codes with a key first.

    A line has its key (empty where it is switched off), what the key does, and more: what it does with Shift, or the
    definition of a code.
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
