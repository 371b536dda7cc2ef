"""What people were shown of the suggestions of machines, and what they made of it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from auditapp.annotators.models import Suggestion, TurnArm
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.ui.typed_text import MAX_REASON


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
        help_text="true if suggestions were shown before the coder's own decision; such labels are excluded from every measure.",
    )
    suggestions = models.JSONField(default=list)
    own_codes = models.JSONField(
        default=list,
        help_text="Identifiers of the codes that the coder had applied to the sentence by then, as a list; empty in rows of all "
        "coders.",
    )
    shown_at = models.DateTimeField()
    closed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the panel was closed; empty if that is not known, and in rows of all coders.",
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [models.Index(fields=["sentence", "coder"], name="suggestions_showing_of")]

    def __str__(self) -> str:
        return f"showing {self.pk}"


class Response(models.Model):
    """What a person did with a suggestion. Accepting one makes a coding of her own, to which this row points."""

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"
        EDITED = "edited", "Edited"
        UNDONE = "undone", "Taken back"

    suggestion = models.ForeignKey(Suggestion, on_delete=models.PROTECT, related_name="responses")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="suggestion_responses")
    verdict = models.CharField(
        max_length=10,
        choices=Verdict.choices,
        help_text="the current response: accepted, rejected, edited or undone; empty if the coder did not answer, and in rows of "
        "all coders of interviews where fewer than two coders looked.",
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
        help_text="The coder's reason, if she gave one; empty if the response is empty.",
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
                condition=Q(verdict__in=["rejected", "undone"]) ^ Q(coding__isnull=False),
                name="%(app_label)s_%(class)s_accepted_has_coding",
            ),
        ]

    def __str__(self) -> str:
        return f"response {self.pk}"
