"""The allocation of interviews: rounds, assignments and completions."""

from __future__ import annotations

from typing import ClassVar, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from transcripts.audit_trail.trail import register_rows
from transcripts.corpus.models import Interview
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_TEXT


class Round(models.Model):
    """A period of coding with its own assignments. Nobody codes in a locked round until it is unlocked.

    ``overlap_percent`` is the share of interviews allocated to ``overlap_readers`` coders instead of one; ``seed``
    makes the allocation repeatable. ``idempotency_key`` is made with the plan, so that a plan confirmed twice is stored once.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="rounds")
    number = models.PositiveIntegerField(help_text="Number of the round.")
    name = models.CharField(max_length=200, help_text="Name of the round, such as “Pilot”.")
    instructions = models.TextField(
        max_length=MAX_TEXT, blank=True, help_text="Instructions for coders. They are shown with their work."
    )
    overlap_percent = models.PositiveIntegerField(
        "share assigned to several coders, in per cent",
        default=0,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
        help_text=(
            "Share of the interviews assigned to more than one coder. Disagreements can be seen only in these. For everybody to "
            "code everything, enter 100, and the number of all coders below."
        ),
    )
    overlap_readers = models.PositiveIntegerField(
        "coders for each of those interviews",
        default=2,
        validators=[MinValueValidator(2), MaxValueValidator(50)],
        help_text="Number of coders assigned to each interview that more than one person codes.",
    )
    seed = models.PositiveIntegerField(
        "random number (seed)",
        default=0,
        help_text="Keep this number. The same number assigns the same interviews to the same people.",
    )
    # Whether interviews outside it can be coded only by those to whom some round assigns them. This was so for all
    # rounds before one could choose.
    closes_others = models.BooleanField(default=True)
    idempotency_key = models.UUIDField(null=True, blank=True)
    opened_at = models.DateTimeField(help_text="When the round began, in UTC.")
    opened_by_name = models.CharField(max_length=200, help_text="Who began it.")
    locked_at = models.DateTimeField(
        null=True, blank=True, help_text="When coding in it ended; empty while it is open."
    )
    locked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="locked_rounds",
        help_text="Who ended it.",
    )

    class Meta:
        ordering: ClassVar = ["study", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.UniqueConstraint(fields=["study", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
            models.CheckConstraint(
                condition=Q(overlap_percent__lte=100), name="%(app_label)s_%(class)s_overlap_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(locked_at__isnull=True, locked_by__isnull=True)
                | Q(locked_at__isnull=False, locked_by__isnull=False),
                name="%(app_label)s_%(class)s_locked_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Completion(models.Model):
    """A coder's statement that she has completed an unassigned interview.

    She may withdraw it (``withdrawn_at``) until she opens her own figures with it (``shown_at``).
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="completions")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="completions")
    completed_at = models.DateTimeField()
    shown_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "completions"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["interview", "coder"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.CheckConstraint(
                condition=Q(shown_at__isnull=True) | Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_shown_is_kept",
            ),
        ]

    def __str__(self) -> str:
        return f"completion {self.pk}"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    """Which assignments count."""

    def counted(self) -> Self:
        """Assignments that were not withdrawn, of interviews that count in their study."""
        return self.filter(withdrawn_at__isnull=True, interview__study__isnull=False)


class Assignment(models.Model):
    """One interview assigned to one coder in one round. ``completed_at``: she confirmed that these are her codings."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="assignments")
    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="assignments")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    assigned_at = models.DateTimeField(help_text="When it was assigned, in UTC.")
    assigned_by_name = models.CharField(max_length=200, help_text="Who assigned it.")
    completed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the coder confirmed that these are her codings."
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["round", "interview", "coder"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["round", "interview", "coder"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            )
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"

    @property
    def is_open(self) -> bool:
        """Whether its coder may still change it. Reads self.round."""
        return self.completed_at is None and self.round.locked_at is None


register_rows(Completion, "interview coder completed_at shown_at withdrawn_at", study="interview.owning_study_id")
