"""The codes beside the text: families of buttons, each with its codings of the current sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.annotations import CodingView

FAMILY_FIELDS = [
    f"family__{name}"
    for name in ("identifier", "name", "unit", "applies_to", "color", "carries_level", "carries_enactment", "position")
]
CODE_FIELDS = [
    *("identifier", "name", "key", "color", "aliases", "definition", "include", "exclude", "terms", "attributes"),
    *("meaning_version", "family"),
    *FAMILY_FIELDS,
]

# As many codes as a panel shows without long scrolling. Families whose codes have no key unfold as far as they fit.
UNFOLDED_CODES = 24


@dataclass(slots=True)
class PanelCode:
    """A code as a button; ``chip`` is the viewer's own coding with it at the current sentence.

    ``raised_in`` is the first turn in which the interviewer names it, if any does; ``sought_from`` the first in which that
    was looked for, and ``open_from`` the first that leaves it open.
    """

    id: int
    identifier: str
    name: str
    key: str
    color: str
    aliases: list[str]
    definition: str
    include: str
    exclude: str
    terms: list[str]
    attributes: list[dict[str, Any]]
    meaning_version: int
    count: int = 0
    chip: CodingView | None = None
    raised_in: int | None = None
    sought_from: int | None = None
    open_from: int | None = None


@dataclass(slots=True)
class PanelFamily:
    """A family of codes as a part of the panel.

    ``applies_to``: whose turns its codes are about. ``is_open``: whether its codes are in sight before anybody unfolds them.
    """

    identifier: str
    name: str
    unit: str
    applies_to: str
    carries_level: bool
    carries_enactment: bool
    codes: list[PanelCode]
    is_open: bool = True

    @property
    def has_keys(self) -> bool:
        return any(code.key for code in self.codes)

    @property
    def place(self) -> str:
        """What its codes apply to, where that is not the sentence."""
        return "" if self.unit == CodeFamily.Unit.SENTENCE else self.unit

    @property
    def is_folded(self) -> bool:
        """Families of turns and interviews, and those whose codes have no key, can be folded and unfolded."""
        return bool(self.place) or not self.has_keys


def read_families(version: CodebookVersion | None) -> list[PanelFamily]:
    """The families of a published version with their codes, in order: at most one query."""
    if version is None:
        return []
    families = _read_frozen_families(version.pk, version.published_at)
    return [replace(family, codes=[copy(code) for code in family.codes]) for family in families]


@lru_cache(maxsize=16)
def _read_frozen_families(version_id: int, _published_at: datetime | None) -> list[PanelFamily]:
    """The same, kept in memory: a published version never changes, and every desk needs it (`python -m perf open`)."""
    codes = Code.objects.filter(version=version_id, is_category=False).select_related("family")
    codes = codes.order_by("family__position", "position")
    families = [
        PanelFamily(
            identifier=family.identifier,
            name=family.name,
            unit=family.unit,
            applies_to=family.applies_to,
            carries_level=family.carries_level,
            carries_enactment=family.carries_enactment,
            codes=[
                PanelCode(
                    id=code.pk,
                    identifier=code.identifier,
                    name=code.name,
                    key=code.key,
                    color=code.color or family.color,
                    aliases=code.aliases,
                    definition=code.definition,
                    include=code.include,
                    exclude=code.exclude,
                    terms=code.terms,
                    attributes=code.attributes,
                    meaning_version=code.meaning_version,
                )
                for code in group
            ],
        )
        for family, group in groupby(codes.only(*CODE_FIELDS), key=lambda code: code.family)
    ]
    _unfold(families)
    return families


def _unfold(families: Sequence[PanelFamily]) -> None:
    """Leave open what has keys, and of the rest what fits; the first family in any case, or there would be no code to choose."""
    shown = sum(len(family.codes) for family in families if family.has_keys)
    for family in families:
        if not family.has_keys:
            family.is_open = not shown or shown + len(family.codes) <= UNFOLDED_CODES
            shown += len(family.codes) if family.is_open else 0


def fill_families(families: list[PanelFamily], *, used: Counter[str], at_current: Mapping[str, CodingView]) -> None:
    """Fill in how often the viewer has applied each code in this interview, and whether to this sentence."""
    for family in families:
        for code in family.codes:
            code.count = used[code.identifier]
            code.chip = at_current.get(code.identifier)


def list_codes(families: list[PanelFamily]) -> list[dict[str, object]]:
    """The codes as the page's script needs them."""
    return [
        {
            "id": code.id,
            "identifier": code.identifier,
            "name": code.name,
            "key": code.key,
            "color": code.color,
            "aliases": code.aliases,
            "definition": code.definition,
            "include": code.include,
            "exclude": code.exclude,
            "family": family.identifier,
            "familyName": family.name,
            "unit": family.unit,
            "appliesTo": family.applies_to,
            "level": family.carries_level,
            "enactment": family.carries_enactment,
            "questions": code.attributes,
            "raisedIn": code.raised_in,
            "soughtFrom": code.sought_from,
            "openFrom": code.open_from,
            "meaning": code.meaning_version,
        }
        for family in families
        for code in family.codes
    ]
