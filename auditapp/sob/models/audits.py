"""A sample of answers that people read again, without knowing which model gave them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from auditapp.batches.models import Batch
from auditapp.sob.models.judgments import Judgment
from auditapp.sob.models.tables import MadeByPerson


class Audit(MadeByPerson):
    """A seeded random sample of a batch's readings: of all usable answers, or of the formatter's alone.

    ``frame`` is the number of readings it was drawn from: the denominator of what is concluded.
    """

    class Scope(models.TextChoices):
        ANSWERS = "answers", "Answers of every layer"
        FORMATTER = "formatter", "What the formatter read"

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="sob_audits")
    number = models.PositiveIntegerField()
    scope = models.CharField(max_length=10, choices=Scope.choices)
    size = models.PositiveIntegerField()
    seed = models.PositiveBigIntegerField()
    frame = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"audit {self.number} of batch {self.batch_id}"


class AuditItem(models.Model):
    """One answer of a sample, with the reading that stood when it was drawn."""

    audit = models.ForeignKey(Audit, on_delete=models.PROTECT, related_name="items")
    position = models.PositiveIntegerField()
    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="audit_items")
    layer = models.CharField(max_length=10)
    outcome = models.CharField(max_length=15)
    n_attributes = models.PositiveSmallIntegerField()
    attributes = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["audit", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["audit", "position"], name="%(app_label)s_%(class)s_one_per_position"),
            models.UniqueConstraint(fields=["audit", "judgment"], name="%(app_label)s_%(class)s_judgment_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.position} of audit {self.audit_id}"


class AuditOpening(models.Model):
    """Somebody who may see all marks opened an audit's results before she had marked all of it: what she marks afterwards is
    not blind."""

    audit = models.ForeignKey(Audit, on_delete=models.PROTECT, related_name="openings")
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="sob_audit_openings")
    opened_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["audit", "opened_by"], name="%(app_label)s_%(class)s_once")
        ]

    def __str__(self) -> str:
        return f"opening of audit {self.audit_id}"


class AuditMark(models.Model):
    """What one reviewer found. ``outcome`` and ``n_attributes`` are her own reading of the answer, ``n_warranted`` is the
    number of those attributes that the text itself warrants (0 where the benchmark is right that it warrants none).
    A second thought is a new row under the next ``number``; the first is superseded, never changed. ``after_opening``: its
    reviewer had opened the results before, so it is not blind and stays out of every figure."""

    item = models.ForeignKey(AuditItem, on_delete=models.PROTECT, related_name="marks")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="sob_marks")
    parse_right = models.BooleanField()
    outcome = models.CharField(max_length=15)
    n_attributes = models.PositiveSmallIntegerField()
    n_warranted = models.PositiveSmallIntegerField(default=0)
    note = models.TextField(blank=True)
    number = models.PositiveSmallIntegerField(default=1)
    after_opening = models.BooleanField(default=False)
    client_id = models.UUIDField(unique=True)
    made_at = models.DateTimeField()
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["item", "reviewer", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=Q(n_warranted__lte=models.F("n_attributes")),
                name="%(app_label)s_%(class)s_warranted_at_most_all",
            ),
        ]

    def __str__(self) -> str:
        return f"mark {self.pk} on item {self.item_id}"
