"""The codes that negotiation is read by: moves, features of cases, challenges and responses."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import OuterRef, Subquery

from transcripts.codebook.models import Code, CodebookVersion, CodeChange
from transcripts.codebook.pure.checking import FEATURE_FAMILY, is_feature
from transcripts.codebook.pure.comparing import follow_merges
from transcripts.studies.models import Project


class Row(NamedTuple):
    """What a row of a code says of the codings that carry it: ``applied`` is the code as its coder knew it, ``identifier``
    what that is now, which for a merged code is the code it went into."""

    applied: str
    identifier: str
    version: int
    unit: str
    family: str


class MergedCodes:
    """Two codes that were merged into one count once on a sentence: the coding that was made first."""

    def __init__(self) -> None:
        self._applied: dict[tuple[int, Hashable, str], str] = {}

    def counts(self, sentence: int, coder: Hashable, row: Row) -> bool:
        """Whether a coding counts; they are asked for in the order in which they were made."""
        return self._applied.setdefault((sentence, coder, row.identifier), row.applied) == row.applied


@dataclass
class CodeBook:
    """Every published code by the number of its row; ``names`` in the order of the newest version, then of those before it.

    ``current`` holds the identifiers that the newest version still has, ``family_of`` the family of each code, for
    every feature that of features, ``merged`` what
    each code went into that was merged.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    family_of: dict[str, str] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
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
    merges = CodeChange.objects.filter(
        version__project=project,
        version__status=CodebookVersion.Status.PUBLISHED,
        kind=CodeChange.Kind.MERGED,
        from_identifier=OuterRef("identifier"),
    )
    into = Subquery(merges.order_by("-version__number", "-pk").values("to_identifier")[:1])
    rows = rows.annotate(into=into).order_by("-version__number", "family__position", "position")
    found = CodeBook()
    columns = (
        "pk",
        "identifier",
        "name",
        "version__number",
        "family__identifier",
        "family__unit",
        "is_category",
        "into",
    )
    every = list(rows.values_list(*columns))
    for _, identifier, name, version, family, _, is_category, _ in every:
        found.version = max(found.version, version)
        if is_category:
            continue
        found.family_of.setdefault(identifier, FEATURE_FAMILY if is_feature(identifier, family) else family)
        if version == found.version:
            found.current.add(identifier)
        found.names.setdefault(identifier, name)
    gone = {identifier for _, identifier, *_ in every} - {
        identifier for _, identifier, _, version, *_ in every if version == found.version
    }
    found.merged = {identifier: into for _, identifier, *_, into in every if into and identifier in gone}
    for pk, identifier, _, version, family, unit, *_ in every:
        now = follow_merges(identifier, found.merged)
        found.rows[pk] = Row(identifier, now, version, unit, found.family_of.get(now, family))
    return found
