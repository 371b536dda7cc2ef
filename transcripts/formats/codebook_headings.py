"""The headings that people give to the columns of their codebooks, and the column of ours that each is."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable, Sequence

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
# Codes to one person and families of codes to another: the names of codes where no other column has them.
CODES_OR_FAMILIES = "category, theme, kategorie, thema, catégorie, thème, categorie, categoría, tema, categoria"


SHORT_CODES = frozenset({"code", "kode", "código", "codice"})


def fold_heading(heading: str) -> str:
    """What headings share that differ in case, form, spaces and marks between words."""
    text = unicodedata.normalize("NFKC", heading).casefold()
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text).split())


def list_words(words: str) -> list[str]:
    """Headings as ``fold_heading`` leaves them, from a list with commas."""
    return [fold_heading(word) for word in words.split(",")]


MEANT = {word: column for column, words in WORDS.items() for word in list_words(words)}
UNSURE = frozenset(list_words(CODES_OR_FAMILIES))


def find_columns(headings: Sequence[str], known: Container[str]) -> list[str]:
    """The column that each heading names, "" for none. ``known`` are our own names, which mean what they say."""
    columns = [_find_column(heading, known) for heading in headings]
    # Beside a definition this is what we write for other programs; on its own it is the definition.
    if "definition" not in columns:
        columns = ["definition" if column == "description" else column for column in columns]
    # A short code and a name: the name is what people read.
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
    """A sentence on what was made of the headings of a file."""
    pairs = zip(headings, columns, strict=True)
    said = ", ".join(
        f"“{heading.strip() or ' '}” ({column if column and column != 'description' else 'not read'})"
        for heading, column in pairs
    )
    return f"Columns of the file, and what they were read as: {said}."
