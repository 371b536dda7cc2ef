"""The content of a codebook version as plain values, the rules for every codebook file, and the headings that people use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from transcripts.formats.problems import quote, show_count

UNITS = ("sentence", "turn", "interview")
SIDES = ("any", "model", "interviewer")
"""Whose turns the codes of a family are about."""
# English, German, French, Dutch, Spanish, Italian, Portuguese. Our own names come first and are found anyway.
WORDS = {
    "code_id": "identifier, id, codeid, code identifier",
    "name": (
        "code, code name, codename, label, code label, title, kode, bezeichnung, codebezeichnung, nom, nom du code, libellé, "
        "intitulé, naam, codenaam, código, nombre, nombre del código, codice, nome, nome del codice, nome do código"
    ),
    "family": "code family, codefamily, code group, familie, codefamilie, famille, familia, famiglia, família",
    "family_name": "name of the family, familienname, nom de la famille, familienaam",
    "definition": (
        "code definition, meaning, explanation, definition of the code, bedeutung, erklärung, beschreibung, définition, "
        "definitie, omschrijving, beschrijving, definición, descripción, definizione, descrizione, definição, descrição, "
        "signification, code description"
    ),
    "machine_definition": "definition for machines",
    "include": (
        "includes, inclusion, inclusion criteria, when to use, use when, einschluss, einschlusskriterien, inclure, "
        "inclusiecriteria, criterios de inclusión"
    ),
    "exclude": (
        "excludes, exclusion, exclusion criteria, when not to use, do not use when, ausschluss, ausschlusskriterien, exclure, "
        "exclusiecriteria, criterios de exclusión"
    ),
    "key": "shortcut, hotkey, taste, touche, toets, tecla, tasto",
    "group": "heading, subgroup, gruppe, groupe, groep, grupo, gruppo",
    "unit": "unit of coding, einheit, unité, eenheid, unidad, unità, unidade",
    "aliases": "alias, synonyms, other names, synonyme, andere namen, synonymes, synoniemen, sinónimos, sinonimi, sinônimos",
    "source": "reference, quelle, bron, fuente, fonte",
    "parent": "parent code, parent code id, parent name, oberkategorie, code parent, bovenliggende code",
    "color": "colour, code color, code colour, farbe, couleur, kleur, colore, cor",
}
# Headings that may mean codes or families of codes: they are the names of codes if no other column has these.
CODES_OR_FAMILIES = "category, theme, kategorie, thema, catégorie, thème, categorie, categoría, tema, categoria"

SHORT_CODES = frozenset({"code", "kode", "código", "codice"})
ATTRIBUTE_KINDS = ("text", "choice")
# Letters that the desk uses itself; no code can have them.
RESERVED_KEYS = frozenset("bcklmnopvxz")
SINGLE_KEYS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789") - RESERVED_KEYS
MAX_NAME_LENGTH = 200
MAX_TEXT_LENGTH = 20_000
"""Characters of a definition or another free text."""
MAX_ATTRIBUTES = 50
MAX_CHOICES = 100
MAX_CODE_DEPTH = 50
"""The greatest depth of codes below one another."""
STABLE_NAME = re.compile(r"\w[\w.:/-]{0,99}")
COLOR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
# JSON escapes can contain characters that UTF-8 and databases cannot represent.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ATTRIBUTE_FIELDS = ("key", "label", "kind", "choices", "required")


@dataclass(frozen=True, kw_only=True)
class CodeAttribute:
    """A question that a coding with the code answers; ``choices`` are the possible answers if its kind is "choice".

    A coding without an answer to a ``required`` question is refused.
    """

    key: str
    label: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    required: bool = False

    def as_json(self) -> dict[str, object]:
        """The question in the form of files and the database."""
        written: dict[str, object] = {"key": self.key, "label": self.label, "kind": self.kind}
        written["choices"] = list(self.choices)
        return {**written, "required": True} if self.required else written


@dataclass(frozen=True, kw_only=True)
class CodeContent:
    """One code. ``family`` and ``parent`` are identifiers; ``color`` is "#rrggbb"; a text that is "" is not given.

    ``terms`` are words that count as prompting the code if the interviewer says them; ``keyword_rules`` are lines; if any
    matches, the keyword annotator proposes the code. A code with ``is_category`` groups the codes under it and is not applied.
    """

    identifier: str
    name: str
    family: str
    parent: str = ""
    group: str = ""
    aliases: tuple[str, ...] = ()
    definition: str = ""
    machine_definition: str = ""
    include: str = ""
    exclude: str = ""
    key: str = ""
    source: str = ""
    color: str = ""
    terms: tuple[str, ...] = ()
    attributes: tuple[CodeAttribute, ...] = ()
    keyword_rules: tuple[str, ...] = ()
    is_category: bool = False


@dataclass(frozen=True, kw_only=True)
class FamilyContent:
    """Codes with the same rules. ``unit`` is what is coded: a sentence, a turn or an interview.

    ``once_per_answer``: each code is applied to at most one sentence of an answer. ``applies_to`` says whose turns the codes
    are about: anybody's ("any"), the "model"'s or the "interviewer"'s.
    """

    identifier: str
    name: str
    description: str = ""
    unit: str = "sentence"
    carries_level: bool = True
    carries_enactment: bool = False
    once_per_answer: bool = False
    applies_to: str = "any"
    rules: str = ""
    color: str = ""


@dataclass(frozen=True, kw_only=True)
class CodeExample:
    """A passage that belongs to a code (include), does not (exclude) or fixes its meaning (anchor).

    ``code`` is the code's identifier, ``interview`` the interview's; ``sentence`` counts within it from 1. An example
    that names neither was invented for the codebook.
    """

    code: str
    kind: str
    quote: str
    note: str = ""
    interview: str = ""
    sentence: int | None = None


@dataclass(frozen=True, kw_only=True)
class CodebookContent:
    """Families, codes and examples in order. ``number`` is that of the version they were taken from."""

    title: str = ""
    origin: str = ""
    number: int | None = None
    families: tuple[FamilyContent, ...] = ()
    codes: tuple[CodeContent, ...] = ()
    examples: tuple[CodeExample, ...] = ()


Finding = tuple[str, str]
"""What was found and what was expected, without the place."""


class LocatedCode(NamedTuple):
    """The values of a code that can clash with others, and the number of its row or entry."""

    number: int
    identifier: str
    family: str
    key: str
    parent: str


def check_identifier(what: str, text: str) -> Iterator[Finding]:
    """Check an identifier, which stays the same when names change."""
    if not STABLE_NAME.fullmatch(text):
        expected = "up to 100 letters, digits and . : / _ - without spaces, a letter or digit first"
        yield (f"the {what} {quote(text)}", expected)


def check_name(what: str, text: str) -> Iterator[Finding]:
    """Check a name."""
    if not text.strip():
        yield (f"an empty {what}", "a name")
    elif len(text) > MAX_NAME_LENGTH:
        yield (f"a {what} of {len(text):,} characters", f"at most {MAX_NAME_LENGTH}")


def check_text(what: str, text: str, *, max_length: int = MAX_TEXT_LENGTH) -> Iterator[Finding]:
    """Check a free text."""
    if len(text) > max_length:
        yield (f"{len(text):,} characters in {what}", f"at most {max_length:,}")


def check_unit(text: str) -> Iterator[Finding]:
    """Check the unit of a family."""
    if text not in UNITS:
        yield (f"the unit {quote(text)}", " or ".join(UNITS))


def check_side(text: str, unit: str) -> Iterator[Finding]:
    """Check whose turns the codes of a family are about; codes of interviews are about anybody's."""
    if text not in SIDES:
        yield (f"the applies_to {quote(text)}", " or ".join(SIDES))
    elif unit == "interview" and text != "any":
        yield (f"the applies_to {quote(text)} for the unit “interview”", "any: an interview has turns of both sides")


