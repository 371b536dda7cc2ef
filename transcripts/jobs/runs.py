"""The kinds of jobs, queries about jobs, and the object by which the function of a kind reads files and reports progress."""

from __future__ import annotations

import datetime
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Q, Sum
from django.forms import Form
from django.http import QueryDict
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.hooks import job_waiting, load_registrations, send
from transcripts.jobs.models import ImportJob, ResultPart, UploadPart
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission, Role

# A run shows that it is alive every ten seconds.
SILENT_AFTER = datetime.timedelta(seconds=60)
# A worker checks every five seconds, so a job that waits longer has no worker, or waits for other jobs.
LONG_WAIT = datetime.timedelta(seconds=30)
RECENT = 10
TELL_SECONDS = 1.0
PART_BYTES = 1 << 20
# The files that jobs have made are kept this long, and those of a study may take this much space in the database.
RESULT_KEPT = datetime.timedelta(days=7)
MAX_RESULT_BYTES = 1 << 30
State = ImportJob.State


def is_free(now: datetime.datetime) -> Q:
    """A condition on jobs that a run may take: they are waiting, or their run was killed."""
    return Q(state=ImportJob.State.WAITING) | Q(state=ImportJob.State.RUNNING, touched_at__lt=now - SILENT_AFTER)


def find_free_jobs() -> list[int]:
    """The jobs that a run may take, oldest first."""
    return list(ImportJob.objects.filter(is_free(timezone.now())).order_by("pk").values_list("pk", flat=True))


def list_recent_jobs(study: Study, kind: str, user: User) -> list[ImportJob]:
    """The last jobs of a kind in a study as a person may see them, newest first."""
    jobs = list(ImportJob.objects.filter(study=study, kind=kind).select_related("study")[:RECENT])
    for job in jobs:
        cover(job, user)
    return jobs


def name_masked_files(job: ImportJob) -> list[dict[str, object]]:
    """Give the files of a job names that reveal nothing."""
    return [{**file, "name": f"Masked file {number}"} for number, file in enumerate(job.files, 1)]


def cover(job: ImportJob, user: User) -> None:
    """Remove what is closed to a person from a job for display. The object must not be saved afterwards."""
    if not job.is_closed_to(user.pk):
        return
    job.files, job.outcome = name_masked_files(job), {}
    if job.state == ImportJob.State.REFUSED:
        job.problem = (
            f"Nothing was stored. {job.asked_by_name} can see why, because these files were to be imported masked."
        )


def list_own_files(study: Study, user: User) -> list[ImportJob]:
    """The last jobs that make files for a person in a study, newest first."""
    jobs = ImportJob.objects.filter(study=study, asked_by=user, files=[])
    return list(jobs.select_related("study")[:RECENT])


def waits_long(job: ImportJob) -> bool:
    """Whether no worker has taken the job although it has waited for a while."""
    return job.state == ImportJob.State.WAITING and job.touched_at < timezone.now() - LONG_WAIT


def read_file(job: ImportJob, number: int) -> bytes:
    """The contents of one of the job's files."""
    return b"".join(read_parts(job, number))


def read_parts(job: ImportJob, number: int) -> Iterator[bytes]:
    """The contents of one of the job's files, piece by piece."""
    parts = UploadPart.objects.filter(job=job, file=number)
    for position in range(parts.count()):
        yield bytes(parts.values_list("data", flat=True).get(position=position))


def read_result(job: ImportJob) -> Iterator[bytes]:
    """The file that a job made, piece by piece."""
    parts = ResultPart.objects.filter(job=job).order_by("position")
    for position in range(parts.count()):
        yield bytes(parts.values_list("data", flat=True).get(position=position))


class JobStopped(Exception):
    """The job no longer belongs to this run: it was cancelled, or another run has it. What this run has stored must be removed."""


class JobPaused(Exception):
    """The worker has to end. What is stored stays, and the next run continues from there."""


