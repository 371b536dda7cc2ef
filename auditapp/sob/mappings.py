"""The mapping that a study counts by: its newest own table, or the published one."""

from __future__ import annotations

from auditapp.sob.measures.mapping import (
    PUBLISHED,
    Rows,
    TargetMapping,
    order_rows,
    published_mapping,
    published_rows,
    read_mapping,
)
from auditapp.sob.models import MappingTable
from transcripts.projects.models import Project


def find_mapping(project: Project) -> TargetMapping:
    """The mapping in force: its ``name`` is "published" or "table N", and goes into a report's versions."""
    table = find_table(project)
    return published_mapping() if table is None else read_mapping(table.rows, name_table(table.number))


def find_table(project: Project, name: str | None = None) -> MappingTable | None:
    """The study's newest table, or the one of that name; ``None`` for the published one and where there is none."""
    tables = MappingTable.objects.filter(project=project).order_by("-number")
    if name is None:
        return tables.first()
    number = name.removeprefix("table ")
    return tables.filter(number=number).first() if number.isdecimal() and len(number) < 10 else None


def find_rows(project: Project, name: str | None = None) -> Rows:
    """The rows of the mapping in force, or of the one of that name, as they were written."""
    table = None if name == PUBLISHED else find_table(project, name)
    return published_rows() if table is None else order_rows(table.rows)


def name_table(number: int) -> str:
    """What a study's table is called in versions and on pages."""
    return f"table {number}"
