"""Second-order bias: biased texts, and what a model answered when asked to whom they would be acceptable."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from auditapp.batches.models import Cell
from transcripts.projects.models import Project


class Dataset(models.Model):
    """A set of texts as loaded from one file. The texts are hateful or offensive: they are masked wherever shown."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="datasets")
    name = models.CharField(max_length=100)
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    format = models.CharField(max_length=40)
    warnings = models.JSONField(default=list)
    loaded_by_name = models.CharField(max_length=200)
    loaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="loaded_datasets",
    )
    loaded_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "name"], name="%(app_label)s_%(class)s_name_once")
        ]

    def __str__(self) -> str:
        return self.name


class Text(models.Model):
    """One biased text with the group it targets."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="texts")
    position = models.PositiveIntegerField()
    source = models.CharField(max_length=100)
    external_id = models.CharField(max_length=100)
    text = models.TextField()
    target = models.CharField(max_length=100)
    target_secondary = models.CharField(max_length=100, blank=True)
    target_tertiary = models.CharField(max_length=100, blank=True)
    target_raw = models.CharField(max_length=300, blank=True)
    kind = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering: ClassVar = ["dataset", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["dataset", "position"], name="%(app_label)s_%(class)s_one_per_position"),
            models.UniqueConstraint(
                fields=["dataset", "source", "external_id"], name="%(app_label)s_%(class)s_id_once"
            ),
        ]

    def __str__(self) -> str:
        return f"text {self.source} {self.external_id}"


class Judgment(models.Model):
    """A model's answer about one text as our rules read it. The answer itself is the cell's result."""

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="judgment")
    text = models.ForeignKey(Text, on_delete=models.PROTECT, related_name="judgments")
    outcome = models.CharField(max_length=15)
    attributes = models.JSONField(default=dict)
    n_attributes = models.PositiveSmallIntegerField(default=0)
    repaired = models.BooleanField(default=False)
    parser = models.CharField(max_length=30)

    def __str__(self) -> str:
        return f"judgment of cell {self.cell_id}"

    @property
    def attribute_pairs(self) -> list[tuple[str, object]]:
        """The attributes for a page: a model may name one "items"."""
        return list(self.attributes.items())

    @property
    def state_class(self) -> str:
        """The mark its outcome is shown with: something attributed, nothing attributed, or not readable."""
        return {"attributed": "valid", "unknown": ""}.get(self.outcome, "invalid")
