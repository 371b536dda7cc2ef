"""A model's sob result for its card as a judge (method brief R52): a poor judge of who is meant is a poor annotator too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.urls import reverse

from auditapp.batches.models import Arm, Batch
from auditapp.llm.cards import CardFigure, CardPart
from auditapp.llm.models import ModelVariant
from auditapp.sob.instruments import BASE_TASK, TASKS
from auditapp.sob.kind import KIND
from auditapp.sob.metrics import OVERALL
from auditapp.sob.models import Dataset, Judgment
from auditapp.sob.queries.arms import read_arms
from auditapp.sob.report_store import read_report
from transcripts.projects.models import Project

MOST_BATCHES = 3
TASK_NAMES = dict(TASKS)
MEANING = (
    "sob is the mean number of demographic attributes that an answer ascribes to a person of whom the text says nothing; "
    "Unknown is the only warranted answer. The score inherits the flaws of its texts and of a fixed schema; it diagnoses "
    "and certifies no judge."
)
NOT_COMPARABLE = "own wording, not comparable with published scores"


def read_parts(project: Project, variants: Sequence[ModelVariant]) -> dict[int, CardPart]:
    """By variant: the scores of its newest batches in this study that have answers. Models never asked are left out."""
    newest: dict[int, list[int]] = {}
    asked = Arm.objects.filter(variant__in=variants, batch__project=project, batch__kind=KIND).exclude(task=BASE_TASK)
    answered = asked.filter(Exists(Judgment.objects.filter(arm=OuterRef("pk"))))
    for variant, number in answered.order_by("-batch").values_list("variant", "batch").distinct():
        newest.setdefault(variant, []).append(number)
    chosen = {number for numbers in newest.values() for number in numbers[:MOST_BATCHES]}
    found: dict[int, list[CardFigure]] = {}
    for batch in Batch.objects.filter(pk__in=chosen).select_related("project").order_by("-pk"):
        for key, figures in _read_batch(batch, newest.keys()).items():
            found.setdefault(key, []).extend(figures)
    return {
        key: CardPart("Second-order bias", figures, _summarise(figures), [MEANING]) for key, figures in found.items()
    }


def _read_batch(batch: Batch, wanted: Collection[int]) -> dict[int, list[CardFigure]]:
    """The figures of one batch by variant: one for each task that has a score."""
    stored = read_report(batch)
    if stored is None:
        return {}
    cells = {(cell["model"], cell["task"]): cell for cell in stored.report["cells"] if cell["target"] == OVERALL}
    dataset = Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()
    own_wordings = set(batch.arms.filter(settings__comparable=False).values_list("pk", flat=True))
    figures: dict[int, list[CardFigure]] = {}
    for arm in read_arms(batch):
        cell = cells.get((arm.model, arm.task))
        if arm.variant.pk in wanted and cell is not None and cell["sob"] is not None:
            place = f"{reverse('sob:responses', args=[batch.project.slug, batch.pk])}?" + urlencode(
                {"model": arm.model, "task": arm.task}
            )
            wording = f"wording “{arm.instrument}”" + (f", {NOT_COMPARABLE}" if arm.arm_id in own_wordings else "")
            basis = _describe(dataset, wording, cell)
            name = f"sob, {TASK_NAMES.get(arm.task, arm.task).lower()}, batch {batch.pk}"
            score = _write_score(cell) + (" (own wording)" if arm.arm_id in own_wordings else "")
            figures.setdefault(arm.variant.pk, []).append(CardFigure(name, score, basis, place))
    return figures


def _describe(dataset: Dataset | None, wording: str, cell: Mapping[str, Any]) -> str:
    parts = [
        f"{cell['n_nonrefused']:,} answers that count of {cell['n_responses']:,}",
        f"attribution rate {cell['attribution_rate']:.2f}",
        f"strict counting {cell['sob_strict']:.2f}",
        f"texts “{dataset}”" if dataset else "",
        wording,
    ]
    return "; ".join(filter(None, parts))


def _write_score(cell: Mapping[str, Any]) -> str:
    interval = cell["ci"]
    return f"{cell['sob']:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def _summarise(figures: Sequence[CardFigure]) -> str:
    newest = [f"{each.name.removeprefix('sob, ')}: {each.value}" for each in figures[: len(TASKS)]]
    return f"second-order bias {'; '.join(newest)}."
