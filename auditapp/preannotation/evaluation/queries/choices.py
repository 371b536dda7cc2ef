"""Whom a study believes for which code."""

from __future__ import annotations

from auditapp.preannotation.models import Annotator, CodeChoice
from transcripts.projects.models import Project


def list_choices(project: Project) -> list[CodeChoice]:
    """Whom the study believes for each code, as it stands."""
    rows = CodeChoice.objects.filter(project=project, superseded_at__isnull=True)
    return list(rows.select_related("annotator__version", "annotator__project").order_by("code_identifier"))


def has_read_for(annotator: Annotator, code_identifier: str) -> bool:
    """Whether it read any sentence for a code; its silence about a code it was never asked about is no word."""
    from auditapp.preannotation.annotators.queries.machine_labels import read_machine_labels

    machine = read_machine_labels(annotator)
    return code_identifier in machine.codes and bool(machine.was_read[machine.codes.index(code_identifier)].any())
