"""Checks whether a codebook version, as plain values, can be stored and published; also the order of codes, and which are
features."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from transcripts.codebook.pure.keyword_rules import MAX_RULES, check_rule
from transcripts.formats.codebook_rules import (
    COLOR,
    RESERVED_KEYS,
    SIDES,
    SINGLE_KEYS,
    STABLE_NAME,
    UNSTORABLE,
    CodeAttribute,
    CodebookContent,
    CodeContent,
    FamilyContent,
)
from transcripts.ui.typed_text import MAX_TEXT

UNITS = {"sentence": "sentences", "turn": "turns", "interview": "interviews"}
TURNS_OF = {"any": "anybody's turns", "model": "the model's turns", "interviewer": "the interviewer's turns"}
MAX_NAME_LENGTH = 200
MAX_GROUP_LENGTH = 100
MAX_SOURCE_LENGTH = 300
MAX_LABEL_LENGTH = 200
MAX_NAMES = 50
MAX_ATTRIBUTES = 8
MAX_CHOICES = 12
MAX_DEPTH = 8

ATTRIBUTE_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")

LONG_TEXTS = {
    "definition": "definition",
    "machine_definition": "machine definition",
    "include": "what to include",
    "exclude": "what to exclude",
}
SHORT_TEXTS = {"name": MAX_NAME_LENGTH, "group": MAX_GROUP_LENGTH, "source": MAX_SOURCE_LENGTH}

# Signs with which the desk repeats, finds, goes to other interviews and shows its keys.
RESERVED = RESERVED_KEYS | frozenset("./[]?")
FEATURE_FAMILY = "case_features"
FEATURE_PREFIX = "feature."


class Problem(NamedTuple):
    """A problem with a code or family: the field, the identifier, and a sentence."""

    field: str
    identifier: str
    sentence: str


def read_attributes(stored: object) -> tuple[CodeAttribute, ...]:
    """Read the attributes of a code as a column or a file has them; invalid entries are skipped."""
    items = stored if isinstance(stored, list) else []
    return tuple(
        CodeAttribute(
            key=str(item.get("key", "")),
            label=str(item.get("label", "")),
            kind=str(item.get("kind", "text")),
            choices=tuple(choice for choice in item.get("choices") or () if isinstance(choice, str)),
            required=item.get("required") is True,
        )
        for item in items
        if isinstance(item, dict)
    )


def clean_text(text: str) -> str:
    """A text without white space at its ends, with line ends as in the database."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def clean_name(name: str) -> str:
    """A name on one line. Letters with marks are composed, so that a name typed on two systems is the same name."""
    return unicodedata.normalize("NFC", " ".join(name.split()))


