"""What every page of a batch begins with: the batch, who was asked with which words, and its report."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from auditapp.batches.models import Batch
from auditapp.sob import queries
from auditapp.sob.instruments import BASE_TASK, load_instruments
from auditapp.sob.kind import KIND
from auditapp.sob.models import Dataset
from auditapp.sob.queries import AskedArm
from auditapp.sob.report_store import read_report
from auditapp.sob.showing.figures import Counting, Figures, in_words
from transcripts.projects.access import ProjectRequest

HASH_SHOWN = 12


class Words(NamedTuple):
    """The wording one task was asked with; ``comparable`` says that it is a published one."""

    task: str
    name: str
    sha256: str
    comparable: bool

    @property
    def told(self) -> str:
        """What a reader must know of it, in words; "" where it is a published wording."""
        if self.task == BASE_TASK:
            return "our reconstruction; no score"
        return "" if self.comparable else "the study’s own wording: not comparable with any other"

    @property
    def task_in_words(self) -> str:
        """The task for reading."""
        return in_words(self.task)

    @property
    def short_hash(self) -> str:
        """Enough of the hash to tell wordings apart."""
        return self.sha256[:HASH_SHOWN]


class Opened(NamedTuple):
    """A batch with its arms. ``figures`` is ``None`` while the report is being computed."""

    batch: Batch
    dataset: Dataset | None
    arms: list[AskedArm]
    figures: Figures | None
    as_of: datetime.datetime | None

    def describe(self, here: str) -> dict[str, Any]:
        """What the frame of every page needs; ``here`` is its place among the pages of the batch."""
        return {
            "batch": self.batch,
            "dataset": self.dataset,
            "arms": self.arms,
            "figures": self.figures,
            "as_of": self.as_of,
            "here": here,
            "has_fake": any(arm.variant.is_fake for arm in self.arms),
            "words": list_words(self.batch),
            "versions": self.figures.report.get("versions", {}) if self.figures else {},
        }


def find_batch(request: ProjectRequest, batch_id: int) -> Batch:
    """A batch of the benchmark in the study that was opened. Raises Http404."""
    return get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)


def open_batch(batch: Batch) -> Opened:
    """The batch with its report, which may still be under way."""
    arms = queries.read_arms(batch)
    stored = read_report(batch)
    figures = Figures(stored.report) if stored else None
    return Opened(batch, queries.find_dataset(batch), arms, figures, stored.as_of if stored else None)


def list_words(batch: Batch) -> list[Words]:
    """The wordings of a batch, each once."""
    found = {}
    for task, settings, prompt_hash in batch.arms.values_list("task", "settings", "prompt_hash"):
        sha256 = str(settings.get("sha256") or prompt_hash)
        name = str(settings.get("instrument") or "of its own")
        found[task, sha256] = Words(task, name, sha256, sha256 in _published_hashes())
    return sorted(found.values())


@cache
def _published_hashes() -> frozenset[str]:
    return frozenset(instrument.sha256 for instrument in load_instruments() if instrument.task != BASE_TASK)


def read_choice(request: HttpRequest, *names: str) -> dict[str, str]:
    """What an address asks for, without what no database takes."""
    return {name: request.GET.get(name, "").replace("\x00", "") for name in names}


def read_counting(request: HttpRequest) -> Counting:
    """The way of counting an address asks for; the paper's where it names none that there is."""
    asked = request.GET.get("counting", "")
    return Counting(asked) if asked in set(Counting) else Counting.PAPER


def pick(asked: str, offered: list[str]) -> str:
    """The choice asked for where it is offered, else the first; "" where nothing is."""
    return asked if asked in offered else next(iter(offered), "")