def check_key(text: str) -> Iterator[Finding]:
    """Check the key that applies a code at the desk; it may be empty."""
    if text in RESERVED_KEYS:
        free = f"another key: the desk uses {' '.join(sorted(RESERVED_KEYS))} itself"
        yield (f"the key {quote(text)}", free)
    elif text and text not in SINGLE_KEYS:
        yield (f"the key {quote(text)}", "one of a-z (lower case) or 0-9, or nothing")


def check_color(text: str) -> Iterator[Finding]:
    """Check a colour; it may be empty."""
    if text and not COLOR.fullmatch(text):
        yield (f"the color {quote(text)}", "a colour such as #1a2b3c, or nothing")


def check_terms(terms: Sequence[str]) -> Iterator[Finding]:
    """Check words that count as prompting."""
    for term in terms:
        if len(term) > MAX_NAME_LENGTH:
            yield (f"a term of {len(term):,} characters", f"at most {MAX_NAME_LENGTH}")


def check_keyword_rules(lines: Sequence[str]) -> Iterator[Finding]:
    """Check the size of keyword rules; their syntax is checked with the codebook."""
    for line in lines:
        if len(line) > MAX_NAME_LENGTH:
            yield (f"a keyword rule of {len(line):,} characters", f"at most {MAX_NAME_LENGTH}")


