"""How much all models together attributed to each text of a batch, for the list that leads to single texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, Sum

from auditapp.sob.models import Judgment, Reading


class TextTotal(NamedTuple):
    """A text with its answers and the sum of their attributes, in paper counting, by the readings that stand."""

    text: int
    answers: int
    attributes: int


def sum_texts(arms: Sequence[int], target: str = "") -> list[TextTotal]:
    """The texts of these arms, most attributes first; in the order of their keys among equals."""
    first = Judgment.objects.filter(arm__in=arms, superseded_by=None)
    later = Reading.objects.filter(judgment__arm__in=arms, superseded_by=None)
    if target:
        first, later = first.filter(text__target=target), later.filter(judgment__text__target=target)
    answers: dict[int, int] = {}
    attributes: dict[int, int] = {}
    for rows, name in ((first, "text_id"), (later, "judgment__text_id")):
        for text, count, total in rows.order_by().values_list(name).annotate(n=Count("pk"), k=Sum("n_attributes")):
            answers[text] = answers.get(text, 0) + count
            attributes[text] = attributes.get(text, 0) + total
    totals = [TextTotal(text, answers[text], attributes[text]) for text in answers]
    return sorted(totals, key=lambda total: (-total.attributes, total.text))
