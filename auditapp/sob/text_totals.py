"""How much all models together attributed to each text of a batch, for the list that leads to single texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db.models import Count, Sum

from auditapp.sob.models import Judgment, Reading
from auditapp.sob.pure.instruments import BASE_TASK


def sum_texts(arms: Sequence[int], target: str = "") -> list[dict[str, int]]:
    """The texts of these arms with their answers and the sum of their attributes, in paper counting; most attributes first.

    Counted by the readings that stand. ``verdicts`` are the answers to the base task, which are among none of the others.
    """
    first = Judgment.objects.filter(arm__in=arms, superseded_by=None)
    later = Reading.objects.filter(judgment__arm__in=arms, superseded_by=None)
    if target:
        first, later = first.filter(text__target=target), later.filter(judgment__text__target=target)
    answers: Counter[int] = Counter()
    attributes: Counter[int] = Counter()
    verdicts: Counter[int] = Counter()
    for rows, path in ((first, ""), (later, "judgment__")):
        counted = rows.order_by().values_list(f"{path}text_id", f"{path}arm__task")
        for text, task, count, total in counted.annotate(n=Count("pk"), k=Sum("n_attributes")):
            (verdicts if task == BASE_TASK else answers)[text] += count
            attributes[text] += total
    texts = answers.keys() | verdicts.keys()
    totals = [
        {"text": text, "answers": answers[text], "attributes": attributes[text], "verdicts": verdicts[text]}
        for text in texts
    ]
    return sorted(totals, key=lambda total: (-total["attributes"], total["text"]))
