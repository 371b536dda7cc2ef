"""Decisions on disagreements between coders. Coders' own codings are never changed."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from transcripts.audit_trail.trail import register_rows
from transcripts.coding.models import SUPERSEDED_IS_WITHDRAWN
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_NOTE


class Adjudication(models.Model):
    """What somebody decided about a disagreement on one sentence and code family, and why.

    ``readings`` are the blind readings at the time: [{coder, codes}], in the order in which they were shown as A, B, C.
    ``codes`` are those that apply after the decision; empty if both readings are kept or the definition is at fault. A later
    decision withdraws and supersedes this row; ``revision`` counts them, so that a concurrent change is noticed.
    """

    class Outcome(models.TextChoices):
        ONE = "one", "One reading holds"
        BOTH = "both", "Both stand"
        NEITHER = "neither", "Neither; another reading holds"
        REDEFINED = "redefined", "The definition is changed"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="adjudications")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="adjudications")
    family_identifier = models.CharField(
        max_length=100, help_text="Identifier of the family of codes that was decided on."
    )
    readings = models.JSONField(help_text="The blind readings at the time: a list of objects with coder and codes.")
    outcome = models.CharField(
        max_length=10,
        choices=Outcome.choices,
        help_text="one (reading is upheld), both, neither, or redefined (the definition is at fault).",
    )
    chosen_coder = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="upheld_readings",
        help_text="The coder whose reading was upheld.",
    )
    codes = models.JSONField(default=list, help_text="The codes that apply after the decision.")
    reason = models.TextField("why", max_length=MAX_NOTE)
    adjudicator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications", help_text="Who decided."
    )
    idempotency_key = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(
        default=1, help_text="Number of the decision on this sentence and family, from 1."
    )
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        ordering: ClassVar = ["study", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sentence", "family_identifier"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            SUPERSEDED_IS_WITHDRAWN,
            models.UniqueConstraint(
                fields=["sentence", "family_identifier", "revision"], name="%(app_label)s_%(class)s_revision_once"
            ),
            models.UniqueConstraint(
                fields=["adjudicator", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="%(app_label)s_%(class)s_has_a_reason"),
            models.CheckConstraint(
                condition=Q(outcome="one") ^ Q(chosen_coder__isnull=True),
                name="%(app_label)s_%(class)s_names_a_reading",
            ),
        ]

    def __str__(self) -> str:
        return f"adjudication {self.pk}"


register_rows(
    Adjudication,
    "study sentence family readings outcome chosen codes adjudicator created_at withdrawn_at revision superseded_by",
    texts=["reason"],
    study="study_id",
    family="family_identifier",
    chosen="chosen_coder_id",
)
