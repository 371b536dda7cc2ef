"""The ledger of the batch engine: the database is the queue, and every paid attempt is a row."""

from __future__ import annotations

import datetime
from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from auditapp.llm.models import Capabilities, ModelVariant, Price
from transcripts.studies.models import Study

MAX_IN_FLIGHT = 1_000


class Batch(models.Model):
    """A grid of calls launched together: inputs x arms x repeats, under one cap.

    ``control`` is what people want, ``state`` is what the batch does. While the cells of a large launch are being stored it is
    ``planning``. A batch with a pilot first sends only the cells
    marked for it (``pilot``), then waits for approval (``waiting``); the pilot's answers count. ``idempotency_key`` is chosen by
    the page that launches, so that a double click makes one batch. Money is kept in whole nanodollars (1e-9 US
    dollars), so that sums are exact on every database. ``reserved_nano`` is set aside for calls in flight at their highest
    price, and for attempts whose end was lost; ``spent_nano`` is settled. A call is sent only when both together stay
    within ``cap_nano``.

    A paused batch whose ``control`` is still to run or drain waits for a server that does not answer: workers probe it, and
    the batch goes on by itself when it answers. A person's pause, and a worker's for any other reason, waits for a person.

    ``has_conversations``: some of its cells continue others. ``stays_open``: a person adds cells one at a time
    (``launching.add_cell``), and the batch does not end with its last cell but when its feature closes it
    (``launching.close_batch``).
    """

    class Control(models.TextChoices):
        RUN = "run", "Run"
        PAUSE = "pause", "Pause: send nothing more, keep what arrives"
        DRAIN = "drain", "Drain: start no new cells, finish those started, then pause"
        CANCEL = "cancel", "Cancel: end the batch, keep what arrives"
        ABORT = "abort", "Abort: end the batch and cut off the calls in flight"

    class State(models.TextChoices):
        PLANNING = "planning", "Planning"
        PILOT = "pilot", "Pilot"
        WAITING = "waiting", "Waiting for approval"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        CANCELLED = "cancelled", "Cancelled"
        DONE = "done", "Done"

    class LostAnswers(models.TextChoices):
        """What happens to a call that was sent and whose end is unknown."""

        RETRY = "retry", "ask once more; it may be paid twice"
        HOLD = "hold", "hold the cell until a person decides"

    class Route(models.TextChoices):
        LIVE = "live", "one call at a time, at once"
        JOBS = "jobs", "the provider's own batch service, cheaper, within a day"
        FILE = "file", "answers are imported from a file"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="batches")
    kind = models.CharField(max_length=40, help_text="The purpose of the batch, such as preannotation or sob.")
    title = models.CharField(max_length=200, help_text="Its title.")
    parameters = models.JSONField(default=dict)
    idempotency_key = models.UUIDField(null=True, blank=True, unique=True)
    route = models.CharField(
        max_length=10, choices=Route.choices, default=Route.LIVE, help_text="How its calls are sent."
    )
    lost_answers = models.CharField(
        max_length=10,
        choices=LostAnswers.choices,
        default=LostAnswers.RETRY,
        help_text="What happens to a call with an unknown end.",
    )
    uses_cache = models.BooleanField(
        "reuse earlier answers to exactly the same request",
        default=False,
        help_text="Whether an earlier answer to exactly the same request is reused. It then costs nothing and is marked as reused "
        "everywhere.",
    )
    has_conversations = models.BooleanField(default=False, db_default=False)
    stays_open = models.BooleanField(default=False, db_default=False)
    pilot_cells = models.PositiveIntegerField(default=0)
    control = models.CharField(
        max_length=10,
        choices=Control.choices,
        default=Control.RUN,
        help_text="The control last used on it, such as run or pause.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING, help_text="Its state.")
    state_reason = models.CharField(max_length=300, blank=True, help_text="The reason for the state; may be empty.")
    concurrency = models.PositiveIntegerField(
        "maximum calls in flight",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_IN_FLIGHT)],
        help_text="How many calls may be in flight at once. The number is lower while the provider asks for fewer.",
    )
    cap_nano = models.BigIntegerField(null=True, blank=True)
    reserved_nano = models.BigIntegerField(default=0)
    spent_nano = models.BigIntegerField(default=0)
    launched_by_name = models.CharField(max_length=200, help_text="Who launched it.")
    launched_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="launched_batches",
        help_text="Who launched it.",
    )
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was approved after its pilot; empty: not yet, or it has no pilot."
    )
    confirmed_by_name = models.CharField(max_length=200, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True, help_text="When it ended; empty: not yet.")

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

    @property
    def is_open(self) -> bool:
        """Whether anything can still happen in it."""
        return self.state in OPEN_STATES

    @property
    def is_held_open(self) -> bool:
        """Whether it runs for as long as a person asks questions in it, so that the share of ended cells does not measure its
        progress."""
        return self.stays_open and self.state == Batch.State.RUNNING

    @property
    def state_label(self) -> str:
        """Its state in words. A batch in which a person asks questions is called open rather than running."""
        return "Open" if self.is_held_open else self.get_state_display()

    @property
    def awaits_server(self) -> bool:
        """Whether it is paused because no server answers, and will resume by itself."""
        return self.state == Batch.State.PAUSED and self.control in SENDING_CONTROLS


