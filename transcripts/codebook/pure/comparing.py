"""The differences between two codebook versions, word by word and code by code, and what became of each code."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from transcripts.formats.codebook_rules import CodeAttribute, CodebookContent, CodeContent, FamilyContent

MERGED, SPLIT, RETIRED = "merged", "split", "retired"
SAME, OUT, IN = "same", "out", "in"
# Texts that repeat the same words very often would keep a web request busy; they are shown as replaced.
MAX_PAIRS = 300_000
# Characters of scripts without spaces between words; each is compared separately.
UNSPACED = (("\u0e00", "\u0eff"), ("\u2e80", "\u31ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"))
JOINER = "\u200d"

Piece = tuple[str, str]
"""A stretch of text that both have (``same``), or only the first (``out``) or only the second (``in``): kind and text."""
# The meaning of a code for people; the other fields say how it is found, shown and asked about.
MEANING = ("definition", "include", "exclude")
TEXTS = {
    "definition": "Definition",
    "machine_definition": "Definition for machines",
    "include": "Include",
    "exclude": "Exclude",
}
FACTS = {
    "group": "Group",
    "color": "Colour",
    "source": "Source",
    "aliases": "Other names",
    "terms": "Terms",
    "attributes": "Questions",
    "keyword_rules": "Keyword rules",
    "is_category": "Category",
}
FAMILY_TEXTS = {"description": "Description", "rules": "Rules"}
FAMILY_FACTS = {
    "name": "Name",
    "unit": "Applied to",
    "carries_level": "Semantic or latent",
    "carries_enactment": "Enactment",
    "once_per_answer": "At most once per answer",
    "applies_to": "Whose turns",
    "color": "Colour",
}

# The rules of the family that belong to the meaning of its codes.
FROM_FAMILY = {"unit": "Applied to", "applies_to": "Whose turns"}

# The words for a change of a code, and the changed fields to which they refer.
KINDS: dict[str, set[str]] = {
    "renamed": {"name"},
    "redefined": {*TEXTS, *FROM_FAMILY},
    "moved": {"place"},
    "key changed": {"key"},
    "adjusted": set(FACTS),
}

TextChange = tuple[str, tuple[Piece, ...]]
"""The label of a text, and the pieces of its old and new words."""


class Step(NamedTuple):
    """A change of a code as a version records it; ``version`` is the number of the version that made it.

    The names are those of the two codes, for display.
    """

    version: int
    kind: str
    from_identifier: str
    to_identifier: str
    effect: str = ""
    reason: str = ""
    made_by: str = ""
    from_name: str = ""
    to_name: str = ""


@dataclass
class Origin:
    """A code from which another one came, with the step and its own history."""

    step: Step
    lineage: Lineage


@dataclass
class Lineage:
    """The history of one code. ``last_version`` is the newest version that has it.

    ``renamings``: the version that renamed the code, and the name before and after.
    """

    identifier: str
    name: str
    first_version: int
    last_version: int
    renamings: list[tuple[int, str, str]] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    endings: list[Step] = field(default_factory=list)

    @property
    def is_plain(self) -> bool:
        """Whether its history consists only of its beginning."""
        return not (self.renamings or self.origins or self.endings)


Names = Mapping[int, Mapping[str, str]]
"""The name of every code under its identifier, for each version by its number."""


def trace(identifier: str, names: Names, steps: Sequence[Step]) -> Lineage | None:
    """The history of a code over these versions; ``None`` when none of them has it."""
    return _trace(identifier, names, steps, frozenset())


def _trace(identifier: str, names: Names, steps: Sequence[Step], seen: frozenset[str]) -> Lineage | None:
    held = [(number, names[number][identifier]) for number in sorted(names) if identifier in names[number]]
    if not held:
        return None
    (first, _), (last, name) = held[0], held[-1]
    lineage = Lineage(identifier, name, first, last)
    for (_, before), (number, after) in pairwise(held):
        if before != after:
            lineage.renamings.append((number, before, after))
    for step in steps:
        if step.version not in names or step.kind not in {MERGED, SPLIT, RETIRED}:
            continue
        if step.to_identifier == identifier and step.from_identifier not in seen | {identifier}:
            earlier = {number: known for number, known in names.items() if number < step.version}
            origin = _trace(step.from_identifier, earlier, steps, seen | {identifier})
            if origin is not None:
                lineage.origins.append(Origin(step, origin))
        elif step.from_identifier == identifier and identifier not in names[step.version]:
            lineage.endings.append(step)
    return lineage


def follow(identifier: str, steps: Iterable[Step], identifiers: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """What became of a code through these steps, in order, and the identifiers that replaced it.

    ``identifiers`` are the codes of the later version. A code that is among them is ``kept``, whatever was merged into it or
    split off. A code that disappeared without a step is ``retired``, and so is a code whose successors are all retired.
    """
    present = frozenset(identifiers)
    if identifier in present:
        return "kept", (identifier,)
    places, kind = [identifier], RETIRED
    for step in steps:
        if step.kind in {MERGED, SPLIT} and step.from_identifier in places and step.from_identifier not in present:
            kind = step.kind if kind == RETIRED or step.kind == SPLIT else kind
            if step.to_identifier not in places:
                places.append(step.to_identifier)
    found = tuple(place for place in places if place in present)
    return (kind, found) if found else (RETIRED, ())


def follow_merges(identifier: str, into: Mapping[str, str]) -> str:
    """The present code for an identifier, following merges; the code itself if it was not merged.

    ``into``: the target of each merged code.
    """
    seen = {identifier}
    while (following := into.get(identifier)) and following not in seen:
        identifier = following
        seen.add(identifier)
    return identifier


def compare_words(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces in reading order: without the ``in`` pieces they are ``before``, without the ``out`` pieces ``after``."""
    old, new = list(split_words(before)), list(split_words(after))
    start = _count_common(old, new)
    end = _count_common(old[start:][::-1], new[start:][::-1])
    middle = _compare_middle(old[start : len(old) - end], new[start : len(new) - end])
    return tuple(_join([(SAME, "".join(old[:start])), *middle, (SAME, "".join(old[len(old) - end :]))]))