def check_attributes(value: object) -> Iterator[Finding]:
    """Check a list of questions from JSON; ``read_attributes`` reads a valid one."""
    if not isinstance(value, list) or len(value) > MAX_ATTRIBUTES:
        yield ("attributes that are not such a list", f"a list of at most {MAX_ATTRIBUTES} objects")
        return
    seen: set[str] = set()
    for number, item in enumerate(value, 1):
        if not isinstance(item, dict) or not _is_attribute(item):
            expected = (
                f"an object with the texts key, label, kind ({' or '.join(ATTRIBUTE_KINDS)}) and the list choices; "
                "required is true or false"
            )
            yield (f"attribute {number} of another form", expected)
            continue
        yield from check_identifier(f"attribute key {number}", item["key"])
        yield from check_name(f"attribute label {number}", item["label"])
        choices = item.get("choices", [])
        if item["key"] in seen:
            yield (f"the attribute key {quote(item['key'])} once more", "each key once in a code")
        seen.add(item["key"])
        if (item["kind"] == "choice") is not bool(choices):
            yield (f"attribute {number} with {show_count(len(choices), 'choice')}", "choices for a choice only")
        for choice in choices:
            yield from check_name(f"choice of attribute {number}", choice)
        if len(set(choices)) < len(choices):
            yield (f"a choice of attribute {number} once more", "each choice once")


def _is_attribute(item: Mapping[str, object]) -> bool:
    texts = [item.get("key"), item.get("label")]
    choices = item.get("choices", [])
    if not isinstance(choices, list) or len(choices) > MAX_CHOICES:
        return False
    if not isinstance(item.get("required", False), bool):
        return False
    texts += choices
    right = all(isinstance(text, str) and not UNSTORABLE.search(text) for text in texts)
    return right and item.get("kind") in ATTRIBUTE_KINDS and set(item) <= set(_ATTRIBUTE_FIELDS)


def read_attributes(value: Sequence[Mapping[str, object]]) -> tuple[CodeAttribute, ...]:
    """Read the questions of a valid list."""
    return tuple(
        CodeAttribute(**{**item, "choices": tuple(item.get("choices", ()))})  # type: ignore[arg-type]
        for item in value
    )


