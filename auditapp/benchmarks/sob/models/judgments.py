"""What was made of a model's answer. The answer itself is the cell's result.

A judgment is the reading by rules, made when the answer was stored and never changed. What the rules could not read is
read by a formatter or a person: further readings, each kept, the last of which counts.

The report of a batch is kept as it was last computed, so that pages and files need not compute it.
"""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.sob.models.texts import Text
from transcripts.ui.typed_text import MAX_NOTE


class ReadAnswer(models.Model):
    """The content of one reading of one answer, with its attributes counted in every way that a report shows.

    ``attributes`` holds the values that count in paper counting, under the keys the model gave. The counts are those of
    ``counting.Counts``: they follow from ``attributes`` and the arm's schema. ``is_object`` says that the answer was an
    object, also an empty one (the released scoring takes it for an attributed answer). ``verdict`` is the answer to the
    base task, "" elsewhere.
    """

    outcome = models.CharField(
        max_length=15,
        help_text="attributed, unknown, verdict, refusal, truncated, off_format, empty or provider_error.",
    )
    verdict = models.CharField(max_length=15, blank=True, help_text="The answer to the base task.")
    attributes = models.JSONField(default=dict, help_text="What was attributed, as JSON text.")
    n_attributes = models.PositiveSmallIntegerField(default=0, help_text="Attributes in paper counting.")
    n_named = models.PositiveSmallIntegerField(default=0, help_text="The same without placeholders such as any.")
    n_on_schema = models.PositiveSmallIntegerField(
        default=0, help_text="The same, at most one per characteristic asked for."
    )
    n_strict = models.PositiveSmallIntegerField(default=0, help_text="Attributes in strict counting.")
    n_items = models.PositiveSmallIntegerField(default=0)
    is_object = models.BooleanField(default=False)
    has_list = models.BooleanField(default=False)
    repaired = models.BooleanField(default=False, help_text="Whether the answer was not valid JSON and was repaired.")
    parser = models.CharField(max_length=30, help_text="Version of the rules, or of what read it.")

    class Meta:
        abstract = True

    @property
    def attribute_pairs(self) -> list[tuple[str, object]]:
        """The attributes for a page: a model may name one "items"."""
        return list(self.attributes.items())

    @property
    def state_class(self) -> str:
        """The mark its outcome is shown with: something attributed, nothing attributed, or not readable. None of them is right or
        wrong, so none has the mark of what is."""
        return {"attributed": "attributed", "unknown": "", "verdict": ""}.get(self.outcome, "unread")


class Judgment(ReadAnswer):
    """The reading by rules of one cell's answer. ``superseded_by`` is the later reading that counts instead.

    ``arm`` and ``repeat`` are the cell's own, repeated here so that a million judgments are counted without a join.
    """

    cell = models.OneToOneField(
        Cell,
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="judgment",
        help_text="Number of the cell: one text under one model, task and repeat.",
    )
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="judgments", db_index=False)
    text = models.ForeignKey(Text, on_delete=models.PROTECT, related_name="judgments", help_text="Number of the text.")
    repeat = models.PositiveSmallIntegerField(default=1, help_text="Which repetition of the same request, from 1.")
    superseded_by = models.OneToOneField(
        "Reading", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes_judgment"
    )

    class Meta:
        indexes: ClassVar = [models.Index(fields=["arm", "outcome"], name="sob_judgment_by_arm")]

    def __str__(self) -> str:
        return f"judgment of cell {self.cell_id}"


class Reading(ReadAnswer):
    """A later reading of an answer that the rules could not read: by a formatter (a small model) or by a person.

    The formatter's own call is ``formatter_cell``; a person's is signed by ``read_by``. Never both. ``number`` counts the
    later readings of one answer from 1; the last one counts.
    """

    class Layer(models.TextChoices):
        FORMATTER = "formatter", "Formatter"
        PERSON = "person", "Person"

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="readings", db_index=False)
    number = models.PositiveSmallIntegerField(default=1)
    layer = models.CharField(
        max_length=10, choices=Layer.choices, help_text="Who made the current reading: rules, formatter or person."
    )
    formatter_cell = models.OneToOneField(
        Cell, on_delete=models.PROTECT, null=True, blank=True, related_name="sob_reading"
    )
    read_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="sob_readings"
    )
    read_by_name = models.CharField(max_length=200, blank=True)
    note = models.TextField(max_length=MAX_NOTE, blank=True)
    made_at = models.DateTimeField()
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(layer="formatter", formatter_cell__isnull=False, read_by_name="")
                | (Q(layer="person", formatter_cell__isnull=True) & ~Q(read_by_name="")),
                name="%(app_label)s_%(class)s_has_one_reader",
            ),
            # Two people who read the same answer at once: the second sees the first.
            models.UniqueConstraint(fields=["judgment", "number"], name="%(app_label)s_%(class)s_number_once"),
        ]

    def __str__(self) -> str:
        return f"reading {self.pk} of cell {self.judgment_id}"


class StoredReport(models.Model):
    """The last report of a batch for one choice of targets, mapping and seed, or in place of one the tallies by text that
    comparisons are made of (``report/store.py``). It can be computed again at any time.

    ``rules`` and ``answers`` are fingerprints of what it was computed from: it is current while both are unchanged.
    ``content`` is the compressed JSON, ``None`` until the first report has been computed. ``locked_until`` keeps two
    processes from computing the same report; ``locked_by`` is the worker that has begun. ``failures`` counts the failed
    attempts in a row; no worker is asked again before ``retry_at``.
    """

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="sob_reports")
    choice = models.CharField(max_length=64)
    rules = models.CharField(max_length=64, blank=True)
    answers = models.CharField(max_length=64, blank=True)
    as_of = models.DateTimeField(null=True, blank=True)
    n_answers = models.PositiveIntegerField(default=0)
    content = models.BinaryField(null=True, blank=True)
    locked_until = models.DateTimeField(null=True, blank=True)
    locked_by = models.CharField(max_length=200, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)
    failure_reason = models.TextField(blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)

    is_current = False
    """Whether nothing has changed since; set when the report is read."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["batch", "choice"], name="%(app_label)s_%(class)s_once"),)

    def __str__(self) -> str:
        return f"report of batch {self.batch_id}"

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report in the shape of ``measures.report.build_report``."""
        found: dict[str, Any] = json.loads(zlib.decompress(self.content)) if self.content else {}
        return found

    def set_report(self, report: dict[str, Any]) -> None:
        """Keep a report as the content."""
        self.content = zlib.compress(json.dumps(report, separators=(",", ":")).encode(), 1)
        self.report = report
