"""Edits of a draft as plain values; names and identifiers of codes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TypeVar

from transcripts.codebook.pure.checking import TURNS_OF, UNITS, clean_names, fold, order_as_tree
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent

Thing = TypeVar("Thing", CodeContent, FamilyContent)
MAX_STEM_LENGTH = 94  # leaves room for a number within the hundred characters of an identifier
ALIKE = 0.85
MAX_ALIKE = 5
MAX_COMPARED_LENGTH = 200
# Words that say nothing about the purpose of a code.
SMALL_WORDS = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to"}
)


class EditRefused(Exception):
    """The refusal of an edit; ``field`` is the field of the form to which the sentence belongs.

    For edits that cannot be carried out at all. ``checking.find_problems`` checks whether a draft may be stored.
    """

    def __init__(self, sentence: str, *, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


def find_code(content: CodebookContent, identifier: str) -> CodeContent:
    """The code with this identifier, which must be there."""
    return next(code for code in content.codes if code.identifier == identifier)


def find_family(content: CodebookContent, identifier: str) -> FamilyContent | None:
    """The family with this identifier, if it is there."""
    return next((family for family in content.families if family.identifier == identifier), None)


def add_family(content: CodebookContent, family: FamilyContent) -> CodebookContent:
    """Add the family after the others."""
    return replace(content, families=(*content.families, family))


def replace_family(content: CodebookContent, family: FamilyContent) -> CodebookContent:
    """Replace the family that has the same identifier."""
    families = (family if each.identifier == family.identifier else each for each in content.families)
    return replace(content, families=tuple(families))


def remove_family(content: CodebookContent, identifier: str) -> CodebookContent:
    """Remove the family, which must be empty."""
    inside = [code.name for code in content.codes if code.family == identifier]
    if inside:
        count = "1 code" if len(inside) == 1 else f"{len(inside)} codes"
        raise EditRefused(f"This family has {count}: {', '.join(inside[:3])} … Move or retire them first.")
    return replace(content, families=tuple(each for each in content.families if each.identifier != identifier))


def shift_family(content: CodebookContent, identifier: str, step: int) -> CodebookContent:
    """Move the family one place up (-1) or down (1)."""
    return _arrange(replace(content, families=_shift(content.families, content.families, identifier, step)))


def add_code(content: CodebookContent, code: CodeContent) -> CodebookContent:
    """Add the code after its siblings."""
    return _arrange(replace(content, codes=(*content.codes, code)))


def replace_code(content: CodebookContent, code: CodeContent) -> CodebookContent:
    """Replace the code that has the same identifier; its subcodes go with it into another family."""
    before = find_code(content, code.identifier)
    below = list_below(content, code.identifier)
    if before.family != code.family:
        check_units(content, [before.family, code.family], f"{code.name} cannot move there")
    if code.parent in {code.identifier, *below}:
        raise EditRefused(f"{code.name} cannot be under itself or under one of its own subcodes.", field="place")
    codes = [
        code
        if each.identifier == code.identifier
        else replace(each, family=code.family)
        if each.identifier in below
        else each
        for each in content.codes
    ]
    if (before.family, before.parent) != (code.family, code.parent):
        codes.append(codes.pop(next(place for place, each in enumerate(codes) if each is code)))
    return _arrange(replace(content, codes=tuple(codes)))


def shift_code(content: CodebookContent, identifier: str, step: int) -> CodebookContent:
    """Move the code one place up (-1) or down (1) among its siblings."""
    code = find_code(content, identifier)
    siblings = [each for each in content.codes if (each.family, each.parent) == (code.family, code.parent)]
    return _arrange(replace(content, codes=_shift(content.codes, siblings, identifier, step)))


def remove_codes(content: CodebookContent, identifiers: Iterable[str], *, heir: str | None = None) -> CodebookContent:
    """Remove these codes; their subcodes move below ``heir`` or, without one, take their place."""
    gone = set(identifiers)
    places = {code.identifier: code for code in content.codes}
    kept = [code for code in content.codes if code.identifier not in gone]

    def find_parent(code: CodeContent) -> str:
        parent = code.parent
        if parent in gone and heir is not None and heir not in {code.identifier, *list_below(content, code.identifier)}:
            return heir
        while parent in gone:
            parent = places[parent].parent
        return parent

    return _arrange(replace(content, codes=tuple(replace(code, parent=find_parent(code)) for code in kept)))


def merge_codes(content: CodebookContent, identifiers: Sequence[str], target: CodeContent) -> CodebookContent:
    """Replace all these codes by ``target``, one of them or a new one, which takes over their names, terms and keyword rules."""
    sources = [find_code(content, identifier) for identifier in identifiers if identifier != target.identifier]
    if not sources or len({*identifiers, target.identifier}) < 2:
        raise EditRefused(f"{target.name} cannot be merged into itself. Choose another code as well.")
    check_units(content, [*(code.family for code in sources), target.family], "These codes cannot be merged")
    is_new = all(code.identifier != target.identifier for code in content.codes)
    names = (*target.aliases, *(name for code in sources for name in (code.name, *code.aliases)))
    merged = replace(
        target,
        aliases=tuple(name for name in clean_names(names) if name != target.name),
        terms=clean_names((*target.terms, *(term for code in sources for term in code.terms))),
        keyword_rules=clean_names((*target.keyword_rules, *(line for code in sources for line in code.keyword_rules))),
    )
    gone = [code.identifier for code in sources]
    if is_new:
        content = add_code(content, replace(merged, parent=_climb(content, merged.parent, gone)))
    content = remove_codes(content, gone, heir=target.identifier)
    inside = find_code(content, target.identifier)
    content = replace_code(content, replace(merged, parent=inside.parent))
    below = list_below(content, target.identifier)
    codes = (replace(each, family=merged.family) if each.identifier in below else each for each in content.codes)
    return _arrange(replace(content, codes=tuple(codes)))


def _climb(content: CodebookContent, parent: str, gone: Sequence[str]) -> str:
    """The nearest ancestor that remains."""
    places = {code.identifier: code for code in content.codes}
    while parent in gone:
        parent = places[parent].parent
    return parent


def split_code(content: CodebookContent, identifier: str, parts: Sequence[CodeContent]) -> CodebookContent:
    """Replace a code by the new codes; its subcodes take its place."""
    code = find_code(content, identifier)
    if not parts:
        raise EditRefused("Name at least one new code.")
    place = next(number for number, each in enumerate(content.codes) if each is code)
    born = [replace(part, family=code.family, parent=code.parent) for part in parts]
    codes = (*content.codes[:place], *born, *content.codes[place:])
    return remove_codes(replace(content, codes=codes), [identifier])


def list_below(content: CodebookContent, identifier: str) -> set[str]:
    """The identifiers of all codes under a code, at any depth."""
    children: dict[str, list[str]] = {}
    for code in content.codes:
        children.setdefault(code.parent, []).append(code.identifier)
    found: set[str] = set()
    waiting = [*children.get(identifier, [])]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += children.get(each, [])
    return found


def check_units(content: CodebookContent, families: Sequence[str], what: str) -> None:
    """Refuse a change that would apply codings to other units, or to turns that the last of the families is not for."""
    found = [family for family in content.families if family.identifier in families]
    if len({family.unit for family in found}) > 1:
        units = dict.fromkeys(f"{family.name} is applied to {UNITS.get(family.unit, family.unit)}" for family in found)
        raise EditRefused(f"{what}: {', '.join(units)}.", field="place")
    target = find_family(content, families[-1])
    for family in found:
        if target is not None and target.applies_to not in {"any", family.applies_to}:
            sides = (f"{each.name} is for {TURNS_OF[each.applies_to]}" for each in (family, target))
            raise EditRefused(f"{what}: {', '.join(sides)}.", field="place")


def _shift(things: Sequence[Thing], siblings: Sequence[Thing], identifier: str, step: int) -> tuple[Thing, ...]:
    """Exchange one of the siblings with the next in that direction; at either end nothing changes."""
    place = next(number for number, each in enumerate(siblings) if each.identifier == identifier)
    if not 0 <= place + step < len(siblings):
        return tuple(things)
    here, there = siblings[place], siblings[place + step]
    changed = {here.identifier: there, there.identifier: here}
    return tuple(changed.get(each.identifier, each) for each in things)


def _arrange(content: CodebookContent) -> CodebookContent:
    return replace(content, codes=order_as_tree(content.codes, content.families))


def make_identifier(name: str, *, prefix: str, used: Iterable[str]) -> str:
    """An identifier for a new code or family: its name in lower case, with a number if that is taken."""
    taken = {fold(identifier) for identifier in used}
    stem = (prefix + (_spell(name) or "code"))[:MAX_STEM_LENGTH]
    found, number = stem, 1
    while fold(found) in taken:
        number += 1
        found = f"{stem}_{number}"
    return found


def _spell(name: str) -> str:
    letters = (character if character.isalnum() else " " for character in unicodedata.normalize("NFC", name).lower())
    return "_".join("".join(letters).split())


def find_prefix(family: str, codes: Iterable[CodeContent]) -> str:
    """The prefix of most identifiers of a family's codes, such as ``theme.``."""
    heads = Counter(
        head for head, dot, _ in (code.identifier.partition(".") for code in codes if code.family == family) if dot
    )
    return f"{heads.most_common(1)[0][0]}." if heads else f"{family[:60]}."


