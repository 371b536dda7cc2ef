"""Reads of how answers were read: the share of each reader, and which answers need a person."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, QuerySet

from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.sob.judging.kind import FORMATTER_KIND
from auditapp.benchmarks.sob.models import Interpretation, Judgment
from auditapp.benchmarks.sob.pure.formatter_answers import FormatterEnd
from auditapp.benchmarks.sob.pure.parsing import Outcome

READERS = ("rules", "formatter", "person")
EXPLAINED_ENDS = (FormatterEnd.INVENTED, FormatterEnd.NO_EVIDENCE, FormatterEnd.UNREADABLE)


def count_readers(batch: Batch) -> dict[str, Any]:
    """The current interpretations of a batch by model, reader and outcome; ``by_outcome`` counts in the order of ``outcomes``."""
    counts: Counter[tuple[str, str, str]] = Counter()
    by_rules = (
        Judgment.objects.filter(arm__batch=batch, superseded_by__isnull=True)
        .values("arm__variant__label", "outcome")
        .annotate(n=Count("pk"))
        .order_by("arm__variant__label", "outcome")
    )
    for row in by_rules:
        counts[row["arm__variant__label"], "rules", row["outcome"]] += row["n"]
    later = (
        Interpretation.objects.filter(judgment__arm__batch=batch, superseded_by__isnull=True)
        .values("judgment__arm__variant__label", "reader", "outcome")
        .annotate(n=Count("pk"))
        .order_by("judgment__arm__variant__label", "reader", "outcome")
    )
    for each in later:
        counts[each["judgment__arm__variant__label"], each["reader"], each["outcome"]] += each["n"]
    return _arrange(counts)


def _arrange(counts: Counter[tuple[str, str, str]]) -> dict[str, Any]:
    seen = {outcome for _, _, outcome in counts}
    outcomes = [str(each) for each in Outcome if each in seen or each is not Outcome.VERDICT]
    models: list[dict[str, Any]] = []
    for model in sorted({model for model, _, _ in counts}):
        readers: list[dict[str, Any]] = []
        for reader in READERS:
            row = [counts[model, reader, outcome] for outcome in outcomes]
            readers.append({"reader": reader, "n": sum(row), "by_outcome": row})
        totals = [sum(column) for column in zip(*(reader["by_outcome"] for reader in readers), strict=True)]
        models.append({"model": model, "answers": sum(totals), "by_outcome": totals, "readers": readers})
    unread = sum(number for (_, _, outcome), number in counts.items() if outcome == Outcome.OFF_FORMAT)
    return {"outcomes": outcomes, "models": models, "answers": sum(counts.values()), "unread": unread}


def list_formatter_runs(batch: Batch) -> list[dict[str, Any]]:
    """The formatter's batches over the answers of ``batch``, oldest first, with what became of their calls.

    What the page explains is listed also at 0.
    """
    runs = Batch.objects.filter(study=batch.study_id, kind=FORMATTER_KIND, parameters__source_batch=batch.pk).order_by(
        "pk"
    )
    ends: dict[int, Counter[str]] = {run.pk: Counter(dict.fromkeys(EXPLAINED_ENDS, 0)) for run in runs}
    rows = Cell.objects.filter(batch__in=runs).values("batch", "outcome").annotate(n=Count("pk")).order_by("outcome")
    for row in rows:
        ends[row["batch"]][row["outcome"]] += row["n"]
    return [{"batch": run, "calls": ends[run.pk].total(), "ends": sorted(ends[run.pk].items())} for run in runs]


def find_unread_by_all(batch: Batch) -> QuerySet[Judgment]:
    """The answers that neither rules nor a formatter could read, and no person has looked at."""
    judgments = Judgment.objects.filter(arm__batch=batch, cell__result__isnull=False)
    of_rules = judgments.filter(outcome=Outcome.OFF_FORMAT, superseded_by__isnull=True)
    of_formatter = judgments.filter(
        interpretations__superseded_by__isnull=True,
        interpretations__reader=Interpretation.Reader.FORMATTER,
        interpretations__outcome=Outcome.OFF_FORMAT,
    )
    return of_rules.union(of_formatter)


def list_queue(batch: Batch, reader_id: int) -> list[int]:
    """The keys of the answers that need a person, in an order that differs by person and says nothing of the model."""
    ids = set(find_unread_by_all(batch).values_list("pk", flat=True))
    return sorted(ids, key=lambda pk: hashlib.sha256(f"{reader_id} {pk}".encode()).digest())


def choose_next(queue: Sequence[int], reader_id: int, after: int | None) -> int | None:
    """The next key of a queue, behind ``after`` where that is given; from the beginning again at its end."""
    if not queue:
        return None
    if after is None:
        return queue[0]
    place = hashlib.sha256(f"{reader_id} {after}".encode()).digest()
    behind = (pk for pk in queue if hashlib.sha256(f"{reader_id} {pk}".encode()).digest() > place)
    return next(behind, queue[0])


def list_history(judgment: Judgment) -> list[Interpretation]:
    """The later interpretations of an answer in their order, with the formatter's model."""
    return list(
        judgment.interpretations.select_related(
            "formatter_cell__arm__variant", "formatter_cell__result__attempt"
        ).order_by("number")
    )