def split_words(text: str) -> Iterator[str]:
    """Words, runs of white space and single signs; marks stay with their letter."""
    token, kind = "", ""
    for character in text:
        found = _find_kind(character)
        if token and (found == "mark" or token.endswith(JOINER) or (found == kind != "sign")):
            token += character
            continue
        if token:
            yield token
        token, kind = character, found
    if token:
        yield token


def _find_kind(character: str) -> str:
    if character.isspace():
        return "space"
    if character == JOINER or unicodedata.category(character).startswith("M"):
        return "mark"
    if character.isalnum() and not any(first <= character <= last for first, last in UNSPACED):
        return "word"
    return "sign"


def _count_common(old: list[str], new: list[str]) -> int:
    shorter = min(len(old), len(new))
    return next((place for place in range(shorter) if old[place] != new[place]), shorter)


def _compare_middle(old: list[str], new: list[str]) -> Iterator[Piece]:
    counted = Counter(token for token in old if not token.isspace())
    pairs = sum(counted[token] for token in new)
    if pairs > MAX_PAIRS:
        yield from ((OUT, "".join(old)), (IN, "".join(new)))
        return
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield (SAME, "".join(old[old_start:old_end]))
        else:
            yield (OUT, "".join(old[old_start:old_end]))
            yield (IN, "".join(new[new_start:new_end]))