OPEN_STATES = (Batch.State.PLANNING, Batch.State.PILOT, Batch.State.WAITING, Batch.State.RUNNING, Batch.State.PAUSED)
WORKING_STATES = (Batch.State.PILOT, Batch.State.RUNNING)
SENDING_CONTROLS = (Batch.Control.RUN, Batch.Control.DRAIN)
SENDING_STATES = (*WORKING_STATES, Batch.State.PAUSED)
"""The states in which calls may be sent if the control is among ``SENDING_CONTROLS``; in a paused batch, probes only."""


class Arm(models.Model):
    """One column of a batch: a model variant under one task and one exact prompt, with the rows of prices and capabilities it was
    launched with. ``price_in`` and ``price_out`` are the prices of its calls, including the provider's batch discount."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="arms")
    variant = models.ForeignKey(ModelVariant, on_delete=models.PROTECT, related_name="arms")
    task = models.CharField(max_length=60, help_text="The task given to the model.")
    system_prompt = models.TextField()
    prompt_hash = models.CharField(max_length=64, help_text="SHA-256 of the instructions.")
    settings = models.JSONField(default=dict)
    price_in = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price_out = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price = models.ForeignKey(Price, on_delete=models.PROTECT, null=True, blank=True, related_name="arms")
    capabilities = models.ForeignKey(Capabilities, on_delete=models.PROTECT, null=True, blank=True, related_name="arms")

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["batch", "variant", "task", "prompt_hash"], name="%(app_label)s_%(class)s_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.variant_id} {self.task}"


class Cell(models.Model):
    """One unit of work, unique in its batch: one input under one arm, one repeat.

    ``input_id`` is the key of whatever the batch's kind works on (a text, a turn). A leased cell belongs to one runner until
    ``lease_until``; ``fence`` grows with every claim, so that a runner that lost its lease cannot write. A held cell was sent,
    its end is unknown, and a person decides whether it is sent again. ``answer_number`` numbers the answers of the batch from 1,
    without gaps, in the order in which their transactions were committed, so that readers of a running batch can continue after
    the last answer they have.

    ``after`` is its *previous call*, a cell of the same batch and arm: its call continues that cell's conversation. It waits
    (``blocked``) until the previous call's answer is stored, and becomes planned in the same transaction. If that call fails, so
    does the rest of the conversation, with the outcome ``earlier_failed`` (``ledger.conversations``).
    """

    class State(models.TextChoices):
        BLOCKED = "blocked", "Blocked: waits for an earlier answer"
        PLANNED = "planned", "Planned"
        LEASED = "leased", "In progress"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        HELD = "held", "Held: its end is unknown"
        CANCELLED = "cancelled", "Cancelled"

    # Both are the first column of an index below. A further index would slow down every claim and every end.
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="cells", db_index=False)
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="cells", db_index=False)
    input_id = models.PositiveBigIntegerField(
        help_text="Number of the thing asked about: a turn, a text or a suggestion, depending on the kind of batch."
    )
    repeat = models.PositiveSmallIntegerField(default=1, help_text="Which repeat of the question this is, from 1.")
    pilot = models.BooleanField(default=False)
    # Its index below contains only cells with a previous.
    after = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="followers", db_index=False
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    outcome = models.CharField(
        max_length=30,
        blank=True,
        help_text="The current interpretation of the answer, in the terms of the batch's kind.",
    )
    fence = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    unknown_ends = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=60, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    answer_number = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["arm", "input_id", "repeat"], name="%(app_label)s_%(class)s_once"),
            # A cell without an answer is not in this index, so that it slows down no claim.
            models.UniqueConstraint(
                fields=["batch", "answer_number"],
                condition=Q(answer_number__isnull=False),
                name="%(app_label)s_%(class)s_answer_number_once",
            ),
            models.CheckConstraint(
                condition=Q(state="leased") ^ Q(lease_until__isnull=True),
                name="%(app_label)s_%(class)s_lease_has_end",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["batch", "state", "id"], name="batches_cell_by_state"),
            models.Index(fields=["arm", "state", "id"], name="batches_cell_by_arm"),
            models.Index(fields=["lease_until"], condition=Q(state="leased"), name="batches_cell_leases"),
            models.Index(fields=["after"], condition=Q(after__isnull=False), name="batches_cell_followers"),
        ]

    def __str__(self) -> str:
        return f"cell {self.pk}"


class ProviderJob(models.Model):
    """A group of calls submitted to a provider's own batch service. ``token`` is sent along as metadata, so that a job whose
    creation was cut off is found again at the provider before another is created.

    ``gone_since`` says since when the provider has not recognized the job or its answers; other errors do not change it.
    ``ended_at`` of a submitted job means that a person wants to end it for this reason. Both are reset when the provider
    recognizes the job again."""

    GONE_AFTER = datetime.timedelta(days=1)

    class State(models.TextChoices):
        WRITTEN = "written", "Recorded, not yet sent"
        UPLOADED = "uploaded", "File uploaded"
        SUBMITTED = "submitted", "In progress at the provider"
        COLLECTED = "collected", "Collected"
        FAILED = "failed", "Failed"

    queue = models.ForeignKey("WorkQueue", on_delete=models.PROTECT, related_name="jobs")
    token = models.UUIDField(unique=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WRITTEN)
    calls = models.PositiveIntegerField()
    file_sha256 = models.CharField(max_length=64, blank=True)
    provider_file_id = models.CharField(max_length=200, blank=True)
    provider_job_id = models.CharField(max_length=200, blank=True)
    error = models.CharField(max_length=500, blank=True)
    written_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    gone_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"job {self.pk}"

    @property
    def is_gone(self) -> bool:
        """Whether it is still open although the provider does not recognize it."""
        return self.gone_since is not None and self.state == self.State.SUBMITTED

    @property
    def may_be_ended(self) -> bool:
        """Whether the provider has not recognized it for long enough that a person may end it."""
        if not self.is_gone or self.gone_since is None or self.ended_at is not None:
            return False
        return timezone.now() - self.gone_since >= self.GONE_AFTER


class Attempt(models.Model):
    """One paid attempt, written before the call is sent and completed once afterwards. Unknown is ``None``, never 0.

    ``end`` says how it ended: answered (a usable HTTP answer came), refused (the provider refused it and billed nothing), failed
    (an answer came that cannot be used), unsent (it was never sent), unknown (sent, and its end was lost: it may have been paid
    for), cached (nothing was sent: the answer of ``copied_from`` to the same request was used), surplus (an answer came after its
    cell had ended with another: paid and not used). ``prompt`` is the user message exactly as sent, ``history`` the messages
    before it, each with ``role`` (system, user, assistant) and ``content``; ``None`` means the arm's instructions alone. Together
    with the variant's settings they reproduce the request, and ``request_hash`` proves it. Times come from the database's clock,
    durations from a monotonic clock.
    """

    class End(models.TextChoices):
        OPEN = "open", "In progress"
        ANSWERED = "answered", "Answered"
        REFUSED = "refused", "Refused by the provider"
        FAILED = "failed", "Failed"
        UNSENT = "unsent", "Never sent"
        UNKNOWN = "unknown", "End unknown: may have been paid"
        CACHED = "cached", "From an earlier answer: nothing sent"
        SURPLUS = "surplus", "Answered too late: paid, not used"

    # As in Cell: an index below starts with each of the two.
    cell = models.ForeignKey(Cell, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    job = models.ForeignKey(ProviderJob, on_delete=models.PROTECT, null=True, blank=True, related_name="attempts")
    copied_from = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="copies")
    fence = models.PositiveIntegerField()
    request_id = models.UUIDField(unique=True)
    runner = models.CharField(max_length=60)
    request_hash = models.CharField(max_length=64)
    prompt = models.TextField(blank=True)
    history = models.JSONField(null=True, blank=True)
    reserved_nano = models.BigIntegerField(default=0)
    written_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True, help_text="When the call was sent.")
    first_byte_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True, help_text="When the call ended.")
    end = models.CharField(
        max_length=10,
        choices=End.choices,
        default=End.OPEN,
        help_text="How the call ended; answered and cached ones have an answer.",
    )
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    error_class = models.CharField(max_length=30, blank=True)
    error = models.CharField(max_length=500, blank=True)
    provider_request_id = models.CharField(max_length=200, blank=True)
    provider_answer_id = models.CharField(max_length=200, blank=True)
    served_route = models.CharField(max_length=100, blank=True)
    served_model = models.CharField(
        max_length=200, blank=True, help_text="The model as the provider named it in its answer; may be empty."
    )
    finish_reason = models.CharField(
        max_length=50, blank=True, help_text="The provider's word for why the answer ended; may be empty."
    )
    tokens_in = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens read.")
    tokens_out = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens written.")
    tokens_cached = models.PositiveIntegerField(
        null=True, blank=True, help_text="Input tokens that came from the provider's cache."
    )
    tokens_reasoning = models.PositiveIntegerField(null=True, blank=True, help_text="Output tokens used for reasoning.")
    cost_nano = models.BigIntegerField(
        null=True, blank=True, help_text="What the call cost, in US dollars (stored in billionths)."
    )
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
        indexes: ClassVar = [
            models.Index(fields=["runner"], condition=Q(end="open"), name="batches_attempt_open"),
            models.Index(fields=["arm", "end", "done_at"], name="batches_attempt_by_arm"),
            models.Index(fields=["request_hash"], condition=Q(end="answered"), name="batches_attempt_by_request"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk}"

    @property
    def is_unanswered(self) -> bool:
        """Whether it ended without an answer from the model."""
        return self.end in UNANSWERED


UNANSWERED = (Attempt.End.REFUSED, Attempt.End.FAILED, Attempt.End.UNSENT, Attempt.End.UNKNOWN)


class Result(models.Model):
    """The answer that counts for a cell: at most one, because the cell is its key. ``reasoning`` is what the model wrote before
    it, where the API gives that in a field of its own; it is never sent back."""

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="result")
    attempt = models.OneToOneField(
        Attempt,
        on_delete=models.PROTECT,
        related_name="result",
        help_text="Number of the call that brought the answer.",
    )
    answer = models.TextField(blank=True, help_text="The exact text that the model wrote. It may be offensive.")
    reasoning = models.TextField(
        blank=True,
        db_default="",
        help_text="The reasoning that the model wrote before its answer, if its API returns it in a separate field; may be empty.",
    )
    stored_at = models.DateTimeField(help_text="When the answer was stored.")

    def __str__(self) -> str:
        return f"result of cell {self.cell_id}"


class WorkQueue(models.Model):
    """The calls of a batch to one model of one account, and who makes them at the moment.

    Only one runner at a time works on a queue; a runner that is silent for too long is considered dead. ``limit`` is the number
    of calls in flight that the limiter allows, kept for the next runner. While the server does not answer, ``silent_since`` says
    since when. Nothing is sent before ``slow_until``, either because the provider asked to wait, or because a silent server is
    next probed at that time.
    """

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="queues")
    name = models.CharField(max_length=500)
    runner = models.CharField(max_length=60, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    limit = models.PositiveIntegerField(null=True, blank=True)
    in_flight = models.PositiveIntegerField(default=0)
    slow_until = models.DateTimeField(null=True, blank=True)
    silent_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "name"], name="%(app_label)s_%(class)s_once_per_batch")
        ]

    def __str__(self) -> str:
        return f"queue {self.pk}"


class LimitChange(models.Model):
    """A change of a queue's limit: how many calls in flight were allowed from then on, and why."""

    class Cause(models.TextChoices):
        START = "start", "a runner started"
        GROWTH = "growth", "answers without errors"
        RATE_LIMITED = "rate_limited", "the provider asked for fewer"
        TIMED_OUT = "timed_out", "calls timed out"
        NO_GAIN = "no_gain", "more simultaneous calls hardly increased the number of answers"
        SETTING = "setting", "a person changed the setting"

    queue = models.ForeignKey(WorkQueue, on_delete=models.PROTECT, related_name="limit_changes")
    at = models.DateTimeField()
    limit = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField()
    cause = models.CharField(max_length=15, choices=Cause.choices)
    wait_seconds = models.FloatField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["queue", "pk"]

    def __str__(self) -> str:
        return f"{self.limit} from {self.at}"


class WorkerSign(models.Model):
    """The last sign of life of a worker process. ``problem`` says why it takes no work at present (its disk is full)."""

    name = models.CharField(max_length=200, primary_key=True)
    seen_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    queues = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=300, blank=True)
    alive: bool  # set by read_workers

    def __str__(self) -> str:
        return self.name


class Tick(models.Model):
    """When a task that is repeated every few seconds was last started, by any process."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
