"""What machines propose about sentences. Never a Coding: a person's row is only ever made by a person."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from auditapp.batches.models import Cell
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Project


class Annotator(models.Model):
    """A machine reader: a model variant that reads with one published codebook version."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="annotators")
    name = models.CharField(max_length=100)
    variant = models.ForeignKey(ModelVariant, on_delete=models.PROTECT, related_name="annotators")
    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="annotators")
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "name", "version"], name="%(app_label)s_%(class)s_once_per_version"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Reading(models.Model):
    """How one answer of an annotator was understood. Items that name an unknown code or a sentence that was not asked
    about are kept in ``rejected`` with the reason and never applied."""

    class Outcome(models.TextChoices):
        VALID = "valid", "Valid"
        PARTIAL = "partial", "Partly valid"
        INVALID = "invalid", "Not usable"

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="reading")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="readings")
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    problem = models.CharField(max_length=300, blank=True)
    accepted = models.PositiveIntegerField(default=0)
    rejected = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"reading of cell {self.cell_id}"


class Suggestion(models.Model):
    """One code a machine proposes for one sentence, with its reason. ``place`` is the shuffled order it is shown in."""

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="suggestions")
    cell = models.ForeignKey(Cell, on_delete=models.PROTECT, related_name="suggestions")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="suggestions")
    code = models.ForeignKey(Code, on_delete=models.PROTECT, related_name="suggestions")
    rationale = models.TextField(blank=True)
    place = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["cell", "sentence", "code"], name="%(app_label)s_%(class)s_once_per_answer")
        ]

    def __str__(self) -> str:
        return f"suggestion {self.pk}"


class Response(models.Model):
    """What a person did with a suggestion. Keeping one makes a coding of her own, to which this row points."""

    class Verdict(models.TextChoices):
        KEPT = "kept", "Kept"
        LEFT = "left", "Left"
        EDITED = "edited", "Edited"

    suggestion = models.ForeignKey(Suggestion, on_delete=models.PROTECT, related_name="responses")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="suggestion_responses")
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    coding = models.ForeignKey(
        Coding, on_delete=models.PROTECT, null=True, blank=True, related_name="suggestion_responses"
    )
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["suggestion", "coder"],
                condition=Q(superseded_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.CheckConstraint(
                condition=Q(verdict="left") ^ Q(coding__isnull=False), name="%(app_label)s_%(class)s_kept_has_coding"
            ),
        ]

    def __str__(self) -> str:
        return f"response {self.pk}"
