"""What machines said of sentences. Never a Coding: a person's row is only ever made by a person."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from auditapp.annotators.models.annotators import Annotator, OfflineRun
from auditapp.batches.models import Cell
from transcripts.codebook.models import Code
from transcripts.coding.models import Enactment, Level
from transcripts.corpus.models import Interview, Sentence

# Characters.
MAX_CONTROL_SENTENCES = 500


class Understood(models.Model):
    """How one answer was understood.

    ``asked`` and ``missing`` are numbers of sentences: those it was asked about, and those of them it said nothing
    about, which is not the same as "no code". Items that name an unknown code or a sentence that was not asked about,
    or whose evidence is not in the sentence, are kept in ``rejected`` with the reason and never applied.
    """

    class Outcome(models.TextChoices):
        VALID = "valid", "Valid"
        PARTIAL = "partial", "Partly valid"
        INVALID = "invalid", "Not usable"

    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    problem = models.CharField(max_length=300, blank=True)
    rejected = models.JSONField(default=list)
    asked = models.JSONField(default=list)
    missing = models.JSONField(default=list)

    class Meta:
        abstract = True


class TurnAnswer(Understood):
    """An annotator's answer about one turn. ``flags`` name what in the turn looks like instructions to a machine."""

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="turn_answer")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="turn_answers")
    accepted = models.PositiveIntegerField(default=0)
    flags = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"turn_answer of cell {self.cell_id}"


class OfflineAnswer(models.Model):
    """An interview that an offline annotator has read: ``sentences`` are the numbers of those it read."""

    run = models.ForeignKey(OfflineRun, on_delete=models.PROTECT, related_name="turn_answers")
    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="offline_answers")
    sentences = models.JSONField(default=list)
    accepted = models.PositiveIntegerField(default=0)
    read_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "interview"], name="%(app_label)s_%(class)s_once_per_run")
        ]

    def __str__(self) -> str:
        return f"turn_answer of interview {self.interview_id}"


class Suggestion(models.Model):
    """One code a machine proposes for one sentence, or for the whole turn that begins with it, with its reason.

    It came in the answer of a ``cell``, or in a ``run`` that needed no call. ``quote_start`` and ``quote_end`` are its
    evidence, verified in the sentence (of a code for turns, in the turn), in code points of the turn's text. ``answers`` are
    those to the code's own questions, by their keys, each one of the choices offered. ``enactment`` is empty where the annotator
    was not asked for it or cannot tell it. ``score`` is a learnt reader's own probability, never shown as certainty. ``place`` is
    a shuffled order within the answer.
    """

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="suggestions")
    cell = models.ForeignKey(Cell, on_delete=models.PROTECT, null=True, blank=True, related_name="suggestions")
    run = models.ForeignKey(
        OfflineRun,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="suggestions",
        help_text="Number of the run without a model.",
    )
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="suggestions")
    code = models.ForeignKey(Code, on_delete=models.PROTECT, related_name="suggestions")
    level = models.CharField(
        max_length=10,
        choices=Level.choices,
        default=Level.SEMANTIC,
        help_text="semantic (said outright) or latent (interpreted from what is said).",
    )
    enactment = models.CharField(
        max_length=15,
        choices=Enactment.choices,
        blank=True,
        default="",
        db_default="",
        help_text="For moves: enacted, demonstrated or described; empty if the annotator was not asked for it or cannot tell it.",
    )
    answers = models.JSONField(default=dict, db_default={})
    rationale = models.TextField(blank=True, help_text="The reason the annotator gave.")
    quote_start = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="First character of the words that the annotator gives as evidence, in code points of the turn's text.",
    )
    quote_end = models.PositiveIntegerField(null=True, blank=True, help_text="Character after the last of them.")
    score = models.FloatField(
        null=True, blank=True, help_text="The probability given by a learnt annotator; it is not a certainty."
    )
    place = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["cell", "sentence", "code"], name="%(app_label)s_%(class)s_once_per_answer"
            ),
            models.UniqueConstraint(fields=["run", "sentence", "code"], name="%(app_label)s_%(class)s_once_per_run"),
            models.CheckConstraint(
                condition=Q(cell__isnull=True) ^ Q(run__isnull=True), name="%(app_label)s_%(class)s_has_one_origin"
            ),
            models.CheckConstraint(
                condition=Q(quote_start__isnull=True, quote_end__isnull=True)
                | Q(quote_end__gt=models.F("quote_start")),
                name="%(app_label)s_%(class)s_quote_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"suggestion {self.pk}"


class CriticAnswer(models.Model):
    """A critic's verdict on one suggestion, given the source and the first reason: whether the code is upheld."""

    class Verdict(models.TextChoices):
        UPHELD = "upheld", "Upheld"
        REJECTED = "rejected", "Rejected"

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="critic_answer")
    suggestion = models.ForeignKey(Suggestion, on_delete=models.PROTECT, related_name="critic_answers")
    verdict = models.CharField(max_length=10, choices=Verdict.choices, blank=True)
    rationale = models.TextField(blank=True)
    problem = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(verdict="") ^ Q(problem=""), name="%(app_label)s_%(class)s_verdict_or_problem"
            )
        ]

    def __str__(self) -> str:
        return f"critic's turn answer of suggestion {self.suggestion_id}"


class CheckAnswer(Understood):
    """An answer that was asked for to learn about the annotator, never shown at the desk.

    ``condition`` says how the question was changed (repeat-1, reversed, generic, swapped, reask …). ``picks`` has, by
    the number of a sentence, the identifiers of its codes in the annotator's own codebook; ``controls`` the same by the
    number of a control sentence.
    """

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="check_answer")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="check_answers")
    condition = models.CharField(max_length=20)
    picks = models.JSONField(default=dict)
    controls = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.condition} of cell {self.cell_id}"


class ControlSentence(models.Model):
    """An invented sentence with known codes, mixed with a turn's sentences when an annotator is asked again.

    ``codes`` are identifiers; an empty list says that none applies.
    """

    study = models.ForeignKey("studies.Study", on_delete=models.PROTECT, related_name="control_sentences")
    text = models.TextField(
        "sentence",
        max_length=MAX_CONTROL_SENTENCES,
        help_text="It must be invented and must not occur in any interview.",
    )
    codes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    created_by_name = models.CharField(max_length=200)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "text"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            )
        ]

    def __str__(self) -> str:
        return f"control sentence {self.pk}"
