"""People's judgments of annotators: which positives are false, why labels differ, and which annotator is chosen for each code."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse

from auditapp.annotators.models import Annotator, Suggestion
from auditapp.audits.models import BaseAudit, BaseItem, BaseMark, BaseOpening
from transcripts.corpus.models import Sentence
from transcripts.ui.typed_text import MAX_NOTE

# Dunivin and others (2026) read this number per code again of what their annotators said in deployment.
USUAL_PER_CODE = 60
MAX_PER_CODE = 1_000


class PositiveAudit(BaseAudit):
    """A sample of an annotator's suggestions, at most ``per_code`` of each code. Reads annotator."""

    events: ClassVar = "evaluation.audit"
    opened_event: ClassVar = "results_opened"

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="positive_audits")
    with_critic = models.BooleanField(
        default=False, help_text="true if suggestions rejected by a critic were left out of the draw."
    )
    per_code = models.PositiveSmallIntegerField(
        "suggestions of each code",
        validators=[MinValueValidator(1), MaxValueValidator(MAX_PER_CODE)],
        default=USUAL_PER_CODE,
        help_text="How many suggestions of each code to draw; all, if there are fewer. With 60, a rate of 20 % is known to "
        "within about 10 percentage points.",
    )

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"audit {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("evaluation:audit", args=[self.annotator.study.slug, self.pk])

    @property
    def study_id(self) -> int:
        return self.annotator.study_id


class AuditedSuggestion(BaseItem):
    """One suggestion of an audit. ``population`` is the number of suggestions of its code from which the sample was drawn."""

    audit = models.ForeignKey(PositiveAudit, on_delete=models.PROTECT, related_name="items")
    suggestion = models.ForeignKey(Suggestion, on_delete=models.PROTECT, related_name="audited")
    population = models.PositiveIntegerField(
        help_text="Number of suggestions of this code from which the sample was drawn."
    )

    class Meta(BaseItem.Meta):
        constraints: ClassVar = [
            *BaseItem.Meta.constraints,
            models.UniqueConstraint(fields=["audit", "suggestion"], name="%(app_label)s_%(class)s_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.position} of audit {self.audit_id}"


class PositiveMark(BaseMark):
    """Whether a person finds that the code of an audited suggestion applies."""

    class Verdict(models.TextChoices):
        APPLIES = "applies", "The code applies"
        DOES_NOT = "does_not", "It does not"
        UNCLEAR = "unclear", "Cannot be said"

    item = models.ForeignKey(AuditedSuggestion, on_delete=models.PROTECT, related_name="marks")
    verdict = models.CharField(
        "does the code apply to the sentence?",
        max_length=10,
        choices=Verdict.choices,
        help_text="applies, does_not, or unclear.",
        error_messages={"blank": "Choose whether the code applies, does not apply, or cannot be decided."},
    )

    class Meta(BaseMark.Meta):
        pass

    def __str__(self) -> str:
        return f"mark {self.pk}"


class ResultsOpening(BaseOpening):
    """Records that a person opened the results of an audit of positives before she had marked all items."""

    audit = models.ForeignKey(PositiveAudit, on_delete=models.PROTECT, related_name="openings")

    def __str__(self) -> str:
        return f"opening of audit {self.audit_id}"


class Disagreement(models.Model):
    """Why a machine and the blind coders differ on a code of a sentence, as sorted by a person (method brief 2.4).

    A legitimate alternative is not an error. The active row is the one that is not superseded.
    """

    class Category(models.TextChoices):
        MISREADING = "misreading", "Misreading of the sentence"
        META = "meta", "Talk about the thing, not the thing"
        CONTEXT = "context", "Context was missing"
        DEFINITION = "definition", "Gap in the definition"
        ALTERNATIVE = "alternative", "Legitimate alternative reading"
        SLIP = "slip", "A person's slip"

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="disagreements")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="machine_disagreements")
    code_identifier = models.CharField(max_length=100, help_text="Identifier of the code on which they differ.")
    category = models.CharField(
        "cause",
        max_length=12,
        choices=Category.choices,
        help_text="misreading, meta (talk about the thing), context, definition, alternative (nobody's error) or slip.",
        error_messages={"blank": "Choose one of the six categories."},
    )
    note = models.TextField(max_length=MAX_NOTE, blank=True)
    sorted_at = models.DateTimeField(help_text="When it was sorted, in UTC.")
    sorted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="sorted_disagreements",
        help_text="User name of the person who sorted it.",
    )
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["annotator", "sentence", "code_identifier"],
                condition=Q(superseded_by__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.category} {self.pk}"
