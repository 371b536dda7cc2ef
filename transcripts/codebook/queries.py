"""What is read of codebooks."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Count, F, Prefetch, QuerySet

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.projects.models import Project

# What makes a code another code: everything a coder or a machine goes by. Its place in the list is not among it.
COMPARED = ["name", "definition", "machine_definition", "include", "exclude", "key", "group"]


class Changes(NamedTuple):
    """How a version differs from an earlier one; names of codes in the order of the version that has them."""

    since: CodebookVersion
    added: list[str]
    changed: list[str]
    removed: list[str]


def current_version(project: Project) -> CodebookVersion | None:
    """The published version with the highest number: the one people code with. ``None`` before the first."""
    return project.codebook_versions.filter(status=CodebookVersion.Status.PUBLISHED).order_by("-number").first()


def latest_version(project: Project) -> CodebookVersion | None:
    """The version with the highest number, draft or published."""
    return project.codebook_versions.order_by("-number").first()


def list_versions(project: Project) -> QuerySet[CodebookVersion]:
    """All versions, newest first, each with ``code_count``."""
    return (
        project.codebook_versions.select_related("published_by").annotate(code_count=Count("codes")).order_by("-number")
    )


def read_families(version: CodebookVersion) -> list[CodeFamily]:
    """The families of a version in order, their codes loaded: two queries."""
    codes = Prefetch("codes", queryset=Code.objects.order_by("position"))
    return list(version.families.order_by("position").prefetch_related(codes))


def find_changes(version: CodebookVersion, *, since: CodebookVersion) -> Changes:
    """What ``version`` changed in ``since``: two queries."""
    old = _read_comparable(since)
    new = _read_comparable(version)
    return Changes(
        since,
        added=[code["name"] for identifier, code in new.items() if identifier not in old],
        changed=[code["name"] for identifier, code in new.items() if identifier in old and old[identifier] != code],
        removed=[code["name"] for identifier, code in old.items() if identifier not in new],
    )


def _read_comparable(version: CodebookVersion) -> dict[str, dict[str, str]]:
    rows = version.codes.order_by("position").values("identifier", *COMPARED, family_identifier=F("family__identifier"))
    return {row["identifier"]: row for row in rows}
