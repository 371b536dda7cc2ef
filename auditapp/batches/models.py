"""The ledger of the batch engine: the database is the queue, and every paid try is a row."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from auditapp.llm.models import ModelVariant
from transcripts.projects.models import Project


class Batch(models.Model):
    """A grid of calls launched together: inputs x arms x repeats, under one cap.

    ``control`` is what people want, ``state`` is where the batch stands. Money is kept in whole nanodollars (1e-9 US
    dollars), so that sums are exact on every database: ``reserved_nano`` is promised to calls under way at their highest
    price (and to tries whose end was lost), ``spent_nano`` is settled. A call is only sent when both together stay within
    ``cap_nano``.
    """

    class Control(models.TextChoices):
        RUN = "run", "Run"
        PAUSE = "pause", "Pause"
        CANCEL = "cancel", "Cancel"

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        CANCELLED = "cancelled", "Cancelled"
        DONE = "done", "Done"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="batches")
    kind = models.CharField(max_length=40)
    title = models.CharField(max_length=200)
    parameters = models.JSONField(default=dict)
    control = models.CharField(max_length=10, choices=Control.choices, default=Control.RUN)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    state_reason = models.CharField(max_length=300, blank=True)
    concurrency = models.PositiveIntegerField(default=30)
    cap_nano = models.BigIntegerField(null=True, blank=True)
    reserved_nano = models.BigIntegerField(default=0)
    spent_nano = models.BigIntegerField(default=0)
    launched_by_name = models.CharField(max_length=200)
    launched_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="launched_batches",
    )
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        verbose_name_plural = "batches"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(reserved_nano__gte=0), name="%(app_label)s_%(class)s_reserved_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.pk}"


class Arm(models.Model):
    """One column of a batch: a model variant under one task and one exact prompt, with the prices it was launched at."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="arms")
    variant = models.ForeignKey(ModelVariant, on_delete=models.PROTECT, related_name="arms")
    task = models.CharField(max_length=60)
    system_prompt = models.TextField()
    prompt_hash = models.CharField(max_length=64)
    settings = models.JSONField(default=dict)
    price_in = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price_out = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "variant", "task"], name="%(app_label)s_%(class)s_once_per_batch")
        ]

    def __str__(self) -> str:
        return f"{self.variant_id} {self.task}"


class Cell(models.Model):
    """One unit of work, unique in its batch: one input under one arm, one repeat.

    ``input_id`` is the key of whatever the batch's kind reads (a text, a turn). A cell under lease belongs to one runner
    until ``lease_until``; ``fence`` grows with every claim, so that a runner that lost its lease cannot write.
    """

    class State(models.TextChoices):
        PLANNED = "planned", "Planned"
        LEASED = "leased", "Under way"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="cells")
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="cells")
    input_id = models.PositiveBigIntegerField()
    repeat = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    outcome = models.CharField(max_length=30, blank=True)
    fence = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    unknown_ends = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=60, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["arm", "input_id", "repeat"], name="%(app_label)s_%(class)s_once"),
            models.CheckConstraint(
                condition=Q(state="leased") ^ Q(lease_until__isnull=True),
                name="%(app_label)s_%(class)s_lease_has_end",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["batch", "state", "id"], name="batches_cell_by_state"),
            models.Index(fields=["lease_until"], condition=Q(state="leased"), name="batches_cell_leases"),
        ]

    def __str__(self) -> str:
        return f"cell {self.pk}"


class Attempt(models.Model):
    """One paid try, written before the call is sent and completed once, after. Unknown is ``None``, never 0.

    ``end`` says how it ended: answered (a usable HTTP answer came), refused (the provider said no and billed nothing),
    failed (an answer came that cannot be used), unsent (it never left), unknown (sent, and its end was lost: it may have
    been paid for).
    """

    class End(models.TextChoices):
        OPEN = "open", "Under way"
        ANSWERED = "answered", "Answered"
        REFUSED = "refused", "Turned away by the provider"
        FAILED = "failed", "Failed"
        UNSENT = "unsent", "Never sent"
        UNKNOWN = "unknown", "End unknown: may have been paid"

    cell = models.ForeignKey(Cell, on_delete=models.PROTECT, related_name="attempts")
    fence = models.PositiveIntegerField()
    request_id = models.UUIDField(unique=True)
    runner = models.CharField(max_length=60)
    request_hash = models.CharField(max_length=64)
    reserved_nano = models.BigIntegerField(default=0)
    written_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    end = models.CharField(max_length=10, choices=End.choices, default=End.OPEN)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True)
    provider_request_id = models.CharField(max_length=200, blank=True)
    served_model = models.CharField(max_length=200, blank=True)
    finish_reason = models.CharField(max_length=50, blank=True)
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    cost_nano = models.BigIntegerField(null=True, blank=True)
    raw = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["cell", "fence"], name="%(app_label)s_%(class)s_one_per_claim"),
            models.CheckConstraint(
                condition=Q(end="open") ^ Q(done_at__isnull=False),
                name="%(app_label)s_%(class)s_ended_has_date",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["runner"], condition=Q(end="open"), name="batches_attempt_open")]

    def __str__(self) -> str:
        return f"attempt {self.pk}"


class Result(models.Model):
    """The answer that counts for a cell: at most one, because the cell is its key."""

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="result")
    attempt = models.OneToOneField(Attempt, on_delete=models.PROTECT, related_name="result")
    answer = models.TextField(blank=True)
    stored_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"result of cell {self.cell_id}"


class Lane(models.Model):
    """Who runs a batch's calls to one provider account at the moment. One runner at a time, found dead by its heartbeat."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="lanes")
    name = models.CharField(max_length=500)
    runner = models.CharField(max_length=60, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "name"], name="%(app_label)s_%(class)s_once_per_batch")
        ]

    def __str__(self) -> str:
        return f"lane {self.pk}"


class WorkerSign(models.Model):
    """The last sign of life of a worker process."""

    name = models.CharField(max_length=200, primary_key=True)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
