"""Imports and exports that a worker runs, because they would make people at the desk wait."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from transcripts.studies.models import Study


class ImportJob(models.Model):
    """A task for a worker and its progress: usually, reading uploaded files, which are in ``UploadPart``.

    ``files`` lists their names and sizes, ``options`` has the person's other choices, and ``outcome`` is the report; the
    content of the latter two depends on ``kind`` (runs.py). A file that a job makes is in ``ResultPart`` until it expires.
    """

    class State(models.TextChoices):
        UPLOADING = "uploading", "Being uploaded"
        WAITING = "waiting", "Waiting for a worker"
        RUNNING = "running", "Running"
        CHECKED = "checked", "Checked, not imported"
        DONE = "done", "Done"
        REFUSED = "refused", "Refused"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    # States that can still change. The files of these jobs are kept.
    OPEN: ClassVar = (State.UPLOADING, State.WAITING, State.RUNNING, State.CHECKED)

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="import_jobs")
    kind = models.CharField(max_length=40)
    files = models.JSONField(default=list)
    options = models.JSONField(default=dict)
    # Report what would be imported, and store nothing.
    check_only = models.BooleanField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="import_jobs")
    asked_by_name = models.CharField(max_length=200)
    asked_at = models.DateTimeField()
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.UPLOADING, help_text="State of the job."
    )
    # The token of the run that has the job now. A run with another token stores nothing.
    runner = models.CharField(max_length=32, blank=True)
    # The last heartbeat of the upload or of the run.
    touched_at = models.DateTimeField()
    # Consecutive runs that died without progress.
    lost_runs = models.PositiveSmallIntegerField(default=0)
    stage = models.CharField(max_length=100, blank=True)
    done = models.PositiveBigIntegerField(default=0, help_text="How much is done so far.")
    total = models.PositiveBigIntegerField(default=0, help_text="How much there is to do; 0: unknown.")
    outcome = models.JSONField(default=dict)
    problem = models.TextField(blank=True, help_text="Why it was refused, or failed; else empty.")
    ended_at = models.DateTimeField(null=True, blank=True)
    # The size of the file that it made, and how long it is kept. Its name is in ``outcome["file"]``.
    result_size = models.PositiveBigIntegerField(
        default=0, help_text="Bytes of the file that it wrote; 0: there is none."
    )
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="Until when the file is kept; empty: there is none."
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            # Workers look for these every five seconds.
            models.Index(
                fields=["state"],
                name="%(app_label)s_%(class)s_open",
                condition=models.Q(state__in=["uploading", "waiting", "running", "checked"]),
            )
        ]

    def __str__(self) -> str:
        return ", ".join(file["name"] for file in self.files) or str(self.options.get("name", self.kind))

    def get_absolute_url(self) -> str:
        """Reads self.study: costs a query when it is not loaded."""
        return reverse("jobs:job", args=[self.study.slug, self.pk])

    def is_closed_to(self, person_id: int) -> bool:
        """Whether its files are imported masked and belong to somebody else: their names, their contents, and the reasons for a
        refusal would reveal what is sealed."""
        return bool(self.options.get("mask")) and self.asked_by_id != person_id

    @property
    def is_open(self) -> bool:
        """Whether its state can still change."""
        return self.state in self.OPEN

    @property
    def has_file(self) -> bool:
        """Whether the file that it made is still kept."""
        return self.expires_at is not None and self.expires_at > timezone.now()


class UploadPart(models.Model):
    """A piece of an uploaded file, in the database so that any worker finds it. Deleted when its job has ended."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="parts")
    # The place of the file among those of the job, and of the piece in the file.
    file = models.PositiveIntegerField()
    position = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering: ClassVar = ["file", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "file", "position"], name="%(app_label)s_%(class)s_one_per_position")
        ]

    def __str__(self) -> str:
        return f"part {self.position} of file {self.file} of job {self.job_id}"


class ResultPart(models.Model):
    """A piece of the file that a job made, in the database so that every web server finds it. Deleted when it expires."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="results")
    position = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "position"], name="%(app_label)s_%(class)s_one_per_position")
        ]

    def __str__(self) -> str:
        return f"part {self.position} of the file of job {self.job_id}"
