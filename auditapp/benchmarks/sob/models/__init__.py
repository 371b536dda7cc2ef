"""Second-order bias: biased texts, what models answered about them, and how each answer was read."""

from __future__ import annotations

from auditapp.benchmarks.sob.models.audits import Audit, AuditItem, AuditMark, AuditOpening
from auditapp.benchmarks.sob.models.judgments import Judgment, ReadAnswer, Reading, StoredReport
from auditapp.benchmarks.sob.models.tables import MappingTable, TargetTable, TermsNotice, Wording
from auditapp.benchmarks.sob.models.texts import Dataset, Text

__all__ = [
    "Audit",
    "AuditItem",
    "AuditMark",
    "AuditOpening",
    "Dataset",
    "Judgment",
    "MappingTable",
    "ReadAnswer",
    "Reading",
    "StoredReport",
    "TargetTable",
    "TermsNotice",
    "Text",
    "Wording",
]
