"""A sample of answers that people judge again, without knowing which model gave them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse

from auditapp.audits.models import BaseAudit, BaseItem, BaseMark, BaseOpening
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models.judgments import Judgment

MAX_ITEMS = 5_000
MAX_ATTRIBUTES = 1_000


class Audit(BaseAudit):
    """A sample of a batch's readings: of all usable answers, or of the formatter's alone.

    ``frame`` is the number of readings it was drawn from: the denominator of what is concluded. ``made_by`` is ``None`` for
    the command line. Reads batch.
    """

    class Scope(models.TextChoices):
        ANSWERS = "answers", "Answers of every layer"
        FORMATTER = "formatter", "What the formatter read"

    events: ClassVar = "sob.audit"

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="sob_audits")
    number = models.PositiveIntegerField()
    scope = models.CharField(max_length=10, choices=Scope.choices)
    size = models.PositiveIntegerField(
        "answers",
        validators=[MinValueValidator(1), MaxValueValidator(MAX_ITEMS)],
        help_text="If there are fewer answers, all of them are drawn. With 50, an error rate of 10 % is known to within about "
        "8 percentage points.",
    )
    frame = models.PositiveIntegerField()
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"audit {self.number} of batch {self.batch_id}"

    def get_absolute_url(self) -> str:
        return reverse("sob:audit", args=[self.batch.project.slug, self.batch_id, self.pk])

    @property
    def project_id(self) -> int:
        return self.batch.project_id


class AuditItem(BaseItem):
    """One answer of a sample, with its reading at the time of the draw."""

    audit = models.ForeignKey(Audit, on_delete=models.PROTECT, related_name="items")
    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="audit_items")
    layer = models.CharField(max_length=10)
    outcome = models.CharField(max_length=15)
    n_attributes = models.PositiveSmallIntegerField()
    attributes = models.JSONField(default=dict)

    class Meta(BaseItem.Meta):
        constraints: ClassVar = [
            *BaseItem.Meta.constraints,
            models.UniqueConstraint(fields=["audit", "judgment"], name="%(app_label)s_%(class)s_judgment_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.position} of audit {self.audit_id}"


class AuditMark(BaseMark):
    """``outcome`` and ``n_attributes`` are the reviewer's own reading of the answer, ``n_warranted`` is the number of those
    attributes that the text itself warrants (0 where the benchmark is right that it warrants none)."""

    item = models.ForeignKey(AuditItem, on_delete=models.PROTECT, related_name="marks")
    parse_right = models.BooleanField()
    outcome = models.CharField(max_length=15)
    n_attributes = models.PositiveSmallIntegerField(
        "characteristics that the answer attributes",
        validators=[MaxValueValidator(MAX_ATTRIBUTES)],
        help_text="Each characteristic with a value counts once, even if the value is a list. A characteristic called unknown "
        "does not count.",
    )
    n_warranted = models.PositiveSmallIntegerField(
        "of these, warranted by the text itself",
        validators=[MaxValueValidator(MAX_ATTRIBUTES)],
        help_text="Open the text to decide. A text seldom says who would accept it. Leave this empty for 0.",
    )

    class Meta(BaseMark.Meta):
        constraints: ClassVar = [
            *BaseMark.Meta.constraints,
            models.CheckConstraint(
                condition=Q(n_warranted__lte=models.F("n_attributes")),
                name="%(app_label)s_%(class)s_warranted_at_most_all",
            ),
        ]

    def __str__(self) -> str:
        return f"mark {self.pk} on item {self.item_id}"


class AuditOpening(BaseOpening):
    """A person opened the results of an audit of readings before having marked all of it."""

    audit = models.ForeignKey(Audit, on_delete=models.PROTECT, related_name="openings")

    def __str__(self) -> str:
        return f"opening of audit {self.audit_id}"
