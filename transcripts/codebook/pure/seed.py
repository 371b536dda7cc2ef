"""The built-in codebook, read from ``data/negotiation.json``, and what it has gained since a study took it over."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from transcripts.codebook.pure.checking import MAX_ATTRIBUTES, order_as_tree
from transcripts.formats.codebook_rules import (
    CodeAttribute,
    CodebookContent,
    CodeContent,
    CodeExample,
    FamilyContent,
)

DATA_FILE = Path(__file__).resolve().parents[1] / "data" / "negotiation.json"
# A codebook that has codes with these names is ours or began as ours.
OWN_CODES = "feature."
# Families that were added after studies had begun. A study that never had one of the other families chose not to have it.
GAINED = frozenset({"challenges", "responses"})


@dataclass(frozen=True, kw_only=True)
class SeedCode:
    """One code. ``key`` and ``group`` are empty if it has none; ``source`` says where its name comes from."""

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
        """The code in the form of a version."""
        values = {name: value for name, value in vars(self).items() if name not in {"id", "examples"}}
        return CodeContent(identifier=self.id, **values)


@dataclass(frozen=True, kw_only=True)
class SeedFamily:
    """Codes with the same rules: the unit (``sentence`` or ``turn``), whose turns, and what a coding says besides the code."""

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
        """The family in the form of a version."""
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
        """The content of the first version of a study."""
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


@dataclass(frozen=True)
class NewerParts:
    """Families of the built-in codebook that a study lacks and, by the identifier of a code, the questions that it lacks."""

    families: tuple[FamilyContent, ...]
    questions: dict[str, tuple[CodeAttribute, ...]]

    @property
    def question_labels(self) -> list[str]:
        """The new questions, each once."""
        return list(dict.fromkeys(question.label for asked in self.questions.values() for question in asked))

    def __bool__(self) -> bool:
        return bool(self.families or self.questions)


def find_newer_parts(content: CodebookContent, built_in: CodebookContent, *, had: Collection[str]) -> NewerParts:
    """What ``built_in`` has and ``content``, the codebook of a study, lacks.

    ``had`` has what an earlier version of the study had (families by identifier, questions by ``name_question``): the study
    removed these, so they are not offered again. Nothing is offered to a codebook without codes of ours.
    """
    codes = {code.identifier: code for code in content.codes}
    if not any(identifier.startswith(OWN_CODES) for identifier in codes):
        return NewerParts((), {})
    known = {family.identifier for family in content.families} | set(had)
    born = GAINED - known
    # If the study has some codes of a family in other families, it took the family apart.
    born -= {code.family for code in built_in.codes if code.identifier in codes or code.identifier in had}
    questions: dict[str, tuple[CodeAttribute, ...]] = {}
    for code in built_in.codes:
        if code.identifier not in codes:
            continue
        asked = codes[code.identifier].attributes
        keys = {question.key for question in asked}
        new = [
            question
            for question in code.attributes
            if question.key not in keys and name_question(code.identifier, question.key) not in had
        ]
        if new and len(asked) + len(new) <= MAX_ATTRIBUTES:
            questions[code.identifier] = tuple(new)
    return NewerParts(tuple(family for family in built_in.families if family.identifier in born), questions)


def name_question(code: str, key: str) -> str:
    """One name for a question of a code."""
    return f"{code}?{key}"


def add_newer_parts(content: CodebookContent, built_in: CodebookContent, parts: NewerParts) -> CodebookContent:
    """The codebook with these families, their codes, and these questions added after its own; everything else is unchanged.

    A new code whose key is taken gets none.
    """
    taken = {code.key for code in content.codes}
    families = (*content.families, *parts.families)
    born = {family.identifier for family in parts.families}
    codes = [
        *(
            replace(code, attributes=(*code.attributes, *parts.questions.get(code.identifier, ())))
            for code in content.codes
        ),
        *(replace(code, key="" if code.key in taken else code.key) for code in built_in.codes if code.family in born),
    ]
    return CodebookContent(families=families, codes=order_as_tree(codes, families))
