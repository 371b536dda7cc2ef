"""The texts: interviews, their turns, and sentences with frozen boundaries."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse

from transcripts.projects.models import Project


class ImportedFile(models.Model):
    """A file that was read into a study: what it was, who brought it, and its hash, so that it comes in once."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="imported_files")
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    format = models.CharField(max_length=40)
    imported_by_name = models.CharField(max_length=200)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="imported_files"
    )
    imported_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "sha256"], name="%(app_label)s_%(class)s_once_per_project")
        ]

    def __str__(self) -> str:
        return self.name


class Interview(models.Model):
    """One conversation with a model, with what is known of how it came about ("" is not known).

    The counts tell of text that never changes, so they are taken once, at import; what counts as a question and as a
    word is said in descriptives.py.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="interviews")
    imported_file = models.ForeignKey(ImportedFile, on_delete=models.PROTECT, related_name="interviews")
    external_id = models.CharField(max_length=200)
    title = models.CharField(max_length=300)
    model_label = models.CharField(max_length=200, blank=True)
    vendor = models.CharField(max_length=200, blank=True)
    surface = models.CharField(max_length=100, blank=True)
    period = models.CharField(max_length=100, blank=True)
    interviewer = models.CharField(max_length=200, blank=True)
    tier = models.CharField(max_length=50, blank=True)
    inclusion = models.CharField(max_length=50, blank=True)
    inclusion_reason = models.TextField(blank=True)
    opening_prompt = models.TextField(blank=True)
    language = models.CharField(max_length=20, default="en")
    metadata = models.JSONField(default=dict)
    segmenter = models.CharField(max_length=60)
    turn_count = models.PositiveIntegerField()
    sentence_count = models.PositiveIntegerField()
    questions = models.PositiveIntegerField()
    author_words = models.PositiveIntegerField()
    model_words = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "external_id"], name="%(app_label)s_%(class)s_id_once_per_project"
            )
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """Reads self.project: costs a query when it is not loaded."""
        return reverse("coding:desk", args=[self.project.slug, self.pk])


class Turn(models.Model):
    """What one side said at one point, byte-exact. Reasoning and tool traffic are turns of their own channel."""

    class Role(models.TextChoices):
        INTERVIEWER = "interviewer", "Interviewer"
        MODEL = "model", "Model"
        SYSTEM = "system", "System"
        TOOL = "tool", "Tool"

    class Channel(models.TextChoices):
        UTTERANCE = "utterance", "Utterance"
        REASONING = "reasoning", "Reasoning"
        TOOL_CALL = "tool_call", "Tool call"
        TOOL_RESULT = "tool_result", "Tool result"

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="turns")
    position = models.PositiveIntegerField()
    role = models.CharField(max_length=20, choices=Role.choices)
    channel = models.CharField(max_length=20, choices=Channel.choices, default=Channel.UTTERANCE)
    speaker = models.CharField(max_length=200, blank=True)
    prompt_kind = models.CharField(max_length=30, blank=True)
    text = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["interview", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["interview", "position"], name="%(app_label)s_%(class)s_one_per_position")
        ]

    def __str__(self) -> str:
        return f"turn {self.position} of interview {self.interview_id}"


class Sentence(models.Model):
    """The unit of coding. ``start`` and ``end`` count code points in the turn's exact text and never change.

    ``position`` counts sentences over the whole interview from 1; ``text_hash`` is SHA-256 of the quoted text (first
    32 hex digits), so that a shifted offset shows.
    """

    # The constraint below begins with the turn, so a second index on it would only slow imports down.
    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="sentences", db_index=False)
    position = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    kind = models.CharField(max_length=12)
    text_hash = models.CharField(max_length=32)

    class Meta:
        ordering: ClassVar = ["turn", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["turn", "start"], name="%(app_label)s_%(class)s_one_per_start"),
            models.CheckConstraint(
                condition=models.Q(end__gt=models.F("start")), name="%(app_label)s_%(class)s_not_empty"
            ),
        ]

    def __str__(self) -> str:
        return f"sentence {self.pk} ({self.start}-{self.end} of turn {self.turn_id})"

    def read_text(self) -> str:
        """The quoted text. Reads self.turn: costs a query when it is not loaded."""
        return self.turn.text[self.start : self.end]
