"""Annotators, their answers and suggestions, and what is withheld from people.

An annotator is a model, keyword rules, or a classifier learnt from codings, each with one published version of the codebook. A
machine's label of a sentence is never a Coding: a person's row is made only by a person. Turns may be withheld from suggestions,
and in draft interviews suggestions are shown before a decision.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q

from auditapp.batches.models import Cell
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding.models import Enactment, Level
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON, MAX_SEED

__all__ = [
    "CHECK_KIND",
    "CRITIC_KIND",
    "KIND",
    "MAX_CONTROL_SENTENCES",
    "Annotator",
    "CheckAnswer",
    "CodeChoice",
    "ControlSentence",
    "CriticAnswer",
    "DraftInterview",
    "OfflineAnswer",
    "OfflineRun",
    "Suggestion",
    "TurnAnswer",
    "TurnArm",
    "Understood",
    "WithholdingPlan",
]


# The names under which the batch engine knows the batches that ask an annotator, check it, and criticise its suggestions.
KIND, CHECK_KIND, CRITIC_KIND = "preannotation", "preannotation_check", "preannotation_critic"


class Annotator(models.Model):
    """A machine annotator. Any change of model, prompt or codebook version makes another annotator.

    ``hash`` covers everything that determines its labels: for a model the exact instructions, for rules the rules, for a
    classifier the set of codings. It is empty for annotators made before there were hashes. ``number`` numbers the annotators of
    one name. ``recipe`` has what is needed to rebuild an annotator of its kind: for a classifier the hash of its codings, its
    seed, and for each code the number of examples, the threshold, and its results on interviews that it had not seen.
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
        help_text="The annotator that made the suggestion: a model with its prompt and codebook version, keyword rules, or a "
        "classifier learnt from codings.",
    )
    number = models.PositiveIntegerField(
        default=1,
        help_text="Number of the annotator among those of the same name, from 1. A change of model, prompt or codebook version "
        "makes another annotator.",
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
    """One run over interviews of an annotator that needs no provider. A worker does it, one interview at a time.

    ``claimed_until``: the worker that has the run renews its claim before this time; afterwards another worker may continue.
    ``asked`` is a SHA-256 of what the form with this ``idempotency_key`` asked for; empty for runs made before this was recorded.
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
    # How far the learning is that comes before annotating: steps done, and steps in all.
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
    """Which annotator is chosen for a code, and why. Without an annotator, the code is left to people."""

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


# Characters.
MAX_CONTROL_SENTENCES = 500


class Understood(models.Model):
    """How one answer was parsed.

    ``asked`` has the numbers of the sentences that the annotator was asked about, ``missing`` the numbers of those that the
    answer leaves out, which is not the same as "no code". Items that name an unknown code or a sentence that was not asked about,
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
    """An annotator's answer about one turn. ``flags`` name the patterns in the turn that look like instructions to a machine."""

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="turn_answer")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="turn_answers")
    accepted = models.PositiveIntegerField(default=0)
    flags = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"turn_answer of cell {self.cell_id}"


