"""The codebook every new study starts with, read from ``data/negotiation.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from transcripts.formats.codebook_content import (
    CodeAttribute,
    CodebookContent,
    CodeContent,
    CodeExample,
    FamilyContent,
)

DATA_FILE = Path(__file__).resolve().parents[1] / "data" / "negotiation.json"


@dataclass(frozen=True, kw_only=True)
class SeedCode:
    """One code. ``key`` and ``group`` are empty where it has none; ``source`` says where its name comes from."""

    id: str
    family: str
    group: str
    name: str
    aliases: tuple[str, ...]
    definition: str
    machine_definition: str
    include: str
    exclude: str
    key: str
    source: str
    terms: tuple[str, ...] = ()
    attributes: tuple[CodeAttribute, ...] = ()
    keyword_rules: tuple[str, ...] = ()
    examples: tuple[CodeExample, ...] = ()

    @property
    def content(self) -> CodeContent:
        """The code as a version holds it."""
        values = {name: value for name, value in vars(self).items() if name not in {"id", "examples"}}
        return CodeContent(identifier=self.id, **values)


@dataclass(frozen=True, kw_only=True)
class SeedFamily:
    """Codes with the same rules: what is coded (``sentence`` or ``turn``), whose turns, and what a coding says beside the
    code."""

    id: str
    name: str
    unit: str
    carries_level: bool
    carries_enactment: bool
    description: str
    codes: tuple[SeedCode, ...]
    once_per_answer: bool = False
    applies_to: str = "any"
    rules: str = ""
    color: str = ""

    @property
    def content(self) -> FamilyContent:
        """The family as a version holds it."""
        values = {name: value for name, value in vars(self).items() if name not in {"id", "codes"}}
        return FamilyContent(identifier=self.id, **values)


@dataclass(frozen=True, kw_only=True)
class SeedCodebook:
    """The seeded codebook; ``source`` is the publication its names are taken from."""

    name: str
    title: str
    description: str
    source: str
    families: tuple[SeedFamily, ...]

    @property
    def codes(self) -> tuple[SeedCode, ...]:
        """All codes, family by family."""
        return tuple(code for family in self.families for code in family.codes)

    @property
    def content(self) -> CodebookContent:
        """What the first version of a study holds."""
        families = tuple(family.content for family in self.families)
        examples = tuple(example for code in self.codes for example in code.examples)
        return CodebookContent(families=families, codes=tuple(code.content for code in self.codes), examples=examples)


@cache
def load_seed() -> SeedCodebook:
    """The codebook as it is shipped; families and codes in the order in which they are shown."""
    content: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    families = tuple(_build_family(family) for family in content.pop("families"))
    return SeedCodebook(**content, families=families)


def _build_family(content: dict[str, Any]) -> SeedFamily:
    codes = tuple(_build_code({**code, "family": content["id"]}) for code in content["codes"])
    return SeedFamily(**{**content, "codes": codes})


def _build_code(content: dict[str, Any]) -> SeedCode:
    attributes = tuple(
        CodeAttribute(**{**each, "choices": tuple(each.get("choices", ()))}) for each in content.pop("attributes", ())
    )
    names = {name: tuple(content.get(name, ())) for name in ("aliases", "terms", "keyword_rules")}
    examples = tuple(CodeExample(code=content["id"], **each) for each in content.pop("examples", ()))
    return SeedCode(**{**content, **names, "attributes": attributes, "examples": examples})
