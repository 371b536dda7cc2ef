"""The report of a batch as it was last computed, so that pages and files need not compute it."""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from typing import Any

from django.db import models

from auditapp.batches.models import Batch


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
