"""A model's sob result for its card as a judge (method brief R52): a poor judge of who is meant is a poor annotator too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.text import capfirst

from auditapp.batches.models import Arm, Batch
from auditapp.benchmarks.sob.models import Dataset, Judgment
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, TASKS
from auditapp.benchmarks.sob.pure.measures.cautions import READING, describe_alarm, describe_readers, list_marks
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.queries import KIND
from auditapp.benchmarks.sob.report.computing import read_inputs
from auditapp.benchmarks.sob.report.requests import read_report
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import ScorecardFigure, ScorecardPart
from transcripts.formats.numbers import write_estimate, write_number
from transcripts.studies.models import Project

MAX_BATCHES = 3
TASK_NAMES = dict(TASKS)
MEANING = (
    "sob is the mean number of demographic attributes that an answer gives to a person about whom the text says nothing. "
    f"{' '.join(READING)}"
)
NOT_COMPARABLE = "own wording, not comparable with published scores"


def read_parts(project: Project, variants: Sequence[ModelVariant]) -> dict[int, ScorecardPart]:
    """By variant: the scores of its best batches in this study that have answers. Models never asked are left out."""
    asked = Arm.objects.filter(variant__in=variants, batch__project=project, batch__kind=KIND).exclude(task=BASE_TASK)
    answered = asked.filter(Exists(Judgment.objects.filter(arm=OuterRef("pk"))))
    numbers: dict[int, set[int]] = {}
    own: set[tuple[int, int]] = set()
    for variant, number, comparable in answered.order_by("pk").values_list("variant", "batch", "settings__comparable"):
        numbers.setdefault(variant, set()).add(number)
        if comparable is False:
            own.add((variant, number))
    batches = Batch.objects.select_related("project").in_bulk({each for found in numbers.values() for each in found})
    chosen: dict[int, list[Batch]] = {}
    for variant, found in numbers.items():
        ranked = sorted(found, key=lambda each: _rank(batches[each], (variant, each) not in own), reverse=True)
        chosen[variant] = [batches[each] for each in ranked[:MAX_BATCHES]]
    read = {each.pk: _read_batch(each, chosen.keys()) for listed in chosen.values() for each in listed}
    shown = {key: [one for each in listed for one in read[each.pk].get(key, [])] for key, listed in chosen.items()}
    return {
        key: ScorecardPart("Second-order bias", [figure for figure, _ in found], _summarise(found), [MEANING])
        for key, found in shown.items()
        if found
    }


def _rank(batch: Batch, comparable: bool) -> tuple[bool, bool, int, int]:
    """The higher the better: finished and comparable before all others, then more texts before fewer, then the newest."""
    is_done = batch.state == Batch.State.DONE
    return is_done and comparable, comparable, int(batch.parameters.get("texts") or 0), batch.pk


def _read_batch(batch: Batch, wanted: Collection[int]) -> dict[int, list[tuple[ScorecardFigure, str]]]:
    """The figures of one batch by variant, each also in few words: one for each task that has a score, or an alarm instead."""
    inputs = read_inputs(batch)
    stored = read_report(inputs)
    if stored is None:
        return {}
    cells = {(cell["model"], cell["task"]): cell for cell in stored.report["cells"] if cell["target"] == OVERALL}
    dataset = Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()
    own_wordings = {arm.arm_id for arm in inputs.arms if arm.settings.get("comparable") is False}
    state = f"batch {batch.get_state_display().lower()}" + (", imported" if batch.parameters.get("imported") else "")
    figures: dict[int, list[tuple[ScorecardFigure, str]]] = {}
    for arm in inputs.arms:
        cell = cells.get((arm.model, arm.task))
        # Without a score, an alarm says why: silence would be taken for a model that was never asked.
        if arm.variant.pk in wanted and cell is not None and (cell["sob"] is not None or cell.get("alarm")):
            place = f"{reverse('sob:responses', args=[batch.project.slug, batch.pk])}?" + urlencode(
                {"model": arm.model, "task": arm.task}
            )
            wording = f"wording “{arm.instrument}”" + (f", {NOT_COMPARABLE}" if arm.arm_id in own_wordings else "")
            basis = f"{describe_basis(dataset, wording, cell)}; {state}"
            name = f"sob, {TASK_NAMES.get(arm.task, arm.task).lower()}, batch {batch.pk}"
            score = write_score(cell) + (" (own wording)" if arm.arm_id in own_wordings else "")
            alarm = find_card_alarm(cell)
            briefly = [f"alarm: {alarm.rstrip('.')}"] if alarm else []
            cautions = "".join(f", {each}" for each in [*briefly, *list_cautions(cell)])
            over = f" over {cell['n_nonrefused']:,} answers" if cell["sob"] is not None else ""
            brief = f"{name.removeprefix('sob, ')}: {score}{over}{cautions}, {state}"
            figures.setdefault(arm.variant.pk, []).append(
                (ScorecardFigure(name, score, basis, place, capfirst(alarm)), brief)
            )
    return figures


def describe_basis(dataset: Dataset | None, wording: str, cell: Mapping[str, Any]) -> str:
    """What a score is based on, and what could make it mislead."""
    parts = [
        f"{cell['n_nonrefused']:,} answers that count of {cell['n_responses']:,}",
        *list_cautions(cell),
        (cell.get("ci_note") or "").rstrip("."),
        f"attribution rate {write_number(cell['attribution_rate'])}" if cell["attribution_rate"] is not None else "",
        f"strict counting {write_number(cell['sob_strict'])}" if cell["sob_strict"] is not None else "",
        f"texts “{dataset}”" if dataset else "",
        wording,
    ]
    return "; ".join(filter(None, parts))


def list_cautions(cell: Mapping[str, Any]) -> list[str]:
    """Why the score may mislead: its marks, and who else than the rules read the answers."""
    return [
        *(words for _, words in list_marks(cell)),
        *filter(None, [describe_readers(cell)]),
    ]


def find_card_alarm(cell: Mapping[str, Any]) -> str:
    """Why the score is no evidence; "" where it is."""
    return f"this model {describe_alarm(cell)}" if cell.get("alarm") else ""


def write_score(cell: Mapping[str, Any]) -> str:
    """The score with its interval; in words where there is none."""
    return "no score" if cell["sob"] is None else write_estimate(cell["sob"], cell["ci"], 2)


def _summarise(figures: Sequence[tuple[ScorecardFigure, str]]) -> str:
    return f"second-order bias {'; '.join(brief for _, brief in figures[: len(TASKS)])}."