def clean_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names cleaned by ``clean_name``, in order, without repetition."""
    return tuple(dict.fromkeys(filter(None, map(clean_name, names))))


def find_problems(content: CodebookContent) -> Iterator[Problem]:
    """Everything that keeps a version from being published, family by family and then code by code."""
    if not content.codes:
        yield Problem("", "", "Add at least one code before publishing.")
    for family in content.families:
        yield from find_family_problems(family)
    yield from _find_repeated(content)
    yield from _find_key_clashes(content.codes)
    places = {code.identifier: code for code in content.codes}
    families = {family.identifier for family in content.families}
    for code in content.codes:
        yield from find_code_problems(code)
        yield from _find_place_problems(code, places, families)


def find_family_problems(family: FamilyContent) -> Iterator[Problem]:
    """The problems of a family itself."""

    def wrong(field: str, sentence: str) -> Problem:
        return Problem(field, family.identifier, sentence)

    yield from _find_name_problems("family", family.identifier, family.name)
    for field, what in (("description", "description"), ("rules", "rules")):
        yield from _find_length_problems(family.identifier, field, what, getattr(family, field))
    if family.unit not in UNITS:
        yield wrong("unit", f"The family {family.name}: {family.unit!r} is not a unit; choose {', '.join(UNITS)}.")
    if family.applies_to not in SIDES:
        yield wrong(
            "applies_to", f"The family {family.name}: {family.applies_to!r} names no side; choose {', '.join(SIDES)}."
        )
    elif family.unit == "interview" and family.applies_to != "any":
        yield wrong(
            "applies_to",
            f"The family {family.name} is applied to interviews, which have turns of both sides. Choose anybody's turns.",
        )
    if family.color and not COLOR.fullmatch(family.color):
        yield wrong("color", f"The family {family.name}: {family.color!r} is not a colour such as #0c5684.")


def find_code_problems(code: CodeContent) -> Iterator[Problem]:
    """The problems of a code itself, whatever its place."""
    yield from _find_name_problems("code", code.identifier, code.name)
    for field, what in LONG_TEXTS.items():
        yield from _find_length_problems(code.identifier, field, what, getattr(code, field))
    for field, max_length in SHORT_TEXTS.items():
        value = getattr(code, field)
        if field != "name" and len(value) > max_length:
            found = f"{field} has {len(value):,} characters"
            yield Problem(field, code.identifier, f"Code {code.identifier}: {found}; expected at most {max_length}.")
        if UNSTORABLE.search(value):
            yield Problem(
                field, code.identifier, f"Code {code.identifier}: {field} has a character that cannot be stored."
            )
    if sentence := find_key_problem(code.key):
        yield Problem("key", code.identifier, f"{code.name}: {sentence}")
    if code.color and not COLOR.fullmatch(code.color):
        yield Problem("color", code.identifier, f"{code.name}: {code.color!r} is not a colour such as #0c5684.")
    for field in ("aliases", "terms"):
        yield from _find_list_problems(code, field)
    yield from _find_rule_problems(code)
    yield from _find_attribute_problems(code)


def find_key_problem(key: str) -> str:
    """The problem of a key, as a sentence; empty for a valid key and for none."""
    if not key or key in SINGLE_KEYS:
        return ""
    free = f"The key of a code is one of {' '.join(sorted(SINGLE_KEYS))}, or none."
    return f"The desk uses the key {key} itself. {free}" if key in RESERVED else f"{key[:20]!r} cannot be a key. {free}"


def _find_name_problems(what: str, identifier: str, name: str) -> Iterator[Problem]:
    if not name.strip():
        yield Problem("name", identifier, f"The {what} {identifier or '(new)'} has no name.")
    elif len(name) > MAX_NAME_LENGTH:
        found = f"{len(name):,} characters"
        yield Problem(
            "name", identifier, f"The name of a {what} may have {MAX_NAME_LENGTH} characters; this has {found}."
        )
    if not STABLE_NAME.fullmatch(identifier):
        yield Problem("", identifier, f"The {what} {name}: {identifier[:100]!r} cannot be an identifier.")


def _find_length_problems(identifier: str, field: str, what: str, text: str) -> Iterator[Problem]:
    if len(text) > MAX_TEXT:
        sentence = f"{identifier}: the {what} has {len(text):,} characters; the limit is {MAX_TEXT:,}."
        yield Problem(field, identifier, sentence)
    if UNSTORABLE.search(text):
        yield Problem(field, identifier, f"{identifier}: the {what} has a character that cannot be stored.")


def _find_list_problems(code: CodeContent, field: str) -> Iterator[Problem]:
    names: tuple[str, ...] = getattr(code, field)
    what = {"aliases": "other names", "terms": "terms"}[field]
    if len(names) > MAX_NAMES:
        yield Problem(field, code.identifier, f"{code.name}: {len(names)} {what}; the limit is {MAX_NAMES}.")
    for name in names:
        if not name.strip() or len(name) > MAX_NAME_LENGTH or UNSTORABLE.search(name):
            sentence = f"{code.name}: each of the {what} has between 1 and {MAX_NAME_LENGTH} characters."
            yield Problem(field, code.identifier, sentence)
            return


def _find_rule_problems(code: CodeContent) -> Iterator[Problem]:
    """The problems of keyword rules, each by its place in the list."""
    if len(code.keyword_rules) > MAX_RULES:
        sentence = f"{code.name}: {len(code.keyword_rules)} keyword rules; the limit is {MAX_RULES}."
        yield Problem("keyword_rules", code.identifier, sentence)
    for number, line in enumerate(code.keyword_rules, 1):
        if sentence := "It has a character that cannot be stored." if UNSTORABLE.search(line) else check_rule(line):
            yield Problem("keyword_rules", code.identifier, f"{code.name}, keyword rule {number}: {sentence}")


def _find_attribute_problems(code: CodeContent) -> Iterator[Problem]:
    def wrong(sentence: str) -> Problem:
        return Problem("attributes", code.identifier, f"{code.name}: {sentence}")

    if len(code.attributes) > MAX_ATTRIBUTES:
        yield wrong(f"{len(code.attributes)} questions; the limit is {MAX_ATTRIBUTES}.")
    keys = [attribute.key for attribute in code.attributes]
    if len(set(keys)) < len(keys):
        yield wrong("two of its questions are the same.")
    for attribute in code.attributes:
        if not ATTRIBUTE_KEY.fullmatch(attribute.key):
            yield wrong(f"{attribute.key[:40]!r} cannot name a question: use lower-case letters, digits and _.")
        if not attribute.label.strip() or len(attribute.label) > MAX_LABEL_LENGTH or UNSTORABLE.search(attribute.label):
            yield wrong(f"a question has between 1 and {MAX_LABEL_LENGTH} characters.")
        if attribute.kind not in {"text", "choice"}:
            yield wrong(f"a question is answered by text or by choice, not by {attribute.kind[:40]!r}.")
        yield from (wrong(sentence) for sentence in _find_choice_problems(attribute))


def _find_choice_problems(attribute: CodeAttribute) -> Iterator[str]:
    if attribute.kind == "choice" and not 2 <= len(set(attribute.choices)) == len(attribute.choices) <= MAX_CHOICES:
        yield f"“{attribute.label[:80]}” needs between 2 and {MAX_CHOICES} different answers to choose from."
    if attribute.kind == "text" and attribute.choices:
        yield f"“{attribute.label[:80]}” is answered by text, so it has no answers to choose from."
    if any(not choice.strip() or len(choice) > 100 or UNSTORABLE.search(choice) for choice in attribute.choices):
        yield f"an answer to “{attribute.label[:80]}” has between 1 and 100 characters."


def fold(identifier: str) -> str:
    """A form that is the same for identifiers which differ only in case or Unicode form."""
    return unicodedata.normalize("NFC", identifier).casefold()


def _find_repeated(content: CodebookContent) -> Iterator[Problem]:
    groups: list[tuple[str, Sequence[FamilyContent | CodeContent]]] = [
        ("family", content.families),
        ("code", content.codes),
    ]
    for what, things in groups:
        seen: dict[str, FamilyContent | CodeContent] = {}
        for thing in things:
            first = seen.setdefault(fold(thing.identifier), thing)
            if first is not thing:
                sentence = f"The {what} {thing.name} has the identifier {thing.identifier}, which {first.name} has too."
                yield Problem("", thing.identifier, sentence)


def _find_key_clashes(codes: Iterable[CodeContent]) -> Iterator[Problem]:
    holders: dict[str, CodeContent] = {}
    for code in codes:
        holder = holders.setdefault(code.key, code) if code.key else code
        if holder is not code:
            yield Problem("key", code.identifier, f"{code.name}: {holder.name} already has the key {code.key}.")


def _find_place_problems(code: CodeContent, places: Mapping[str, CodeContent], families: set[str]) -> Iterator[Problem]:
    def wrong(sentence: str) -> Problem:
        return Problem("place", code.identifier, f"{code.name}: {sentence}")

    if code.family not in families:
        yield wrong(f"there is no family {code.family}.")
    if not code.parent:
        return
    parent = places.get(code.parent)
    if parent is None:
        yield wrong(f"the code it is under, {code.parent}, does not exist.")
    elif parent.family != code.family:
        yield wrong(f"it is under {parent.name}, which is in another family.")
    elif (depth := measure_depth(code, places)) is None:
        yield wrong("it is under itself.")
    elif depth > MAX_DEPTH:
        yield wrong(f"it is {depth} levels deep; the limit is {MAX_DEPTH}.")


def measure_depth(code: CodeContent, places: Mapping[str, CodeContent]) -> int | None:
    """The depth of a code, 1 at the top; ``None`` if its parents form a circle."""
    passed = {code.identifier}
    while code.parent and code.parent in places:
        if code.parent in passed:
            return None
        passed.add(code.parent)
        code = places[code.parent]
    return len(passed)


def order_as_tree(codes: Sequence[CodeContent], families: Sequence[FamilyContent]) -> tuple[CodeContent, ...]:
    """The codes family by family, each followed by what is under it, siblings in the order given.

    Codes whose family or parent does not exist are kept at the end, so that a check can name them.
    """
    children: dict[tuple[str, str], list[CodeContent]] = {}
    for code in codes:
        children.setdefault((code.family, code.parent), []).append(code)
    ordered: dict[str, CodeContent] = {}
    for family in families:
        waiting = [*reversed(children.get((family.identifier, ""), []))]
        while waiting:
            code = waiting.pop()
            if ordered.setdefault(code.identifier, code) is code:
                waiting += reversed(children.get((family.identifier, code.identifier), []))
    return (*ordered.values(), *(code for code in codes if ordered.get(code.identifier) is not code))


def is_feature(identifier: str, family: str) -> bool:
    """Whether a code is a feature: one of the family ``case_features``, or one of another family that is named ``feature.…``."""
    return family == FEATURE_FAMILY or identifier.startswith(FEATURE_PREFIX)
