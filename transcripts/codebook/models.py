"""The codebook as a versioned instrument: drafts are edited, published versions are frozen."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse

from transcripts.projects.models import Project


class CodebookVersion(models.Model):
    """One state of a study's codebook. Codings point to the codes of a published version and so keep their meaning."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        PUBLISHED = "published", "Published"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="codebook_versions")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.DRAFT)
    title = models.CharField(max_length=200)
    origin = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()
    created_by_name = models.CharField(max_length=200)
    published_at = models.DateTimeField(null=True, blank=True)
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="published_codebooks"
    )

    class Meta:
        ordering: ClassVar = ["project", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=models.Q(status="published") ^ models.Q(published_at__isnull=True),
                name="%(app_label)s_%(class)s_published_has_date",
            ),
        ]

    def __str__(self) -> str:
        return f"v{self.number}"

    def get_absolute_url(self) -> str:
        """Reads self.project: costs a query when it is not loaded."""
        return reverse("codebook:version", args=[self.project.slug, self.number])


class CodeFamily(models.Model):
    """Codes that answer one question, with rules of their own."""

    class Unit(models.TextChoices):
        SENTENCE = "sentence", "Sentence"
        TURN = "turn", "Turn"

    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="families")
    identifier = models.CharField(max_length=100)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    unit = models.CharField(max_length=10, choices=Unit.choices, default=Unit.SENTENCE)
    carries_level = models.BooleanField(default=True)
    carries_enactment = models.BooleanField(default=False)
    position = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["version", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["version", "identifier"], name="%(app_label)s_%(class)s_identifier_once")
        ]

    def __str__(self) -> str:
        return self.name


class Code(models.Model):
    """One code of one codebook version; ``identifier`` is the same thing across versions."""

    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="codes")
    family = models.ForeignKey(CodeFamily, on_delete=models.PROTECT, related_name="codes")
    identifier = models.CharField(max_length=100)
    name = models.CharField(max_length=200)
    group = models.CharField(max_length=100, blank=True)
    aliases = models.JSONField(default=list)
    definition = models.TextField(blank=True)
    machine_definition = models.TextField(blank=True)
    include = models.TextField(blank=True)
    exclude = models.TextField(blank=True)
    key = models.CharField(max_length=1, blank=True)
    source = models.CharField(max_length=300, blank=True)
    position = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["version", "family", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["version", "identifier"], name="%(app_label)s_%(class)s_identifier_once"),
            models.UniqueConstraint(
                fields=["version", "key"], condition=~models.Q(key=""), name="%(app_label)s_%(class)s_one_code_per_key"
            ),
        ]

    def __str__(self) -> str:
        return self.name
