"""The study's own tables of targets: from a source's label to the normalised target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import transaction

from auditapp.sob.actions.errors import SobError
from auditapp.sob.actions.numbered_tables import store_next
from auditapp.sob.models import TargetTable
from auditapp.sob.pure.loading.normalising import TargetLabels, TargetsError, make_labels
from transcripts.audit_trail import trail
from transcripts.projects.models import Project


@transaction.atomic
def save_targets(
    *,
    project: Project,
    rows: Iterable[Mapping[str, object]],
    reason: str,
    by: trail.Actor,
    based_on: int | None = None,
) -> TargetTable:
    """Store the study's next table of targets; the earlier ones and the datasets made with them stay as they are.

    ``rows`` are objects {"raw", "target", "secondary", "tertiary"}; ``based_on`` is the number of the table that the person
    saw, 0 for the published one. Raises ``SobError`` without a reason, for rows that are no table, for the rows of the newest
    table again, and where somebody else saved another meanwhile.
    """
    reason = reason.strip()
    if not reason:
        raise SobError("Say why the table of targets changes; the reason is kept with it.")
    try:
        labels = make_labels(rows)
    except TargetsError as error:
        raise SobError(str(error)) from error
    Project.objects.select_for_update().get(pk=project.pk)
    newest = find_target_table(project)
    if newest is not None and based_on not in {None, newest.number}:
        raise SobError(
            f"Somebody saved target table {newest.number} while you were editing. Check what it contains; "
            "saving again makes yours the next table."
        )
    if newest is not None and newest.sha256 == labels.hash():
        raise SobError(f"These rows are the same as target table {newest.number}. Nothing has changed.")
    table = TargetTable(project=project, rows=labels.write(), sha256=labels.hash(), reason=reason)
    return store_next(
        newest, table, project=project, size={"rows": len(labels.rows)}, by=by, action="sob.targets.saved"
    )


def find_target_table(project: Project, number: int | None = None) -> TargetTable | None:
    """The study's table of that number, or its newest, ``None`` where it has none. Raises ``SobError`` for a wrong number."""
    tables = TargetTable.objects.filter(project=project).order_by("-number")
    if number is None:
        return tables.first()
    table = tables.filter(number=number).first()
    if table is None:
        there_are = ", ".join(str(known) for known in tables.values_list("number", flat=True)) or "none"
        raise SobError(f"There is no target table {number} in {project.slug}; there are: {there_are}.")
    return table


def read_labels(table: TargetTable) -> TargetLabels:
    """The table, to be asked by a source's label."""
    return make_labels(table.rows)
