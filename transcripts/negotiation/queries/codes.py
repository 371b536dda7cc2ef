"""The codes that negotiation is read by: moves, features of cases, challenges and responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from transcripts.codebook.models import Code, CodebookVersion
from transcripts.projects.models import Project


class Row(NamedTuple):
    """What a row of a code says of the codings that carry it."""

    identifier: str
    version: int
    unit: str
    family: str


@dataclass
class CodeBook:
    """Every published code by the number of its row; ``names`` in the order of the newest version, then of those before it.

    ``current`` holds the identifiers that the newest version still has, ``family_of`` the family of each code.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    family_of: dict[str, str] = field(default_factory=dict)
    version: int = 0

    def list_codes(self, family: str) -> list[str]:
        """The codes of a family that the newest version has, in its order."""
        return [each for each in self.names if self.family_of[each] == family and each in self.current]

    def name(self, identifier: str) -> str:
        """What a code is called; one that the study does not know is called by its identifier."""
        return self.names.get(identifier, identifier)


def read_code_book(project: Project) -> CodeBook:
    """The codes of a study. One query."""
    rows = Code.objects.filter(version__project=project, version__status=CodebookVersion.Status.PUBLISHED)
    rows = rows.order_by("-version__number", "family__position", "position")
    found = CodeBook()
    columns = ("pk", "identifier", "name", "version__number", "family__identifier", "family__unit", "is_category")
    for pk, identifier, name, version, family, unit, is_category in rows.values_list(*columns):
        found.version = max(found.version, version)
        if not is_category:
            found.family_of.setdefault(identifier, family)
        found.rows[pk] = Row(identifier, version, unit, found.family_of.get(identifier, family))
        if is_category:
            continue
        if version == found.version:
            found.current.add(identifier)
        found.names.setdefault(identifier, name)
    return found
