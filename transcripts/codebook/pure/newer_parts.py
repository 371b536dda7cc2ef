"""What the built-in codebook has gained since a study took it over."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from transcripts.codebook.pure.checking import MAX_ATTRIBUTES, order_as_tree
from transcripts.formats.codebook_content import CodeAttribute, CodebookContent, FamilyContent

# A codebook with codes of these names is one of ours, or began as one.
OWN_CODES = "feature."
# Families that came after studies had begun. A study that never had another one chose so.
GAINED = frozenset({"challenges", "responses"})


@dataclass(frozen=True)
class NewerParts:
    """Families of the built-in codebook that a study's has not, and by the identifier of a code the questions it does not ask."""

    families: tuple[FamilyContent, ...]
    questions: dict[str, tuple[CodeAttribute, ...]]

    @property
    def question_labels(self) -> list[str]:
        """The new questions, each once."""
        return list(dict.fromkeys(question.label for asked in self.questions.values() for question in asked))

    def __bool__(self) -> bool:
        return bool(self.families or self.questions)


def find_newer_parts(content: CodebookContent, built_in: CodebookContent, *, had: Collection[str]) -> NewerParts:
    """What ``built_in`` has and ``content``, the codebook of a study, has not.

    ``had`` names what an earlier version of the study had, as ``name_question`` names questions and families by their identifiers:
    what it had, it gave up, and is not offered that. Nothing is offered to a codebook without codes of ours.
    """
    codes = {code.identifier: code for code in content.codes}
    if not any(identifier.startswith(OWN_CODES) for identifier in codes):
        return NewerParts((), {})
    known = {family.identifier for family in content.families} | set(had)
    born = GAINED - known
    # A family some of whose codes the study has elsewhere was taken apart there.
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
    """A question of a code, by one name."""
    return f"{code}?{key}"


def add_newer_parts(content: CodebookContent, built_in: CodebookContent, parts: NewerParts) -> CodebookContent:
    """The codebook with these families, their codes, and these questions after its own; all else is as it was.

    A new code whose key is taken has none.
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
