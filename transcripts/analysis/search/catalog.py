"""Every code a study has ever published, and which of its rows mean something else by now."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from django.db import connection

from transcripts.analysis.search.pure.tables import Heading
from transcripts.codebook.models import CodebookVersion, CodeFamily
from transcripts.studies.models import Study

# Newest version first: the first row of an identifier says what it is called now.
CODES = """
SELECT k.id, k.identifier, k.name, k.meaning_version, f.identifier, f.name, f.unit, f.carries_enactment,
       CAST(k.attributes AS text), v.number
FROM codebook_code k
JOIN codebook_codefamily f ON f.id = k.family_id
JOIN codebook_codebookversion v ON v.id = k.version_id
WHERE v.study_id = %s AND v.status = %s
ORDER BY v.number DESC, f.position, k.position
"""


@dataclass
class Question:
    """A question that a code asks, worded as in the newest version that asks it.

    ``choices`` are those of every version; a question to be answered in words has none. ``ids`` are the rows of the code in
    the versions that ask it.
    """

    code: Heading
    key: str
    label: str
    choices: list[str]
    ids: list[int] = field(default_factory=list)


@dataclass
class Catalog:
    """The codes of a study by identifier: those of the current version in its order, then those that are no more.

    Each is called by its newest name; ``current`` holds those that the current version still has.
    ``ids`` are the rows of a code in every version, ``stale_ids`` those rows whose codings are to be looked at again:
    applied under an earlier meaning, or with a code that was retired. ``questions`` are named by their code and key.
    """

    codes: dict[str, Heading] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    families: dict[str, CodeFamily] = field(default_factory=dict)
    ids: dict[str, list[int]] = field(default_factory=dict)
    ids_in_family: dict[str, list[int]] = field(default_factory=dict)
    ids_of_sentences: list[int] = field(default_factory=list)
    ids_with_enactment: list[int] = field(default_factory=list)
    stale_ids: list[int] = field(default_factory=list)
    questions: dict[tuple[str, str], Question] = field(default_factory=dict)

    def codes_in(self, family: str) -> list[Heading]:
        """The codes of a family, or all of them."""
        return [code for code in self.codes.values() if not family or code.family == family]


def read_catalog(study: Study) -> Catalog:
    """The catalog of a study: one query."""
    catalog = Catalog()
    with connection.cursor() as cursor:
        cursor.execute(CODES, [study.pk, CodebookVersion.Status.PUBLISHED.value])
        rows = cursor.fetchall()
    current = rows[0][-1] if rows else 0
    meant_since: dict[str, int] = {}
    for pk, identifier, name, meaning_version, *of_family, attributes, number in rows:
        family = catalog.families.get(of_family[0])
        if family is None:
            # As the newest version that has it calls it; nothing else of it is read.
            values = dict(zip(("identifier", "name", "unit", "carries_enactment"), of_family, strict=True))
            family = catalog.families[of_family[0]] = CodeFamily(**values)
        if identifier not in catalog.codes:
            catalog.codes[identifier] = Heading(
                identifier, name, family.identifier, family.unit, bool(family.carries_enactment)
            )
            if number == current:
                catalog.current.add(identifier)
            # A code of no current version is stale whatever version its codings were made under.
            meant_since[identifier] = meaning_version if number == current else current + 1
        catalog.ids.setdefault(identifier, []).append(pk)
        catalog.ids_in_family.setdefault(of_family[0], []).append(pk)
        if of_family[2] == CodeFamily.Unit.SENTENCE:
            catalog.ids_of_sentences.append(pk)
        if catalog.codes[identifier].has_enactment:
            catalog.ids_with_enactment.append(pk)
        for asked in json.loads(attributes):
            question = catalog.questions.setdefault(
                (identifier, asked["key"]), Question(catalog.codes[identifier], asked["key"], asked["label"], [])
            )
            question.ids.append(pk)
            question.choices += [choice for choice in asked["choices"] if choice not in question.choices]
        if number < meant_since[identifier]:
            catalog.stale_ids.append(pk)
    return catalog
