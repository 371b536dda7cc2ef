"""Where a call of the benchmark leads: the text it was asked about, the answer it read, and how that was read."""

from __future__ import annotations

from django.urls import reverse

from auditapp.batches.kinds import Link
from auditapp.batches.models import Cell
from auditapp.sob.models import Judgment


def link_answer(cell: Cell) -> list[Link]:
    """From a model's call to its text with every model's answers, and to the readings of its own."""
    place = (cell.batch.project.slug, cell.batch_id)
    links = [("The text and all answers to it", reverse("sob:text", args=[*place, cell.input_id]))]
    if Judgment.objects.filter(pk=cell.pk, cell__result__isnull=False).exists():
        links.append(("How this answer was read", reverse("sob:reading_history", args=[*place, cell.pk])))
    return links


def link_formatter(cell: Cell) -> list[Link]:
    """From a formatter's call to the answer it was shown, and to that answer's readings."""
    shown = (
        Judgment.objects.filter(pk=cell.input_id, arm__batch__project=cell.batch.project_id, cell__result__isnull=False)
        .values_list("arm__batch", "cell__result__attempt")
        .first()
    )
    if shown is None:
        return []
    batch, attempt = shown
    slug = cell.batch.project.slug
    return [
        ("The answer it was shown", reverse("batches:attempt", args=[slug, batch, attempt])),
        ("How that answer was read", reverse("sob:reading_history", args=[slug, batch, cell.input_id])),
    ]
