"""The mapping that a study counts by: its newest own table, or the published one."""

from __future__ import annotations

from auditapp.sob.models import MappingTable
from auditapp.sob.pure.measures.mapping import (
    PUBLISHED,
    Rows,
    TargetMapping,
    order_rows,
    published_mapping,
    published_rows,
    read_mapping,
)
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.typed_text import find_numbers

IN_FORCE, TABLE = "", "table:"


class UnknownMapping(Refused):
    """There is no such mapping; the sentence says what to write."""


def find_mapping(project: Project, choice: str = IN_FORCE) -> TargetMapping:
    """The mapping in force, or the one that "published" or "table:N" names. Raises ``UnknownMapping``.

    Its ``name`` is "published" or "table N", and goes into a report's versions.
    """
    table = choose_table(project, choice)
    return published_mapping() if table is None else read_mapping(table.rows, name_table(table.number))


def choose_table(project: Project, choice: str = IN_FORCE) -> MappingTable | None:
    """The table that a choice comes to; ``None`` for the published mapping. Raises ``UnknownMapping``."""
    if choice == PUBLISHED:
        return None
    if choice == IN_FORCE:
        return find_table(project)
    table = find_table(project, choice.replace(TABLE, "table ", 1)) if choice.startswith(TABLE) else None
    if table is None:
        raise UnknownMapping(f"There is no mapping {choice!r} in this study. Write published or table:N.")
    return table


def name_choice(name: str) -> str:
    """What an address or a command writes for the mapping of that name."""
    return name.replace("table ", TABLE, 1)


def find_table(project: Project, name: str | None = None) -> MappingTable | None:
    """The study's newest table, or the one of that name; ``None`` for the published one and where there is none."""
    tables = MappingTable.objects.filter(project=project).order_by("-number")
    if name is None:
        return tables.first()
    return tables.filter(number__in=find_numbers([name.removeprefix("table ")])).first()


def find_rows(project: Project, name: str | None = None) -> Rows:
    """The rows of the mapping in force, or of the one of that name, as they were written."""
    table = None if name == PUBLISHED else find_table(project, name)
    return published_rows() if table is None else order_rows(table.rows)


def name_table(number: int) -> str:
    """What a study's table is called in versions and on pages."""
    return f"table {number}"


def name_in_force(project: Project) -> str:
    """The name of the mapping in force."""
    newest = find_table(project)
    return name_table(newest.number) if newest else PUBLISHED
