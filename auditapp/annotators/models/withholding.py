"""Which turns are withheld from suggestions, and the interviews where they are shown before a decision."""

from __future__ import annotations

from typing import ClassVar

from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q

from transcripts.corpus.models import Interview, Turn
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON, MAX_SEED


class WithholdingPlan(models.Model):
    """The share of turns that never shows suggestions, in interviews drawn under this plan. The latest one draws."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="withholding_plans")
    number = models.PositiveIntegerField(help_text="Number of the plan.")
    share_percent = models.PositiveSmallIntegerField(
        "share of turns withheld, in per cent",
        validators=[MaxValueValidator(100)],
        default=20,
        help_text="Share of turns that the plan withholds; the default is 20. At 0, neither the influence of suggestions nor "
        "agreement with uninfluenced people can be measured.",
    )
    seed = models.PositiveIntegerField(
        validators=[MaxValueValidator(MAX_SEED)],
        help_text="Number with which the draw can be repeated. If none is given, one is drawn.",
    )
    reason = models.TextField(
        max_length=MAX_REASON, blank=True, help_text="The reason for the share, in one line; shown with the plan."
    )
    made_at = models.DateTimeField(help_text="When the plan was made, in UTC.")
    made_by_name = models.CharField(max_length=200, help_text="Who made it.")

    class Meta:
        ordering: ClassVar = ["study", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=Q(share_percent__lte=100), name="%(app_label)s_%(class)s_share_is_a_share"
            ),
        ]

    def __str__(self) -> str:
        return f"plan {self.number}"


class TurnArm(models.Model):
    """The arm a model's turn was drawn into, for good. ``probability`` is that of being withheld, as it was drawn."""

    class Arm(models.TextChoices):
        SHOWN = "shown", "Shown after the coder's own decision"
        WITHHELD = "withheld", "Withheld"

    turn = models.OneToOneField(Turn, on_delete=models.PROTECT, primary_key=True, related_name="suggestion_arm")
    plan = models.ForeignKey(WithholdingPlan, on_delete=models.PROTECT, related_name="turn_arms")
    arm = models.CharField(
        max_length=10,
        choices=Arm.choices,
        help_text="shown (after a coder's own decision) or withheld (never); empty if the turn was not drawn.",
    )
    probability = models.FloatField(help_text="Probability with which the turn was drawn to be withheld.")

    def __str__(self) -> str:
        return f"{self.arm} turn {self.turn_id}"


class DraftInterview(models.Model):
    """An interview in which suggestions can be opened before one's own decision.

    A coder who opens one there is assisted in the whole interview from that moment, and what she codes then is in no
    measure. What she coded before stays blind, and so does everything of coders who open none. Closing it makes nothing
    blind again.
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="draft_interviews")
    reason = models.TextField(
        max_length=MAX_REASON,
        help_text="One line. What is coded there after opening a suggestion is left out of every measure.",
    )
    opened_at = models.DateTimeField()
    opened_by_name = models.CharField(max_length=200)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["interview"], condition=Q(closed_at__isnull=True), name="%(app_label)s_%(class)s_open_once"
            )
        ]

    def __str__(self) -> str:
        return f"draft mode of interview {self.interview_id}"
