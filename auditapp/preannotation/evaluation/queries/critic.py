"""What critics said of suggestions: the verdict that stands for each, and how often each critic reversed a code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from copy import copy
from typing import Any

from django.db.models import QuerySet

from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.llm.models import ModelVariant
from auditapp.preannotation.models import Annotator, CriticReading
from transcripts.codebook.models import Code
from transcripts.projects.models import Project
from transcripts.statistics.intervals import wilson_interval

REVERSED, UPHELD = CriticReading.Verdict.REVERSED, CriticReading.Verdict.UPHELD
MAX_AT_ONCE = 5_000
SCHEMA_PATH = f"cell__arm__settings__{ANSWER_SCHEMA}"


def find_verdicts(suggestion_ids: Collection[int]) -> dict[int, CriticReading]:
    """By suggestion: the latest reading that came to a verdict, with its critic."""
    wanted = sorted(suggestion_ids)
    found: dict[int, CriticReading] = {}
    for first in range(0, len(wanted), MAX_AT_ONCE):
        rows = CriticReading.objects.filter(suggestion__in=wanted[first : first + MAX_AT_ONCE]).exclude(verdict="")
        found |= {row.suggestion_id: row for row in rows.select_related("cell__arm__variant").order_by("cell_id")}
    return found


def list_read(annotator: Annotator, critic: ModelVariant, answer_schema: str = "") -> set[int]:
    """The suggestions of the annotator on which this critic has come to a verdict, its answers held to a schema of this form,
    or to none."""
    rows = CriticReading.objects.filter(suggestion__annotator=annotator, cell__arm__variant=critic).exclude(verdict="")
    held = {SCHEMA_PATH: answer_schema} if answer_schema else {f"{SCHEMA_PATH}__isnull": True}
    return set(rows.filter(**held).values_list("suggestion_id", flat=True))


def list_criticised(project: Project) -> list[Annotator]:
    """The annotators of which a critic has read something."""
    read = CriticReading.objects.filter(suggestion__annotator__project=project).values("suggestion__annotator")
    return list(Annotator.objects.filter(pk__in=read).select_related("variant__account", "version").order_by("pk"))


def find_tested_interviews(annotator: Annotator) -> set[int]:
    """The interviews in which a critic has read something of the annotator's."""
    rows = CriticReading.objects.filter(suggestion__annotator=annotator)
    return set(rows.values_list("suggestion__sentence__turn__interview_id", flat=True))


def count_reversals(
    annotator: Annotator, *, seen: Collection[int] | None = None
) -> list[tuple[ModelVariant, list[dict[str, Any]]]]:
    """Each critic of the annotator, with its reversals by code; critics are kept apart, also the same model with its answers
    held to a schema (``held_to_schema``) and without. ``seen``: in these interviews.

    ``n`` counts suggestions with a usable verdict, of which the latest counts: ``reversed`` or ``upheld``.
    """
    ends: dict[tuple[int, bool], dict[int, tuple[str, str]]] = {}
    columns = ("cell__arm__variant_id", SCHEMA_PATH, "suggestion_id", "suggestion__code__identifier", "verdict")
    rows = _limit(CriticReading.objects.filter(suggestion__annotator=annotator), seen).order_by("cell_id")
    for critic, form, suggestion, code, verdict in rows.values_list(*columns).iterator(chunk_size=MAX_AT_ONCE):
        own = ends.setdefault((critic, bool(form)), {})
        # An answer of no use takes nothing from the one before it.
        if verdict or suggestion not in own:
            own[suggestion] = (code, verdict)
    variants = ModelVariant.objects.select_related("account").in_bulk([critic for critic, _ in ends])
    codes = list(Code.objects.filter(version=annotator.version_id).order_by("family__position", "position"))
    found = []
    for (key, is_held), own in ends.items():
        critic = copy(variants[key])
        critic.held_to_schema = is_held
        found.append((critic, _count(codes, Counter(own.values()))))
    return found


def _count(codes: list[Code], ends: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    rows = []
    for code in codes:
        taken, upheld = ends[code.identifier, REVERSED], ends[code.identifier, UPHELD]
        unusable, n = ends[code.identifier, ""], taken + upheld
        if n or unusable:
            counts = {"code": code, "n": n, "reversed": taken, "upheld": upheld, "unusable": unusable}
            rows.append({**counts, "rate": taken / n if n else None, "interval": wilson_interval(taken, n)})
    return rows


def list_readings(
    annotator: Annotator, *, code: str, verdict: str, seen: Collection[int] | None = None
) -> list[CriticReading]:
    """The readings behind a count, latest last: of one code, with one verdict, each suggestion once per critic."""
    every = CriticReading.objects.filter(suggestion__annotator=annotator, suggestion__code__identifier=code)
    rows = _limit(every, seen)
    latest: dict[tuple[int, bool, int], CriticReading] = {}
    related = ("cell__arm__variant__account", "suggestion__sentence__turn__interview", "suggestion__code")
    for row in rows.exclude(verdict="").select_related(*related).order_by("cell_id"):
        arm = row.cell.arm
        latest[arm.variant_id, bool(arm.settings.get(ANSWER_SCHEMA)), row.suggestion_id] = row
    return [row for row in latest.values() if row.verdict == verdict]


def _limit(rows: QuerySet[CriticReading], seen: Collection[int] | None) -> QuerySet[CriticReading]:
    if seen is None:
        return rows
    return rows.filter(suggestion__sentence__turn__interview__in=sorted(seen))
