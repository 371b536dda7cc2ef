"""A run of a job, as the function of its kind sees it."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.utils import timezone

from transcripts.imports.models import ImportJob
from transcripts.imports.queries import read_file

TELL_SECONDS = 1.0
State = ImportJob.State


class JobRefused(Exception):
    """The files cannot be taken, or no job can be started; a sentence for the person who asked. Nothing was stored."""


class JobStopped(Exception):
    """The job is this run's no more: it was cancelled, or another run has it. What this run has stored is to be removed."""


class JobPaused(Exception):
    """The worker has to end. What is stored stays, and the next run goes on from there."""


class JobRun:
    """What a run reads, and how it tells how far it is. Each run has a token; see ``ImportJob.runner``."""

    def __init__(self, job: ImportJob, *, should_pause: Callable[[], bool] = lambda: False) -> None:
        self.job = job
        self.should_pause = should_pause
        self._told_at = 0.0
        self._told = ""
        # How far the run before this one came.
        self._before = (job.stage, job.done)

    def read_files(self) -> list[tuple[str, bytes]]:
        """Names and contents of the files."""
        return [(file["name"], read_file(self.job, number)) for number, file in enumerate(self.job.files)]

    def tell(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Say how far the run is; at most once a second is this written. Raises ``JobStopped`` or ``JobPaused``."""
        if self.should_pause():
            raise JobPaused
        now = time.monotonic()
        if now - self._told_at < TELL_SECONDS and stage == self._told:
            return
        # One that gets further than the run before it is not one of many that die at the same place.
        reset = {"lost_runs": 0} if stage == self._before[0] and done > self._before[1] else {}
        self._told_at, self._told = now, stage
        self._update(stage=stage, done=done, total=total, touched_at=timezone.now(), **reset)

    def beat(self) -> None:
        """Show that the run is alive. Raises ``JobStopped``."""
        self._update(touched_at=timezone.now())

    def finish(self, outcome: dict[str, object]) -> None:
        """The files are checked, or what they hold is visible: part of the transaction that makes it so.

        Raises ``JobStopped``, which takes that transaction back.
        """
        state = State.CHECKED if self.job.check_only else State.DONE
        self._end(state, outcome=outcome)

    def fail(self, state: str, problem: str) -> None:
        """Nothing was stored, and why. Raises ``JobStopped``."""
        self._end(state, problem=problem)

    def pause(self) -> None:
        """Leave the job to another run. Raises ``JobStopped``."""
        self._update(state=State.WAITING, runner="", touched_at=timezone.now())

    def _end(self, state: str, **values: object) -> None:
        now = timezone.now()
        ended_at = None if state == State.CHECKED else now
        self._update(state=state, runner="", stage="", touched_at=now, ended_at=ended_at, **values)

    def _update(self, **values: object) -> None:
        found = ImportJob.objects.filter(pk=self.job.pk, state=State.RUNNING, runner=self.job.runner)
        if not found.update(**values):
            raise JobStopped