class JobRun:
    """A run: its files, and its progress reports. Each run has a token; see ``ImportJob.runner``."""

    def __init__(self, job: ImportJob, *, should_pause: Callable[[], bool] = lambda: False) -> None:
        self.job = job
        self.should_pause = should_pause
        # Set while a thread shows that the run is alive, and by that thread when the job no longer belongs to this run.
        self.has_pulse = False
        # Set while rows are read one after the other, because SQLite does not allow such a connection to write.
        self.is_reading = False
        self.is_stopped = False
        self._untold: dict[str, object] = {}
        self._told_at = 0.0
        self._told = ""
        # The progress of the previous run.
        self._before = (job.stage, job.done)

    def read_files(self) -> list[tuple[str, bytes]]:
        """Names and contents of the files."""
        return [(file["name"], read_file(self.job, number)) for number, file in enumerate(self.job.files)]

    @contextmanager
    def unpack_files(self) -> Iterator[list[tuple[str, Path]]]:
        """The names of the files, and paths of their contents within the block, for files that are too large for memory."""
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
        """Report the progress of the run; it is written at most once a second. Raises ``JobStopped`` or ``JobPaused``.

        Within a transaction nobody would see the progress, and while rows are read it cannot be written; then the thread that
        shows that the run is alive writes it.
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
        # A run that gets further than the previous one does not count as dying at the same place.
        reset = {"lost_runs": 0} if stage == self._before[0] and done > self._before[1] else {}
        self._told_at, self._told = now, stage
        self._update(stage=stage, done=done, total=total, touched_at=timezone.now(), **reset)

    @property
    def has_untold(self) -> bool:
        """Whether some progress has not been written yet."""
        return bool(self._untold)

    def beat(self) -> None:
        """Show that the run is alive, and write progress that was reported within a transaction. Raises ``JobStopped``."""
        untold, self._untold = self._untold, {}
        try:
            self._update(touched_at=timezone.now(), **untold)
        except JobStopped:
            self.is_stopped = True
            raise

    def finish(self, outcome: dict[str, object], *, hides_files: bool = False) -> None:
        """Mark the files as checked, or their contents as visible; part of the transaction that does this.

        ``hides_files``: the job no longer has the names of its files, nor the choices for them. Raises ``JobStopped``, which
        rolls that transaction back.
        """
        state = State.CHECKED if self.job.check_only else State.DONE
        hidden: dict[str, object] = {}
        if hides_files:
            hidden = {"files": name_masked_files(self.job), "options": {}}
        self._end(state, outcome=outcome, **hidden)

    def store_result(self, path: Path) -> None:
        """Store a file that the run has made, in place of remains of an earlier run.

        Raises ``Refused`` if the study has no space for it, ``JobStopped`` or ``JobPaused``.
        """
        size = path.stat().st_size
        others = ImportJob.objects.filter(study=self.job.study_id, expires_at__gt=timezone.now())
        used = others.aggregate(sum=Sum("result_size"))["sum"] or 0
        if used + size > MAX_RESULT_BYTES:
            raise Refused(
                f"The file is {filesizeformat(size)}, and the files of this study already take up {filesizeformat(used)} "
                f"of {filesizeformat(MAX_RESULT_BYTES)}. Delete some on their pages, or wait: "
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
        """Mark the job as done with its file; part of the transaction that records it. Raises ``JobStopped``."""
        self._end(State.DONE, outcome=outcome, result_size=size, expires_at=timezone.now() + RESULT_KEPT)

    def fail(self, state: str, problem: str) -> None:
        """End the job with the reason why nothing was stored. Raises ``JobStopped``."""
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


def import_permission(_job: ImportJob) -> Permission:
    """The permission that imports need."""
    return Permission.IMPORT


class JobKind(NamedTuple):
    """One kind of job.

    ``run`` reads the files of a run, stores what they hold and calls ``JobRun.finish`` in the transaction that makes it
    visible; where the job is only to be checked it stores nothing. Raises ``Refused``. ``template`` shows the ``outcome`` of a
    job, ``page`` is the name of the address for starting another. ``permission`` is what a person needs for this job; with
    ``is_own`` she is the only one who sees it. ``check_taking`` raises ``Refused`` if she may no longer download its file.
    ``read_choices`` reads her choices after a check, which are added to the options. ``make_form`` makes their form, for the
    template and to refuse invalid choices.
    """

    name: str
    label: str
    # What progress counts, in the plural.
    counted: str
    run: Callable[[JobRun], None]
    template: str
    page: str
    noun: str = "import"
    permission: Callable[[ImportJob], Permission] = import_permission
    is_own: bool = False
    check_taking: Callable[[ImportJob, User, Role], None] = lambda _job, _user, _role: None
    read_choices: Callable[[QueryDict], Mapping[str, object]] = lambda _data: {}
    make_form: Callable[[QueryDict | None, Mapping[str, object]], Form] | None = None


_kinds: dict[str, JobKind] = {}


def register_job_kind(kind: JobKind) -> None:
    """Add a kind. Called in an app's ``registrations``."""
    _kinds[kind.name] = kind


def find_kind(name: str) -> JobKind:
    """The kind of this name. Raises ``KeyError``."""
    load_registrations()
    return _kinds[name]


def notify_workers(job_id: int) -> None:
    """Notify workers of a job immediately. If the message is lost, they still find the job within seconds."""
    send(job_waiting, job_id=job_id)
