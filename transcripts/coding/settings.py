"""The keys of one person as they are stored, put together with those of the desk and of the codebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from transcripts.coding.keys import GROUPS, Clash, CodeKey, Keymap, cap_of, resolve_keys
from transcripts.coding.models import DeskSettings
from transcripts.coding.panel import PanelFamily


class CardKey(NamedTuple):
    """A line of the key card: a key and what it does. ``more``: what it does with Shift; of a code, its definition.

    What is switched off has no ``key``.
    """

    name: str
    key: str
    cap: str
    words: str
    more: str = ""


class CardGroup(NamedTuple):
    """Lines of one kind; ``place`` says what the codes of a family are put on, where that is not the sentence."""

    title: str
    lines: list[CardKey]
    place: str = ""


class Card(NamedTuple):
    """Everything a key does at the desk, for one person and one codebook version."""

    acts: list[CardGroup]
    codes: list[CardGroup]
    clashes: list[Clash]


def list_code_keys(families: Iterable[PanelFamily]) -> list[CodeKey]:
    """The codes with the letters that the codebook gives them."""
    return [CodeKey(code.identifier, code.name, code.key) for family in families for code in family.codes]


def read_keymap(user_id: int, codes: Iterable[CodeKey]) -> Keymap:
    """Where every act and code lies for a person: one query."""
    stored = DeskSettings.objects.filter(user=user_id).values_list("keys", flat=True).first()
    return resolve_keys(codes, stored or {})


def build_card(keymap: Keymap, families: Sequence[PanelFamily]) -> Card:
    """The keys in the order in which they are learned; of the codes those with a key first."""
    acts = [
        CardGroup(
            group.title,
            [
                CardKey(act.name, keymap.acts[act.name], cap_of(keymap.acts[act.name]), act.words, act.shifted)
                for act in group.acts
            ],
        )
        for group in GROUPS
    ]
    codes = [
        CardGroup(
            family.name,
            [
                CardKey(code.identifier, key, cap_of(key), code.name, code.definition)
                for code in sorted(family.codes, key=lambda code: not keymap.codes[code.identifier])
                for key in [keymap.codes[code.identifier]]
            ],
            family.place,
        )
        for family in families
    ]
    return Card(acts, codes, keymap.clashes)
