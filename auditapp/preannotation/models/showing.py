"""What of the machines' work people were shown, when, and what they made of it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q

from auditapp.preannotation.models.readings import Suggestion
from transcripts.coding.models import Coding
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.studies.models import Project
from transcripts.ui.typed_text import MAX_REASON, MAX_SEED


class WithholdingPlan(models.Model):
    """The share of turns that never shows suggestions, in interviews drawn under this plan. The latest one draws."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="withholding_plans")
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
        help_text="Number by which the draw can be repeated. If none is given, one is drawn.",
    )
    reason = models.TextField(
        max_length=MAX_REASON, blank=True, help_text="Why the share was set so: one line, shown with the plan."
    )
    made_at = models.DateTimeField(help_text="When the plan was made, in UTC.")
    made_by_name = models.CharField(max_length=200, help_text="Who made it.")

    class Meta:
        ordering: ClassVar = ["project", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=Q(share_percent__lte=100), name="%(app_label)s_%(class)s_share_is_a_share"
            ),
        ]

    def __str__(self) -> str:
        return f"plan {self.number}"


class TurnArm(models.Model):
    """The arm a model's turn was drawn into, for good. ``probability`` is that of being withheld, as it was drawn."""

    class Arm(models.TextChoices):
        SHOWN = "shown", "Shown after one's own decision"
        WITHHELD = "withheld", "Withheld"

    turn = models.OneToOneField(Turn, on_delete=models.PROTECT, primary_key=True, related_name="suggestion_arm")
    plan = models.ForeignKey(WithholdingPlan, on_delete=models.PROTECT, related_name="turn_arms")
    arm = models.CharField(
        max_length=10,
        choices=Arm.choices,
        help_text="shown (after a coder's own decision) or withheld (never); empty where the turn was not drawn.",
    )
    probability = models.FloatField(help_text="Probability with which the turn was drawn to be withheld.")

    def __str__(self) -> str:
        return f"{self.arm} turn {self.turn_id}"


class Showing(models.Model):
    """One look at the suggestions of a sentence: what was shown, in which order, and her own codes at that time.

    ``suggestions`` are the numbers of those shown, in the order shown; none where nothing was suggested, or where the
    turn is withheld. ``own_codes`` are identifiers of the codes of sentences she had applied by then; on a turn of the
    interviewer, those of the whole turn. A later look at the same
    suggestions is no new row.
    """

    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="showings")
    coder = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="showings",
        help_text="User name of the coder, in her own rows; empty in rows of all coders, because how far suggestions influenced "
        "a coder is shown to her alone.",
    )
    arm = models.CharField(
        max_length=10,
        choices=TurnArm.Arm.choices,
        help_text="shown, or withheld: a look on a turn that never shows suggestions.",
    )
    is_draft = models.BooleanField(
        default=False,
        help_text="true where suggestions were shown before the coder's own decision; such labels are in no measure.",
    )
    suggestions = models.JSONField(default=list)
    own_codes = models.JSONField(
        default=list,
        help_text="Identifiers of the codes the coder had applied to the sentence by then, as a list; empty in rows of all "
        "coders.",
    )
    shown_at = models.DateTimeField()
    closed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the panel was closed; empty where that is not known, and in rows of all coders.",
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [models.Index(fields=["sentence", "coder"], name="preannotation_showing_of")]

    def __str__(self) -> str:
        return f"showing {self.pk}"


class DraftReading(models.Model):
    """An interview in which suggestions can be opened before one's own decision.

    A coder who opens one there is assisted in the whole interview from that moment, and what she codes then is in no
    measure. What she coded before stays blind, and so does everything of coders who open none. Closing it makes nothing
    blind again.
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="draft_readings")
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
        return f"draft reading of interview {self.interview_id}"


class Response(models.Model):
    """What a person did with a suggestion. Keeping one makes a coding of her own, to which this row points."""

    class Verdict(models.TextChoices):
        KEPT = "kept", "Kept"
        LEFT = "left", "Left"
        EDITED = "edited", "Edited"
        UNDONE = "undone", "Taken back"

    suggestion = models.ForeignKey(Suggestion, on_delete=models.PROTECT, related_name="responses")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="suggestion_responses")
    verdict = models.CharField(
        max_length=10,
        choices=Verdict.choices,
        help_text="kept, left, edited or undone, as it is now; empty where the coder did not answer, and in rows of all coders of "
        "interviews where fewer than two coders looked.",
    )
    coding = models.ForeignKey(
        Coding,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="suggestion_responses",
        help_text="Number of the coding it became; empty in rows of all coders.",
    )
    reason = models.TextField(
        max_length=MAX_REASON,
        blank=True,
        help_text="The coder's reason, where she gave one; empty where the response is.",
    )
    created_at = models.DateTimeField(help_text="When the coder responded, in UTC; empty in rows of all coders.")
    superseded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["suggestion", "coder"],
                condition=Q(superseded_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.CheckConstraint(
                condition=Q(verdict__in=["left", "undone"]) ^ Q(coding__isnull=False),
                name="%(app_label)s_%(class)s_kept_has_coding",
            ),
        ]

    def __str__(self) -> str:
        return f"response {self.pk}"