def _join(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces without empty ones, with neighbours of the same kind joined."""
    for kind, group in groupby((piece for piece in pieces if piece[1]), key=itemgetter(0)):
        yield kind, "".join(text for _, text in group)


FactChange = tuple[str, str, str]
"""The label of a short value, and its text before and after; empty for none."""
Examples = Mapping[str, Sequence[str]]
"""The pinned sentences of each code, in words, under its identifier."""


@dataclass
class Difference:
    """The changes of one code or family, by the name of the field."""

    identifier: str
    name: str
    kinds: list[str] = field(default_factory=list)
    texts: dict[str, TextChange] = field(default_factory=dict)
    facts: dict[str, FactChange] = field(default_factory=dict)

    @property
    def changed(self) -> set[str]:
        """The names of the changed fields."""
        return {*self.texts, *self.facts}

    @property
    def is_added(self) -> bool:
        return "added" in self.kinds

    @property
    def is_removed(self) -> bool:
        return "removed" in self.kinds


@dataclass
class CodeDifference(Difference):
    """The changes of one code. ``means_other``: the wording by which people code has changed."""

    before: CodeContent | None = None
    after: CodeContent | None = None
    means_other: bool = False
    origins: list[Step] = field(default_factory=list)
    successors: list[Step] = field(default_factory=list)
    examples_in: list[str] = field(default_factory=list)
    examples_out: list[str] = field(default_factory=list)


@dataclass
class Comparison:
    """All differences; codes in the order of the later version, removed ones last."""

    families: list[Difference]
    codes: list[CodeDifference]
    unchanged: int

    @property
    def is_empty(self) -> bool:
        return not (self.families or self.codes)


class _Side(NamedTuple):
    """One of the two versions, its families and codes under their identifiers."""

    families: Mapping[str, FamilyContent]
    codes: Mapping[str, CodeContent]

    def find_rule(self, code: CodeContent, name: str) -> str:
        """A value of the code's family; empty where there is no such family."""
        return str(getattr(self.families.get(code.family), name, ""))

    def show_place(self, code: CodeContent) -> str:
        family = self.families[code.family].name if code.family in self.families else code.family
        parent = self.codes[code.parent].name if code.parent in self.codes else code.parent
        return f"{family}, under {parent}" if parent else family


def compare(
    before: CodebookContent,
    after: CodebookContent,
    *,
    steps: Sequence[Step] = (),
    examples_before: Examples | None = None,
    examples_after: Examples | None = None,
) -> Comparison:
    """The changes from ``before`` to ``after``; ``steps`` say which codes were merged and split in between."""
    old, new = _index(before), _index(after)
    pinned_before, pinned_after = examples_before or {}, examples_after or {}
    shifted = _find_shifted(before.codes, after.codes)
    found: list[CodeDifference] = []
    for identifier in [*new.codes, *(identifier for identifier in old.codes if identifier not in new.codes)]:
        code = _compare_code(identifier, old, new)
        if identifier in shifted and "moved" not in code.kinds:
            code.kinds.append("moved")
        _add_examples(code, pinned_before.get(identifier, ()), pinned_after.get(identifier, ()))
        _add_lineage(code, steps)
        if code.kinds:
            found.append(code)
    families = [each for each in _compare_families(old.families, new.families) if each.kinds]
    unchanged = len(old.codes.keys() & new.codes.keys()) - sum(1 for code in found if code.before and code.after)
    return Comparison(families, found, unchanged)


def _index(content: CodebookContent) -> _Side:
    return _Side(
        {family.identifier: family for family in content.families}, {code.identifier: code for code in content.codes}
    )


def _compare_code(identifier: str, old: _Side, new: _Side) -> CodeDifference:
    before, after = old.codes.get(identifier), new.codes.get(identifier)
    difference = CodeDifference(identifier, (after or old.codes[identifier]).name, before=before, after=after)
    if before is None or after is None:
        difference.kinds.append("removed" if after is None else "added")
        difference.means_other = True
        return difference
    difference.texts = dict(_compare_texts(before, after, TEXTS))
    difference.facts = dict([*_compare_place(before, after, old, new), *_compare_facts(before, after, FACTS)])
    changed = difference.changed
    difference.means_other = bool(changed & {*MEANING, *FROM_FAMILY})
    difference.kinds = [kind for kind, told_by in KINDS.items() if changed & told_by]
    return difference


def _compare_place(before: CodeContent, after: CodeContent, old: _Side, new: _Side) -> Iterator[tuple[str, FactChange]]:
    """The name and the place of a code."""
    if before.name != after.name:
        yield "name", ("Name", before.name, after.name)
    if before.key != after.key:
        yield "key", ("Key", before.key, after.key)
    if (before.family, before.parent) != (after.family, after.parent):
        yield "place", ("Place", old.show_place(before), new.show_place(after))
    for name, label in FROM_FAMILY.items():
        was, now = old.find_rule(before, name), new.find_rule(after, name)
        if was != now:
            yield name, (label, was, now)


def _compare_texts(
    old: CodeContent | FamilyContent, new: CodeContent | FamilyContent, labels: Mapping[str, str]
) -> Iterator[tuple[str, TextChange]]:
    for name, label in labels.items():
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield name, (label, compare_words(before, after))


def _compare_facts(
    old: CodeContent | FamilyContent, new: CodeContent | FamilyContent, labels: Mapping[str, str]
) -> Iterator[tuple[str, FactChange]]:
    for name, label in labels.items():
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield name, (label, show_value(before), show_value(after))


def show_value(value: object) -> str:
    """A short value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, CodeAttribute):
        return f"{value.label} ({', '.join(value.choices)})" if value.choices else value.label
    if isinstance(value, tuple):
        return "; ".join(map(show_value, value))
    return str(value)


def _compare_families(old: Mapping[str, FamilyContent], new: Mapping[str, FamilyContent]) -> Iterator[Difference]:
    for identifier in [*new, *(identifier for identifier in old if identifier not in new)]:
        was, now = old.get(identifier), new.get(identifier)
        difference = Difference(identifier, (now or old[identifier]).name)
        if was is None or now is None:
            difference.kinds = ["removed" if now is None else "added"]
        else:
            difference.texts = dict(_compare_texts(was, now, FAMILY_TEXTS))
            difference.facts = dict(_compare_facts(was, now, FAMILY_FACTS))
            difference.kinds = ["changed"] if difference.texts or difference.facts else []
        yield difference


def _find_shifted(before: Sequence[CodeContent], after: Sequence[CodeContent]) -> set[str]:
    """The smallest set of codes whose moves among their siblings explain the new order."""
    places: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for side, codes in enumerate((before, after)):
        for code in codes:
            places.setdefault((code.family, code.parent), ([], []))[side].append(code.identifier)
    shifted: set[str] = set()
    for old, new in places.values():
        common = set(old) & set(new)
        were = [identifier for identifier in old if identifier in common]
        are = [identifier for identifier in new if identifier in common]
        blocks = SequenceMatcher(None, were, are, autojunk=False).get_matching_blocks()
        stayed = {identifier for start, _, size in blocks for identifier in were[start : start + size]}
        shifted |= common - stayed
    return shifted


def _add_examples(code: CodeDifference, before: Iterable[str], after: Iterable[str]) -> None:
    was, now = list(before), list(after)
    code.examples_in = [example for example in now if example not in was]
    code.examples_out = [example for example in was if example not in now]
    if (code.examples_in or code.examples_out) and code.before and code.after:
        code.kinds.append("examples changed")


def _add_lineage(code: CodeDifference, steps: Iterable[Step]) -> None:
    for step in steps:
        if step.kind not in {MERGED, SPLIT} or step.from_identifier == step.to_identifier:
            continue
        if step.to_identifier == code.identifier and code.after:
            code.origins.append(step)
        elif step.from_identifier == code.identifier and code.after is None:
            code.successors.append(step)
    if code.origins and code.before and code.after and "merged into" not in code.kinds:
        code.kinds.append("merged into")


CODE_FIELDS = tuple(each.name for each in fields(CodeContent))
