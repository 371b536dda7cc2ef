"""What a study decides about the benchmark: who counts as which target, what maps to whom, and with which words it asks.

Each is a row that is never edited: a change is the next number, with its reason.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models

from transcripts.history.models import Numbered
from transcripts.studies.models import Project
from transcripts.ui.typed_text import MAX_REASON


class MadeByPerson(models.Model):
    """Who made a row and when; the name stays when the account goes. ``made_by`` is ``None`` for the command line."""

    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    made_by_name = models.CharField(max_length=200)
    made_at = models.DateTimeField()

    class Meta:
        abstract = True


class NumberedTable(MadeByPerson, Numbered):
    """A table of a study under a number that grows; ``sha256`` is that of its rows as canonical JSON."""

    rows = models.JSONField()
    reason = models.TextField(
        max_length=MAX_REASON,
        help_text="Why the table changes. Kept with the table; that of a mapping is shown with every figure that uses it.",
    )
    sha256 = models.CharField(max_length=64)

    place = "rows"
    signed = "made"
    reason_from = 1
    counted: ClassVar[str]

    class Meta:
        abstract = True

    def describe(self, latest: Self | None) -> dict[str, Any]:
        return {"number": self.number, self.counted: len(self.rows), "sha256": self.sha256}


class TargetTable(NumberedTable):
    """From a source's label to the normalised target (method brief R46).

    ``rows`` is a list of objects {"raw", "target", "secondary", "tertiary"}; empty text where there is none.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="target_tables")

    event = "sob.targets.saved"
    counted = "rows"

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"target table {self.number}"


class MappingTable(NumberedTable):
    """Which attributed values count as the target itself, and which as the dominant group (method brief R44).

    ``rows`` is {target: {"self": [value, …], "dominant": [value, …]}}, in the order of the page.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="mapping_tables")

    event = "sob.mapping.saved"
    counted = "targets"

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"mapping table {self.number}"


class Wording(MadeByPerson):
    """A study's own instrument. Not comparable with the published ones, nor with any other wording.

    ``characteristics`` are those it asks for, in its order and in lower case; they are the schema of strict counting.
    ``based_on`` names the wording it was edited from.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="wordings")
    name = models.SlugField(
        max_length=40, help_text="Letters, digits, hyphens. A wording is never changed; use a new name for a change."
    )
    task = models.CharField(max_length=60)
    text = models.TextField()
    characteristics = models.JSONField()
    based_on = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering: ClassVar = ["name", "task"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "name", "task"], name="%(app_label)s_%(class)s_name_once")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.task})"


class TermsNotice(MadeByPerson):
    """That a person of the study confirmed, once: the instrument overrides refusals, the providers' terms were read."""

    project = models.OneToOneField(Project, on_delete=models.PROTECT, related_name="sob_notice")

    def __str__(self) -> str:
        return f"notice of {self.project_id}"
