"""Anchor sentences, which are coded again after each change of meaning, so that drift can be seen."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from transcripts.codebook.models import CodebookVersion
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study


class AnchorSentence(models.Model):
    """One of the fixed sentences that are coded again after each change of meaning, so that drift can be seen."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="anchor_sentences")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="anchors")
    added_at = models.DateTimeField(help_text="When it became an anchor, in UTC.")
    added_by_name = models.CharField(max_length=200, help_text="Who chose it.")
    removed_at = models.DateTimeField(null=True, blank=True, help_text="When it stopped being one.")

    class Meta:
        ordering: ClassVar = ["study", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "sentence"],
                condition=Q(removed_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            )
        ]

    def __str__(self) -> str:
        return f"anchor {self.pk}"


class AnchorReading(models.Model):
    """One coder's reading of one anchor sentence under one codebook version, made without seeing her earlier readings.

    ``codes`` lists the identifiers she applied, in order; an empty list means that none applies.
    """

    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="anchor_readings")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="anchor_readings")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="anchor_readings")
    codes = models.JSONField(default=list)
    idempotency_key = models.UUIDField()
    read_at = models.DateTimeField(help_text="When it was read, in UTC.")

    class Meta:
        ordering: ClassVar = ["version", "sentence", "coder"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["version", "sentence", "coder"], name="%(app_label)s_%(class)s_once_per_version"
            ),
            models.UniqueConstraint(fields=["coder", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
        ]

    def __str__(self) -> str:
        return f"anchor reading {self.pk}"
