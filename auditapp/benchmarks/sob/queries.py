"""What a batch asked: its arms under the names that its figures carry, their families and pairs; who read its answers (rules,
formatters and people, and which of the formatters invent interpretations); what is missing, and what cannot be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count

from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.sob.models import Interpretation, Judgment
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, load_instruments, published_rows
from auditapp.benchmarks.sob.pure.measures.report import PUBLISHED_FAMILIES, PUBLISHED_PAIRS
from auditapp.benchmarks.sob.pure.parsing import ATTRIBUTES
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import list_noted

KIND = "sob"
WITHOUT_REASONING = frozenset({"off", "none", "0"})
# What an import adds to a label that another account bears.
IMPORTED_MARK = " (imported)"
NOT_COMPARABLE = "Not comparable with the published figures, because the wording is not a published one."


class AskedArm(NamedTuple):
    """One arm. ``model`` is the variant's label; where one variant was asked a task in several wordings, with the wording, and
    with its hash where these bear one name. No two arms have the same model and task. ``family`` is what the launch declared
    of the variant; "" where it declared none. ``sha256`` is the hash of the wording, ``settings`` are those of the arm."""

    arm_id: int
    model: str
    task: str
    instrument: str
    variant: ModelVariant
    family: str
    sha256: str
    settings: Mapping[str, Any]


def read_arms(batch: Batch) -> list[AskedArm]:
    """The arms in the order of the launch. One query."""
    arms = list(Arm.objects.filter(batch=batch).select_related("variant__account").order_by("pk"))
    # The wording by name, or by the beginning of its hash.
    wordings = {arm.pk: str(arm.settings.get("instrument") or arm.prompt_hash[:8]) for arm in arms}
    asked = Counter((arm.variant_id, arm.task) for arm in arms)
    several = {variant for (variant, _), count in asked.items() if count > 1}
    names = {
        arm.pk: f"{arm.variant.label} ({wordings[arm.pk]})" if arm.variant_id in several else arm.variant.label
        for arm in arms
    }
    shared = Counter((names[arm.pk], arm.task) for arm in arms)
    for arm in arms:
        if shared[names[arm.pk], arm.task] > 1:
            names[arm.pk] = f"{arm.variant.label} ({wordings[arm.pk]} {arm.prompt_hash[:8]})"
    return [
        AskedArm(
            arm.pk,
            names[arm.pk],
            arm.task,
            wordings[arm.pk],
            arm.variant,
            str(arm.settings.get("family") or ""),
            str(arm.settings.get("sha256") or arm.prompt_hash),
            arm.settings,
        )
        for arm in arms
    ]


def find_families(arms: Sequence[AskedArm]) -> dict[str, str]:
    """The family of each model: as the launch declared it, as published if every label is, else its id.

    An id at several accounts is one family: the same weights are not independent.
    """
    published = _are_published(arms)
    return {arm.model: arm.family or (_name_published_family(arm) if published else arm.variant.model) for arm in arms}


def _are_published(arms: Sequence[AskedArm]) -> bool:
    """Whether every label is one of the published variants, so that the families and pairs of the paper hold."""
    known = {row.model for row in published_rows()}
    return bool(arms) and all(_find_label(arm) in known for arm in arms)


def _find_label(arm: AskedArm) -> str:
    return arm.variant.label.removesuffix(IMPORTED_MARK)


def _name_published_family(arm: AskedArm) -> str:
    label = _find_label(arm)
    return PUBLISHED_FAMILIES.get(label, label)


def find_pairs(arms: Sequence[AskedArm]) -> tuple[tuple[str, str], ...]:
    """One model without and with reasoning, by label, in that order: as published if every label is, else by its setting.

    Both have the same sampling: another temperature would be another difference between them.

    Without a declared family both are at one account. A variant that leaves reasoning to the provider is in no pair, because
    it is not known which of the two it is.
    """
    if _are_published(arms):
        by_label = {(_find_label(arm), arm.instrument): arm.model for arm in arms}
        wordings = dict.fromkeys(arm.instrument for arm in arms)
        found = [[by_label.get((label, each)) for label in pair] for pair in PUBLISHED_PAIRS for each in wordings]
        return tuple((first, second) for first, second in found if first and second)
    without: dict[tuple[str, ...], str] = {}
    reasoning: list[tuple[tuple[str, ...], str]] = []
    for arm in arms:
        setting = arm.variant.reasoning.strip().lower()
        model = (arm.family,) if arm.family else (str(arm.variant.account_id), arm.variant.model)
        key = (*model, arm.instrument, arm.variant.sampling)
        if setting in WITHOUT_REASONING:
            without.setdefault(key, arm.model)
        elif setting:
            reasoning.append((key, arm.model))
    return tuple(dict.fromkeys((without[key], model) for key, model in reasoning if key in without))


def find_schema(arm: Arm | AskedArm) -> Sequence[str]:
    """The characteristics an arm's instrument asks for, in lower case: none for the base task, the ten of the paper where
    it is not recorded which."""
    schema: Sequence[str] | None = arm.settings.get("schema")
    return ATTRIBUTES if schema is None else schema


def list_notices(arms: Sequence[AskedArm]) -> list[str]:
    """The caveats of a batch that its answers do not show: a wording that is not comparable, and the notes on its models."""
    notes = [f"{variant.label}: {variant.note}" for variant in list_noted(arm.variant for arm in arms)]
    return [*([] if is_comparable(arms) else [NOT_COMPARABLE]), *notes]


def count_cells(batch: Batch) -> dict[str, int]:
    """The cells of a batch: all, those that were answered or failed, and those that were cancelled. Needs only an index."""
    states = dict(Cell.objects.filter(batch=batch).order_by().values_list("state").annotate(n=Count("pk")))
    return {
        "cells": sum(states.values()),
        "ended": states.get(Cell.State.DONE, 0) + states.get(Cell.State.FAILED, 0),
        "cancelled": states.get(Cell.State.CANCELLED, 0),
    }


def describe_unfinished(batch: Batch) -> str:
    """A sentence that says how much of the batch is missing; "" if every cell has ended."""
    cells, ended, cancelled = count_cells(batch).values()
    if ended == cells:
        return ""
    waiting = cells - ended - cancelled
    parts = [f"{waiting:,} {'is' if waiting == 1 else 'are'} not answered yet"] if waiting else []
    if cancelled:
        parts.append(f"{cancelled:,} {'was' if cancelled == 1 else 'were'} cancelled")
    return (
        f"The batch is not complete (state: {batch.get_state_display().lower()}): {ended:,} of {cells:,} cells "
        f"have ended, {' and '.join(parts)}. The figures cover the answers so far."
    )


def is_comparable(arms: Sequence[AskedArm]) -> bool:
    """Whether every scored task was asked in a published wording."""
    return all(arm.sha256 in list_published_hashes() for arm in arms if arm.task != BASE_TASK)


def list_wordings(arms: Sequence[AskedArm]) -> list[dict[str, Any]]:
    """The wordings of a batch, each once; ``comparable`` says that it is a published one."""
    found = {
        (arm.task, arm.sha256): {
            "task": arm.task,
            "name": str(arm.settings.get("instrument") or "of its own"),
            "sha256": arm.sha256,
            "comparable": arm.sha256 in list_published_hashes(),
        }
        for arm in arms
    }
    return [wording for _, wording in sorted(found.items())]


@cache
def list_published_hashes() -> frozenset[str]:
    """The hashes of the published wordings of the scored tasks."""
    return frozenset(instrument.sha256 for instrument in load_instruments() if instrument.task != BASE_TASK)


class Readers(NamedTuple):
    """How many answers of a batch have a current interpretation by a formatter or a person. ``invented`` are a fake formatter's;
    only where there are such are all ``answers`` counted."""

    answers: int = 0
    formatter: int = 0
    person: int = 0
    invented: int = 0

    @property
    def later(self) -> int:
        """The answers whose current interpretation was not made by the rules."""
        return self.formatter + self.person


def count_readers(arm_ids: Sequence[int], cells: tuple[int, int]) -> Readers:
    """The current interpretations, by who made them; ``cells`` is the range of the batch's cells."""
    first, last = cells
    current = Interpretation.objects.filter(judgment__gte=first, judgment__lte=last, superseded_by=None)
    rows = current.filter(judgment__arm__in=arm_ids).order_by()
    counts = rows.values_list("reader", "formatter_cell__arm__variant__account__provider").annotate(n=Count("pk"))
    formatter = person = invented = 0
    for reader, provider, count in counts:
        if reader == Interpretation.Reader.PERSON:
            person += count
        else:
            formatter += count
            invented += count if provider == "fake" else 0
    answers = Judgment.objects.filter(arm__in=arm_ids).count() if invented else 0
    return Readers(answers, formatter, person, invented)


