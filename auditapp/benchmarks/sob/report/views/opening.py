"""What every page of a batch needs: the batch, its arms and wordings, and its report."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset, StoredReport
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.showing.figures import Counting, Figures
from auditapp.benchmarks.sob.queries import KIND, count_readers, list_wordings
from auditapp.benchmarks.sob.report.computing import ReportChoice, ReportInputs, read_inputs
from auditapp.benchmarks.sob.report.requests import read_report
from auditapp.benchmarks.sob.report.store import find_failure, find_start
from auditapp.benchmarks.sob.tables.queries import find_texts
from auditapp.benchmarks.sob.texts.queries import find_dataset, name_targets
from auditapp.llm.queries import list_noted
from transcripts.studies.access import ProjectRequest


class Opened(NamedTuple):
    """A batch with its arms. ``figures`` is ``None`` while the report is being computed; ``is_current`` says that nothing
    has changed since they were, and ``failure`` why there are no newer ones."""

    inputs: ReportInputs
    dataset: Dataset | None
    figures: Figures | None = None
    as_of: datetime.datetime | None = None
    is_current: bool = True
    failure: StoredReport | None = None

    def describe(self) -> dict[str, Any]:
        """What the frame of every page of the batch needs."""
        return {
            **(self.describe_counting() if self.figures is None else {}),
            "batch": self.inputs.batch,
            "dataset": self.dataset,
            "arms": self.inputs.arms,
            "figures": self.figures,
            "as_of": self.as_of,
            "is_current": self.is_current,
            "failure": self.failure,
            "has_fake": any(arm.variant.is_fake for arm in self.inputs.arms),
            "noted": list_noted(arm.variant for arm in self.inputs.arms),
            "readers": count_readers([arm.arm_id for arm in self.inputs.arms], self.inputs.cells),
            "targets_named_by": name_targets(self.dataset),
            "wordings": list_wordings(self.inputs.arms),
            "versions": self.figures.report.get("versions", {}) if self.figures else {},
        }

    def describe_counting(self) -> dict[str, Any]:
        """What is being counted while there are no figures yet."""
        since = find_start(self.inputs.batch, self.inputs.choice)
        return {"counting_answers": self.inputs.n_answers, "counting_since": since}


def describe_base(figures: Figures) -> dict[str, Any]:
    """The verdicts of the Base prompt by model, and the attribution rate of the scored tasks; for ``sob/_base.html``."""
    return {
        "base_task": BASE_TASK,
        "base_alarms": figures.list_base_alarms(),
        "base": [
            {**entry, "scores": [figures.find_cell(entry["model"], task, OVERALL) for task in figures.tasks]}
            for entry in figures.find("base", target=OVERALL)
        ],
    }


def find_batch(request: ProjectRequest, batch_id: int) -> Batch:
    """A batch of the benchmark in the study that was opened. Raises Http404."""
    return get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)


def open_batch(batch: Batch, options: ReportChoice | None = None) -> Opened:
    """The batch with its report, which may not be computed yet."""
    inputs = read_inputs(batch, options)
    stored = read_report(inputs)
    dataset = find_dataset(batch)
    failure = None if stored and stored.is_current else find_failure(batch, inputs.choice)
    if stored is None:
        return Opened(inputs, dataset, failure=failure)
    return Opened(inputs, dataset, Figures(stored.report), stored.as_of, stored.is_current, failure)


def read_choice(request: HttpRequest, *names: str) -> dict[str, str]:
    """What an address asks for. Raises Http404 for a NUL character, which no name can have."""
    asked = {name: request.GET.get(name, "") for name in names}
    if any("\x00" in value for value in asked.values()):
        raise Http404("Nothing in this batch has this name.")
    return asked


def read_counting(request: HttpRequest) -> Counting:
    """The way of counting an address asks for; the paper's where it names none. Raises Http404 for an unknown one."""
    asked = request.GET.get("counting", "") or Counting.PAPER
    if asked not in set(Counting):
        raise Http404("There is no such counting. Choose paper, strict or released.")
    return Counting(asked)


def choose(asked: str, offered: list[str]) -> str:
    """As ``pick``, but raises Http404 for a choice that is not offered, unless nothing is offered yet."""
    if asked and offered and asked not in offered:
        raise Http404("There is no such model, task or target in this batch.")
    return pick(asked, offered)


def check_target(batch: Batch, target: str) -> None:
    """Raise Http404 for a target that no text of the batch has."""
    if target not in {"", OVERALL} and not find_texts(batch).filter(target=target).exists():
        raise Http404("There is no such target in this batch.")


def pick(asked: str, offered: list[str]) -> str:
    """The choice asked for where it is offered, else the first; "" where nothing is."""
    return asked if asked in offered else next(iter(offered), "")