def find_similar(name: str, codes: Sequence[CodeContent]) -> list[CodeContent]:
    """The codes whose name or other name is close to this one, the closest first."""
    wanted = _list_words(name)
    likeness = {
        code.identifier: max(_compare(wanted, _list_words(known)) for known in (code.name, *code.aliases))
        for code in codes
    }
    close = [code for code in codes if likeness[code.identifier] >= ALIKE]
    return sorted(close, key=lambda code: -likeness[code.identifier])[:MAX_ALIKE]


def _list_words(name: str) -> tuple[str, ...]:
    words = _spell(name[:MAX_COMPARED_LENGTH]).split("_")
    return tuple(word for word in words if word not in SMALL_WORDS) or tuple(words)


def _compare(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """How well the words of the shorter name occur in the other, in any order: the value of its worst word."""
    shorter, longer = sorted((one, other), key=len)
    if not any(shorter) or not any(longer):
        return 0.0
    return min(max(_compare_words(word, known) for known in longer) for word in shorter)


def _compare_words(one: str, other: str) -> float:
    """1 for the same word, else the share of letters that they have in common."""
    if one == other:
        return 1.0
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= ALIKE else 0.0


def is_in_words(name: str, text: str) -> bool:
    """Whether a name occurs in a text, word for word."""
    wanted, words = _spell(name), _spell(text)
    return bool(wanted) and f"_{wanted}_" in f"_{words}_"
