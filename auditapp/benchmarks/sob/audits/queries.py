"""Reads of audits: the frame they are drawn from, the sample, and what reviewers marked."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.audits.pure import FrameGroup, Item, Mark, build_audit_report
from auditapp.benchmarks.sob.judging.kind import SCORED_TASKS
from auditapp.benchmarks.sob.models import Audit, Interpretation, Judgment
from auditapp.benchmarks.sob.pure.parsing import Outcome
from transcripts.accounts.models import User

AUDITED = (Outcome.ATTRIBUTED, Outcome.UNKNOWN, Outcome.REFUSAL)
"""The outcomes of interpretations that an audit of answers draws from: those that count, and refusals."""
READ_AT_ONCE = 500


def list_frame(batch: Batch, scope: str) -> list[int]:
    """The keys of the answers whose current interpretation an audit may draw, ascending."""
    ids = set(_find_later(batch, scope).filter(superseded_by__isnull=True).values_list("judgment_id", flat=True))
    if scope == Audit.Scope.ANSWERS:
        ids |= set(_find_by_rules(batch).filter(superseded_by__isnull=True).values_list("pk", flat=True))
    return sorted(ids)


def read_current(ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The current interpretations of these answers, by key, as the fields of an item."""
    found: dict[int, dict[str, Any]] = {}
    columns = ("outcome", "n_attributes", "attributes")
    for start in range(0, len(ids), READ_AT_ONCE):
        part = ids[start : start + READ_AT_ONCE]
        rows = Judgment.objects.filter(pk__in=part, superseded_by__isnull=True).values("pk", *columns)
        found |= {
            row["judgment_id"]: row
            for row in ({"judgment_id": row.pop("pk"), "reader": "rules", **row} for row in rows)
        }
        later = Interpretation.objects.filter(judgment__in=part, superseded_by__isnull=True)
        found |= {row["judgment_id"]: row for row in later.values("judgment_id", "reader", *columns)}
    return found


def count_frame(audit: Audit) -> Counter[FrameGroup]:
    """The frame of an audit as it was when it was drawn, by what counts alike. Later interpretations change nothing here."""
    at = audit.made_at
    groups: Counter[FrameGroup] = Counter()
    later = _find_later(audit.batch, audit.scope).filter(_was_current(at), made_at__lte=at)
    _add_groups(groups, later, "judgment__")
    if audit.scope == Audit.Scope.ANSWERS:
        by_rules = _find_by_rules(audit.batch).filter(_was_current(at), cell__result__stored_at__lte=at)
        _add_groups(groups, by_rules, "")
    return groups


def _find_by_rules(batch: Batch) -> QuerySet[Judgment]:
    return Judgment.objects.filter(arm__batch=batch, arm__task__in=SCORED_TASKS, outcome__in=AUDITED)


def _find_later(batch: Batch, scope: str) -> QuerySet[Interpretation]:
    found = Interpretation.objects.filter(judgment__arm__batch=batch, judgment__arm__task__in=SCORED_TASKS)
    if scope == Audit.Scope.FORMATTER:
        return found.filter(reader=Interpretation.Reader.FORMATTER)
    return found.filter(outcome__in=AUDITED)


def _was_current(at: datetime.datetime) -> Q:
    return Q(superseded_by__isnull=True) | Q(superseded_by__made_at__gt=at)


def _add_groups(groups: Counter[FrameGroup], found: QuerySet[Any], path: str) -> None:
    columns = (f"{path}arm__variant__label", f"{path}arm__task", "outcome", "n_attributes")
    for *group, n in found.order_by().values_list(*columns).annotate(n=Count("pk")).order_by(*columns):
        groups[tuple(group)] += n


def read_report(audit: Audit, reviewer: User | None = None) -> dict[str, Any]:
    """The results of an audit, or what one reviewer's marks alone would give. Reads audit.batch."""
    rows = audit.items.order_by("position").values_list(
        "pk", "judgment__arm__variant__label", "judgment__arm__task", "reader", "outcome", "n_attributes"
    )
    marks = audit.marks if reviewer is None else audit.marks.filter(reviewer=reviewer)
    blind = marks.blind().order_by("pk")
    columns = ("item", "reviewer__username", "outcome", "n_attributes", "n_warranted")
    # In the order they were made: a later one takes the place of an earlier.
    latest = {(row[0], row[1]): Mark(*row) for row in blind.values_list(*columns)}
    first = [Mark(*row) for row in blind.filter(number=1).values_list(*columns)]
    frame = count_frame(audit)
    report = build_audit_report([Item(*row) for row in rows], list(latest.values()), first, frame)
    found, after_opening = sum(frame.values()), marks.filter(after_opening=True).count()
    if found != audit.frame:
        report["warnings"].append(
            f"{audit.frame:,} interpretations were drawn from, and {found:,} are found of that moment now: some were being "
            "stored while the sample was drawn. Corrected scores use those found."
        )
    if after_opening:
        were = "1 mark was" if after_opening == 1 else f"{after_opening:,} marks were"
        report["warnings"].append(
            f"{were} made after the reviewer had opened these results. Such marks are not blind: they are kept, but excluded "
            "from every figure here."
        )
    return {"second_thoughts": blind.filter(number__gt=1).count(), "after_opening": after_opening, **report}


def write_report(audit: Audit) -> dict[str, object]:
    """The results as JSON. Scores are unrounded, what is not defined is null."""
    return {
        "audit": audit.number,
        "batch": audit.batch_id,
        "scope": audit.scope,
        "size": audit.size,
        "seed": audit.seed,
        "frame": audit.frame,
        **read_report(audit),
    }
