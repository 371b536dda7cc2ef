"""How interviews are allocated: rounds, who codes what, and what is signed off."""

from __future__ import annotations

from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from transcripts.corpus.models import Interview
from transcripts.projects.models import Project


class Round(models.Model):
    """A stretch of the work with its own assignments. A locked round is not coded any more until it is unlocked.

    ``overlap_percent`` is the share of interviews allocated to ``overlap_readers`` coders instead of one; ``seed``
    makes the allocation repeatable. ``idempotency_key`` is made with the plan, so that a plan confirmed twice is stored once.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="rounds")
    number = models.PositiveIntegerField(help_text="Number of the round.")
    name = models.CharField(max_length=200, help_text="Name of the round.")
    instructions = models.TextField(blank=True, help_text="The instructions that coders got.")
    overlap_percent = models.PositiveIntegerField(
        default=0, help_text="Share of the interviews assigned to more than one coder."
    )
    overlap_readers = models.PositiveIntegerField(
        default=2, help_text="How many coders were assigned each of the interviews that more than one codes."
    )
    seed = models.PositiveIntegerField(
        default=0, help_text="Number with which the allocation of interviews can be repeated."
    )
    # Whether interviews outside of it can be coded only by those they are assigned to in some round. So it was for all
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
        ordering: ClassVar = ["project", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.UniqueConstraint(fields=["project", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
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


class Finish(models.Model):
    """A coder's word that she is through with an interview, in a study in which nothing is assigned to be signed off.

    She may take it back (``withdrawn_at``) until her own figures with it were opened to her (``shown_at``).
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="finishes")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="finishes")
    finished_at = models.DateTimeField()
    shown_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "finishes"
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
        return f"finish {self.pk}"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    """Which assignments count."""

    def counted(self) -> Self:
        """Those that were not withdrawn, of interviews that count in their study."""
        return self.filter(withdrawn_at__isnull=True, interview__project__isnull=False)


class Assignment(models.Model):
    """One interview one coder is to code in one round. ``signed_at``: she confirmed that these are her codings."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="assignments")
    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="assignments")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    assigned_at = models.DateTimeField(help_text="When it was assigned, in UTC.")
    assigned_by_name = models.CharField(max_length=200, help_text="Who assigned it.")
    signed_at = models.DateTimeField(
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
        return self.signed_at is None and self.round.locked_at is None
