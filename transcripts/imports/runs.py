"""A run of a job, as the function of its kind sees it."""

from __future__ import annotations

import datetime
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from django.db import connection, transaction
from django.db.models import Sum
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from transcripts.imports.models import ImportJob, ResultPart
from transcripts.imports.queries import name_masked_files, read_file, read_parts
from transcripts.refusals import Refused

TELL_SECONDS = 1.0
PART_BYTES = 1 << 20
# The files that jobs have made are kept so long, and a study's together take at most so much room in the database.
RESULT_KEPT = datetime.timedelta(days=7)
MAX_RESULT_BYTES = 1 << 30
State = ImportJob.State


class JobStopped(Exception):
    """The job is this run's no more: it was cancelled, or another run has it. What this run has stored is to be removed."""


class JobPaused(Exception):
    """The worker has to end. What is stored stays, and the next run goes on from there."""


class JobRun:
    """What a run reads, and how it tells how far it is. Each run has a token; see ``ImportJob.runner``."""

    def __init__(self, job: ImportJob, *, should_pause: Callable[[], bool] = lambda: False) -> None:
        self.job = job
        self.should_pause = should_pause
        # Set while a thread shows that the run is alive, and by that thread when the job is this run's no more.
        self.has_pulse = False
        # Set while rows are read one after the other: SQLite lets a connection that does so not write.
        self.is_reading = False
        self.is_stopped = False
        self._untold: dict[str, object] = {}
        self._told_at = 0.0
        self._told = ""
        # How far the run before this one came.
        self._before = (job.stage, job.done)

    def read_files(self) -> list[tuple[str, bytes]]:
        """Names and contents of the files."""
        return [(file["name"], read_file(self.job, number)) for number, file in enumerate(self.job.files)]

    @contextmanager
    def unpack_files(self) -> Iterator[list[tuple[str, Path]]]:
        """Names of the files, and paths where their contents lie within the block: for those that are too large to be held in
        memory."""
        with tempfile.TemporaryDirectory(prefix="auditapp-import-") as folder:
            files = []
            for number, file in enumerate(self.job.files):
                path = Path(folder, str(number))
                with path.open("wb") as stream:
                    for part in read_parts(self.job, number):
                        stream.write(part)
                files.append((file["name"], path))
            yield files

    def tell(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Say how far the run is; at most once a second is this written. Raises ``JobStopped`` or ``JobPaused``.

        Within a transaction nobody would see it, and while rows are read it cannot be written: then the thread that shows
        that the run is alive writes it.
        """
        if self.should_pause():
            raise JobPaused
        if self.has_pulse and (self.is_reading or connection.in_atomic_block):
            if self.is_stopped:
                raise JobStopped
            self._untold = {"stage": stage, "done": done, "total": total}
            return
        now = time.monotonic()
        if now - self._told_at < TELL_SECONDS and stage == self._told:
            return
        # One that gets further than the run before it is not one of many that die at the same place.
        reset = {"lost_runs": 0} if stage == self._before[0] and done > self._before[1] else {}
        self._told_at, self._told = now, stage
        self._update(stage=stage, done=done, total=total, touched_at=timezone.now(), **reset)

    @property
    def has_untold(self) -> bool:
        """Whether something was told that is not written yet."""
        return bool(self._untold)

    def beat(self) -> None:
        """Show that the run is alive, and write what was told within a transaction. Raises ``JobStopped``."""
        untold, self._untold = self._untold, {}
        try:
            self._update(touched_at=timezone.now(), **untold)
        except JobStopped:
            self.is_stopped = True
            raise

    def finish(self, outcome: dict[str, object], *, hides_files: bool = False) -> None:
        """The files are checked, or what they hold is visible: part of the transaction that makes it so.

        ``hides_files``: the job no longer says what its files were called, nor what was chosen of them. Raises ``JobStopped``,
        which takes that transaction back.
        """
        state = State.CHECKED if self.job.check_only else State.DONE
        hidden: dict[str, object] = {}
        if hides_files:
            hidden = {"files": name_masked_files(self.job), "options": {}}
        self._end(state, outcome=outcome, **hidden)

    def store_result(self, path: Path) -> None:
        """Keep a file that the run has made, instead of what a run before this one left of it.

        Raises ``Refused`` where the study has no room for it, ``JobStopped`` or ``JobPaused``.
        """
        size = path.stat().st_size
        others = ImportJob.objects.filter(project=self.job.project_id, expires_at__gt=timezone.now())
        used = others.aggregate(sum=Sum("result_size"))["sum"] or 0
        if used + size > MAX_RESULT_BYTES:
            raise Refused(
                f"The file has {filesizeformat(size)}, and the files that were made for this study take "
                f"{filesizeformat(used)} of {filesizeformat(MAX_RESULT_BYTES)} already. Delete some on their pages, or wait: "
                f"each is deleted {RESULT_KEPT.days} days after it was made."
            )
        delete_results(self.job)
        with path.open("rb") as stream:
            for position, data in enumerate(iter(partial(stream.read, PART_BYTES), b"")):
                self.tell("Storing the file", position * PART_BYTES, size)
                with transaction.atomic():
                    self.beat()
                    ResultPart.objects.create(job=self.job, position=position, data=data)

    def finish_with_file(self, size: int, outcome: dict[str, object]) -> None:
        """The file is stored: part of the transaction that records it. Raises ``JobStopped``."""
        self._end(State.DONE, outcome=outcome, result_size=size, expires_at=timezone.now() + RESULT_KEPT)

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


def delete_results(job: ImportJob) -> None:
    """Delete the pieces of the file that a job has made."""
    while ids := list(ResultPart.objects.filter(job=job).values_list("pk", flat=True)[:4]):
        ResultPart.objects.filter(pk__in=ids).delete()