class OfflineAnswer(models.Model):
    """An interview that an offline annotator has annotated; ``sentences`` are the numbers of the annotated sentences."""

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
    """One code that a machine suggests for one sentence, or for the whole turn that begins with the sentence, with its reason.

    It comes from the answer of a ``cell``, or from a ``run`` that needed no call. ``quote_start`` and ``quote_end`` mark its
    evidence, which was found in the sentence (for a code for turns, in the turn), in code points of the turn's text. ``answers``
    are the answers to the code's own questions, by their keys; each is one of the offered choices. ``enactment`` is empty if the
    annotator was not asked for it or cannot determine it. ``score`` is the probability given by a classifier, which is never
    shown as certainty. ``place`` is the position in a shuffled order within the answer.
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
        help_text="For moves: enacted, demonstrated or described; empty if the annotator was not asked for it or cannot "
        "determine it.",
    )
    answers = models.JSONField(default=dict, db_default={})
    rationale = models.TextField(blank=True, help_text="The reason given by the annotator.")
    quote_start = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="First character of the words given as evidence, in code points of the turn's text.",
    )
    quote_end = models.PositiveIntegerField(null=True, blank=True, help_text="Character after the last of them.")
    score = models.FloatField(
        null=True, blank=True, help_text="The probability given by a learnt annotator, which is not a certainty."
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
    """A critic's verdict on one suggestion, based on the source and the annotator's reason: whether the code is upheld."""

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
    """An answer to a question that tests the annotator; it is never shown at the desk.

    ``condition`` says how the question was changed (repeat-1, reversed, generic, swapped, reask …). ``picks`` has, by sentence
    number, the identifiers of its codes in the annotator's own codebook; ``controls`` has the same by the number of a control
    sentence.
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

    ``codes`` are identifiers; an empty list means that no code applies.
    """

    study = models.ForeignKey("studies.Study", on_delete=models.PROTECT, related_name="control_sentences")
    text = models.TextField(
        "sentence",
        max_length=MAX_CONTROL_SENTENCES,
        help_text="The sentence must be invented and must not occur in any interview.",
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


class WithholdingPlan(models.Model):
    """The share of turns that never show suggestions, in interviews drawn under this plan. The latest plan is used for new
    draws."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="withholding_plans")
    number = models.PositiveIntegerField(help_text="Number of the plan.")
    share_percent = models.PositiveSmallIntegerField(
        "share of turns withheld, in per cent",
        validators=[MaxValueValidator(100)],
        default=20,
        help_text="Share of turns that the plan withholds; the default is 20. With 0, neither the influence of suggestions nor "
        "agreement with uninfluenced people can be measured.",
    )
    seed = models.PositiveIntegerField(
        validators=[MaxValueValidator(MAX_SEED)],
        help_text="Number with which the draw can be repeated. If empty, a number is chosen at random.",
    )
    reason = models.TextField(
        max_length=MAX_REASON, blank=True, help_text="The reason for the share, in one line; shown with the plan."
    )
    made_at = models.DateTimeField(help_text="When the plan was made, in UTC.")
    made_by_name = models.CharField(max_length=200, help_text="Who made it.")

    class Meta:
        ordering: ClassVar = ["study", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=Q(share_percent__lte=100), name="%(app_label)s_%(class)s_share_is_a_share"
            ),
        ]

    def __str__(self) -> str:
        return f"plan {self.number}"


class TurnArm(models.Model):
    """The arm into which a model's turn was drawn, which never changes. ``probability`` is the probability of being withheld
    that was used in the draw."""

    class Arm(models.TextChoices):
        SHOWN = "shown", "Shown after the coder's own decision"
        WITHHELD = "withheld", "Withheld"

    turn = models.OneToOneField(Turn, on_delete=models.PROTECT, primary_key=True, related_name="suggestion_arm")
    plan = models.ForeignKey(WithholdingPlan, on_delete=models.PROTECT, related_name="turn_arms")
    arm = models.CharField(
        max_length=10,
        choices=Arm.choices,
        help_text="shown (after a coder's own decision) or withheld (never); empty if the turn was not drawn.",
    )
    probability = models.FloatField(help_text="Probability with which the turn was drawn to be withheld.")

    def __str__(self) -> str:
        return f"{self.arm} turn {self.turn_id}"


class DraftInterview(models.Model):
    """An interview in which suggestions can be opened before one's own decision.

    From the moment when a coder opens one there, she is assisted in the whole interview, and what she codes afterwards is left
    out of every measure. What she coded before stays blind, and so do all labels of coders who open no suggestion. Closing draft
    mode makes nothing blind again.
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="draft_interviews")
    reason = models.TextField(
        max_length=MAX_REASON,
        help_text="One line. Labels given there after opening a suggestion are left out of every measure.",
    )
    opened_at = models.DateTimeField()
    opened_by_name = models.CharField(max_length=200)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["interview"], condition=Q(closed_at__isnull=True), name="%(app_label)s_%(class)s_open_once"
            )
        ]

    def __str__(self) -> str:
        return f"draft mode of interview {self.interview_id}"