def count_invented(batch: Batch, arm_ids: Sequence[int]) -> int:
    """The current interpretations by a fake formatter."""
    first, last = find_cell_range(batch)
    current = Interpretation.objects.filter(judgment__gte=first, judgment__lte=last, superseded_by=None)
    fake = current.filter(formatter_cell__arm__variant__account__provider="fake")
    return fake.filter(judgment__arm__in=arm_ids).count()


def find_parsers(batch: Batch, arms: Sequence[AskedArm]) -> list[str]:
    """The versions of the rules that read the answers when they came."""
    first, last = find_cell_range(batch)
    asked = {arm.arm_id for arm in arms}
    # Along the keys, once: an index by arm would look up every row by itself.
    rows = Judgment.objects.filter(cell__gte=first, cell__lte=last).order_by()
    return sorted({parser for arm, parser in rows.values_list("arm_id", "parser").distinct() if arm in asked})


def find_cell_range(batch: Batch) -> tuple[int, int]:
    """The first and the last key of a batch's cells; (0, 0) where it has none.

    State by state, as an index has them: asked for all at once, PostgreSQL goes through every cell of other batches.
    """
    with connection.cursor() as cursor:
        cursor.execute(_EDGES, {"batch": batch.pk})
        found = [key for key in cursor.fetchone() or () if key is not None]
    return min(found, default=0), max(found, default=0)


# Written out, for a report asks five times, and the query builder needs ten times as long for it as the database.
_EDGE = "(SELECT id FROM batches_cell WHERE batch_id = %(batch)s AND state = '{}' ORDER BY id {} LIMIT 1)"
_EDGES = "SELECT " + ", ".join(_EDGE.format(state, order) for state in Cell.State.values for order in ("ASC", "DESC"))