def find_clashes(
    codes: Sequence[LocatedCode], *, known: Container[str], noun: str, what: str
) -> Iterator[tuple[int, Finding]]:
    """Identifiers that differ only in case or form, keys used twice, and impossible parents.

    ``known`` are the identifiers of the whole file; ``noun`` is the word for an entry, ``what`` that for an identifier.
    """
    identifiers: dict[str, LocatedCode] = {}
    keys: dict[str, LocatedCode] = {}
    for code in codes:
        first = identifiers.setdefault(unicodedata.normalize("NFC", code.identifier).casefold(), code)
        if first is not code:
            found = f"the {what} {quote(code.identifier)}, which {noun} {first.number} has as {quote(first.identifier)}"
            yield code.number, (found, f"each {what} once, whatever its case")
        first = keys.setdefault(code.key, code) if code.key else code
        if first is not code:
            found = f"the key {quote(code.key)}, which {noun} {first.number} has too"
            yield code.number, (found, "each key once")
    by_identifier = {code.identifier: code for code in codes}
    for code in codes:
        parent = by_identifier.get(code.parent)
        if code.parent and code.parent not in known:
            found = f"the parent {quote(code.parent)}, which is no {what} here"
            yield code.number, (found, f"the {what} of a code, or nothing")
        elif parent and parent.family != code.family:
            found = f"the parent {quote(code.parent)}, a code of the family {quote(parent.family)}"
            yield code.number, (found, "a code of the same family")
    yield from _find_loops(by_identifier)


def _find_loops(codes: Mapping[str, LocatedCode]) -> Iterator[tuple[int, Finding]]:
    """Codes that would be their own ancestors, each loop at its first code, and codes that are too deep."""
    depths: dict[str, int] = {}
    for start in codes.values():
        way: dict[str, LocatedCode] = {}
        code: LocatedCode | None = start
        while code and code.identifier not in depths and code.identifier not in way:
            way[code.identifier] = code
            code = codes.get(code.parent)
        if code and code.identifier in way:
            found = f"the parent {quote(code.parent)}, which is below {quote(code.identifier)} itself"
            yield code.number, (found, "a parent above it")
        above = depths.get(code.identifier, 0) if code else 0
        for depth, passed in enumerate(reversed(way.values()), above + 1):
            depths[passed.identifier] = depth
            if depth == MAX_CODE_DEPTH + 1:
                finding = (f"a code nested more than {MAX_CODE_DEPTH} deep", f"at most {MAX_CODE_DEPTH}")
                yield passed.number, finding


def fold_heading(heading: str) -> str:
    """A form that is the same for headings which differ only in case, form, spaces and marks between words."""
    text = unicodedata.normalize("NFKC", heading).casefold()
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text).split())


def list_words(words: str) -> list[str]:
    """Headings in the form of ``fold_heading``, from a list with commas."""
    return [fold_heading(word) for word in words.split(",")]


MEANT = {word: column for column, words in WORDS.items() for word in list_words(words)}
UNSURE = frozenset(list_words(CODES_OR_FAMILIES))


def find_columns(headings: Sequence[str], known: Container[str]) -> list[str]:
    """The column that each heading names, "" for none. ``known`` are our own names, which are taken literally."""
    columns = [_find_column(heading, known) for heading in headings]
    # Next to a definition, this column is what we write for other programs; without one it is the definition.
    if "definition" not in columns:
        columns = ["definition" if column == "description" else column for column in columns]
    # A short code and a name: the name is the code's name.
    if columns.count("name") > 1 and "code_id" not in columns:
        codes = [place for place, heading in enumerate(headings) if fold_heading(heading) in SHORT_CODES]
        if len(codes) == 1:
            columns[codes[0]] = "code_id"
    for place, heading in enumerate(headings):
        if not columns[place] and fold_heading(heading) in UNSURE:
            wanted = "name" if "name" not in columns else "family"
            columns[place] = wanted if wanted not in columns else ""
    return columns


def _find_column(heading: str, known: Container[str]) -> str:
    folded = fold_heading(heading)
    own = folded.replace(" ", "_")
    return own if own in known else MEANT.get(folded, "")


def say_columns(headings: Sequence[str], columns: Iterable[str]) -> str:
    """A sentence that says how the headings of a file were read."""
    pairs = zip(headings, columns, strict=True)
    said = ", ".join(
        f"“{heading.strip() or ' '}” ({column if column and column != 'description' else 'not read'})"
        for heading, column in pairs
    )
    return f"Columns of the file, and what they were read as: {said}."
