"""Annotators: a model, keyword rules or learnt from codings, each with one published version of the codebook."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import CodebookVersion
from transcripts.corpus.models import Interview
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON

# The names under which the batch engine knows the batches that ask an annotator, check it, and criticise its suggestions.
KIND, CHECK_KIND, CRITIC_KIND = "preannotation", "preannotation_check", "preannotation_critic"


class Annotator(models.Model):
    """A machine annotator. Any change of model, prompt or codebook version makes another annotator.

    ``hash`` is over everything that decides what it says (for a model the exact instructions, for rules the rules, for
    what was learnt the set of codings); empty on annotators made before there were hashes. ``number`` counts the
    annotators of one name. ``recipe`` holds what its kind needs to be read again: of a learnt one the hash of its codings, its
    seed, and per code how many examples there were, the threshold, and how it did on interviews it had not seen.
    """

    class Kind(models.TextChoices):
        MODEL = "model", "Model"
        RULES = "rules", "Keyword rules of the codebook"
        LEARNT = "learnt", "Learnt from this study's blind codings"

    class Mode(models.TextChoices):
        FAMILY = "family", "One call per turn and code family"
        CODE = "code", "One call per turn and code"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="annotators")
    name = models.CharField(
        max_length=100,
        help_text="The annotator that proposed it: a model with its prompt and codebook version, rules, or a model learnt from "
        "codings.",
    )
    number = models.PositiveIntegerField(
        default=1,
        help_text="Number of the annotator with that name, from 1. A change of model, prompt or codebook version makes another "
        "one.",
    )
    kind = models.CharField(
        max_length=10,
        choices=Kind.choices,
        default=Kind.MODEL,
        help_text="model, rules (of the codebook) or learnt (from this study's blind codings).",
    )
    variant = models.ForeignKey(
        ModelVariant, on_delete=models.PROTECT, null=True, blank=True, related_name="annotators"
    )
    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="annotators")
    mode = models.CharField(
        max_length=10,
        choices=Mode.choices,
        default=Mode.FAMILY,
        help_text="family: one call for all codes of a family; code: one call per code.",
    )
    reads_latent = models.BooleanField(default=False)
    prompt_version = models.CharField(max_length=40, blank=True)
    recipe = models.JSONField(default=dict, blank=True)
    hash = models.CharField(
        max_length=64,
        blank=True,
        help_text="SHA-256 of everything that determines its labels; empty for annotators made before hashes.",
    )
    created_at = models.DateTimeField()
    created_by_name = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar = ["study", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "name", "number"], name="%(app_label)s_%(class)s_number_once_per_name"
            ),
            models.UniqueConstraint(
                fields=["study", "hash"], condition=~Q(hash=""), name="%(app_label)s_%(class)s_once"
            ),
            models.CheckConstraint(
                condition=Q(kind="model") ^ Q(variant__isnull=True), name="%(app_label)s_%(class)s_model_has_variant"
            ),
        ]

    def __str__(self) -> str:
        return self.name if self.number == 1 else f"{self.name} {self.number}"


class OfflineRun(models.Model):
    """One run of an annotator that needs no provider over interviews. A worker does it, an interview at a time.

    ``claimed_until``: the worker that has it says so again before then; afterwards another may go on. ``asked`` is a
    SHA-256 of what the form with this ``idempotency_key`` asked for; empty on runs from before there was one.
    """

    class State(models.TextChoices):
        PLANNED = "planned", "Planned"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="runs")
    interviews = models.ManyToManyField(Interview, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    problem = models.TextField(blank=True)
    idempotency_key = models.UUIDField(null=True, blank=True, unique=True)
    asked = models.CharField(max_length=64, blank=True)
    claimed_by = models.CharField(max_length=60, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    # How far the learning is that comes before reading: so many steps of so many.
    learnt_steps = models.PositiveIntegerField(default=0)
    learning_steps = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    launched_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="offline_runs"
    )
    launched_by_name = models.CharField(max_length=200)

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"run {self.pk}"


class CodeChoice(models.Model):
    """Which annotator is chosen for a code, and why. No annotator: the code is left to people."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="code_choices")
    code_identifier = models.CharField(max_length=100, help_text="Identifier of the code.")
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, null=True, blank=True, related_name="code_choices"
    )
    with_critic = models.BooleanField(
        default=False, help_text="true if suggestions that a critic rejected are left out."
    )
    reason = models.TextField("why", max_length=MAX_REASON, blank=True)
    chosen_at = models.DateTimeField(help_text="When it was chosen, in UTC.")
    chosen_by_name = models.CharField(max_length=200, help_text="Who chose.")
    superseded_at = models.DateTimeField(
        null=True, blank=True, help_text="When it stopped applying, in UTC; empty while it applies."
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "code_identifier"],
                condition=Q(superseded_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            )
        ]

    def __str__(self) -> str:
        return f"choice {self.pk}"
