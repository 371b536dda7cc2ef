"""The biased texts. They may be hateful or offensive: masked wherever shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Count

from auditapp.benchmarks.sob.models.tables import TargetTable
from transcripts.studies.models import Project


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def with_counts(self) -> Self:
        """In the order of loading, with ``n_texts`` and ``n_targets``."""
        counted = self.annotate(n_texts=Count("texts"), n_targets=Count("texts__target", distinct=True))
        return counted.order_by("pk")


class Dataset(models.Model):
    """A set of texts as loaded from one file, or drawn from another set.

    ``sampling`` says how rows were chosen and what became of the others: {"method", "seed", "by", "size", "read", "kept",
    "dropped": {reason: rows}, "strata": {stratum: {"read", "kept"}}}; empty where every row was taken. ``filter`` is the
    source's own filter in words. ``target_table`` is the table that named the targets, ``None`` where the file did or the
    published table was used (``sampling`` does not say; ``targets_from`` does).
    """

    class TargetsFrom(models.TextChoices):
        FILE = "file", "as the file names them"
        PUBLISHED = "published", "the published table"
        TABLE = "table", "the study's own table"

    # Empty while the texts of a large file come in, so that no page of a study shows half of them; see texts/actions/datasets.py.
    if TYPE_CHECKING:
        project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="datasets")
        project_id: int
    else:
        project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, related_name="datasets")
    name = models.CharField(max_length=100, help_text="The name of the dataset in this study.")
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    format = models.CharField(max_length=40)
    warnings = models.JSONField(default=list)
    source_name = models.CharField("where the texts come from", max_length=100, blank=True)
    licence = models.CharField(max_length=200, blank=True)
    split = models.CharField(max_length=100, blank=True)
    filter = models.CharField(
        max_length=300, blank=True, help_text="Describe which texts of the source are in the file."
    )
    sampling = models.JSONField(default=dict)
    targets_from = models.CharField(max_length=10, choices=TargetsFrom.choices, default=TargetsFrom.FILE)
    target_table = models.ForeignKey(
        TargetTable, on_delete=models.PROTECT, null=True, blank=True, related_name="datasets"
    )
    drawn_from = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="samples")
    loaded_by_name = models.CharField(max_length=200)
    loaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="loaded_datasets",
    )
    loaded_at = models.DateTimeField()

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "name"], name="%(app_label)s_%(class)s_name_once")
        ]

    def __str__(self) -> str:
        return self.name


class Text(models.Model):
    """One biased text with the group it targets. ``target`` "" means none: it counts in overall alone."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="texts")
    position = models.PositiveIntegerField()
    source = models.CharField(max_length=100, help_text="Source of the text.")
    external_id = models.CharField(max_length=100, help_text="The text's id in its source.")
    text = models.TextField()
    target = models.CharField(max_length=100, help_text="The group the text targets.")
    target_secondary = models.CharField(max_length=100, blank=True, help_text="A second group it targets.")
    target_tertiary = models.CharField(max_length=100, blank=True, help_text="A third group it targets.")
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
