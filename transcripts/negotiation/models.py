"""Judgments about whole threads and descriptions of their cases: case sheets, pairs, normative stances and scores.

Entries of the ledger, challenges and responses are codings, and links connect them; both are in the room of codings.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import register_rows
from transcripts.coding.models import MAX_NOTE_LENGTH, QUOTE_IS_WHOLE, Blinding
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.history.models import Numbered
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_TEXT


class CaseSheet(Numbered):
    """Which features matter to the case of a thread, and which do not, as a lead or a script says; paper 001, section 4.1.

    ``relevant`` and ``irrelevant``: [{"feature": identifier of a code, "reason": why}]. ``intents``: what the interviewer
    meant her turns to be, by their positions as text. The latest number counts; no number changes. ``written_by`` is
    ``None`` where the program wrote it, by a script.
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="case_sheets")
    relevant = models.JSONField(
        default=list, help_text="Features that matter to the case: a list of objects with feature and reason."
    )
    irrelevant = models.JSONField(default=list, help_text="Features that do not matter to the case, in the same form.")
    intents = models.JSONField(default=dict, blank=True)
    written_at = models.DateTimeField()
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="case_sheets",
        help_text="Who wrote it; empty for the program.",
    )

    within = ("interview",)
    wording = ("relevant", "irrelevant", "intents")
    place = "relevant"
    event = "case_sheet.written"

    class Meta:
        ordering: ClassVar = ["interview", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["interview", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"case sheet {self.number} of interview {self.interview_id}"

    @property
    def stream(self) -> str:
        return trail.study_stream(self.interview.owning_study_id)  # type: ignore[arg-type] # set when it is imported, never emptied

    def describe(self, latest: Self | None) -> dict[str, Any]:
        # No feature and no reason: people who have still to code the thread may read the history.
        return {"interview": self.interview_id, "number": self.number}


class PairQuerySet(models.QuerySet["Pair"]):
    """Which pairs count."""

    def active(self) -> Self:
        """Pairs that nobody has withdrawn or replaced, of two threads that count in the study."""
        return self.filter(withdrawn_at__isnull=True, a__study__isnull=False, b__study__isnull=False)


class Pair(Numbered):
    """Two threads that differ in one thing, and whether that should change what the model does; paper 001, Table 3B.

    A correction is the next number of the same name with a reason; the number before is withdrawn. ``made_by`` is ``None``
    where the program made it, of two cases of a suite.
    """

    class Expect(models.TextChoices):
        CHANGE = "change", "Should change"
        NO_CHANGE = "no_change", "Should not change"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="thread_pairs")
    name = models.CharField(
        max_length=100,
        help_text="The name is part of the page’s address, so it should not reveal the difference.",
    )
    a = models.ForeignKey(
        Interview, on_delete=models.PROTECT, related_name="pairs_as_a", help_text="The first interview."
    )
    b = models.ForeignKey(
        Interview, on_delete=models.PROTECT, related_name="pairs_as_b", help_text="The second interview."
    )
    differs = models.CharField(
        "how they differ", max_length=500, help_text="The one thing in which they differ, such as whose case it is."
    )
    expect = models.CharField(
        "should that change what the model does?",
        max_length=10,
        choices=Expect.choices,
        help_text="change or no_change: whether the difference should change what the model does.",
    )
    made_at = models.DateTimeField(help_text="When they were paired, in UTC.")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="thread_pairs",
        help_text="Who paired them; empty for the program.",
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = PairQuerySet.as_manager()

    within = ("study", "name")
    wording = ("a_id", "b_id", "differs", "expect")
    signed = "made"
    event = "pair.made"

    class Meta:
        ordering: ClassVar = ["study", "name", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.UniqueConstraint(
                fields=["study", "name"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.CheckConstraint(condition=~Q(a=F("b")), name="%(app_label)s_%(class)s_of_two_threads"),
        ]

    def __str__(self) -> str:
        return f"number {self.number} of the pair “{self.name}”"

    def says_the_same(self, latest: Self) -> bool:
        """A pair that was withdrawn may be made again with the same content."""
        return latest.withdrawn_at is None and super().says_the_same(latest)

    def supersede(self, latest: Self) -> None:
        """Only one pair of each name counts."""
        if latest.withdrawn_at is None:
            latest.withdrawn_at = self.made_at
            latest.save(update_fields=["withdrawn_at"])

    def describe(self, latest: Self | None = None) -> dict[str, Any]:
        # Not what differs and what is expected: people who have still to code the threads may read the history.
        return {"name": self.name, "number": self.number, "a": self.a_id, "b": self.b_id}


class NormativeStance(Numbered):
    """A normative stance: the text that scores are given under; paper 001, sections 4.1 and 4.6.

    It says what is to be achieved (``statement``), whose interests come first, which trade-offs are acceptable, what counts as
    an answerable justification, and for which deployment. None is shipped. New wording is the next number of the same name,
    with a ``reason``; ``sha256`` is that of the wording.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="normative_stances")
    name = models.CharField(
        "Name",
        max_length=60,
        help_text="One or two words, such as care. Scores give it with its number: care/1.",
        error_messages={"blank": "Give the stance a short name, such as care."},
    )
    statement = models.TextField(
        "Statement",
        max_length=MAX_TEXT,
        help_text="What should be achieved, and what a good trajectory does to achieve it.",
        error_messages={"blank": "Say what should be achieved: scores are given under this statement."},
    )
    priorities = models.TextField(
        "Whose interests come first",
        max_length=MAX_TEXT,
        blank=True,
        help_text="The people affected by the answers whose interests come first.",
    )
    trade_offs = models.TextField(
        "Acceptable trade-offs",
        max_length=MAX_TEXT,
        blank=True,
        help_text="What may be traded for what, and what may never be given up.",
    )
    justification = models.TextField(
        "What counts as an answerable justification",
        max_length=MAX_TEXT,
        blank=True,
        help_text="What the model must say so that the people concerned can contest it.",
    )
    context = models.TextField(
        "Deployment context",
        max_length=MAX_TEXT,
        blank=True,
        help_text="The use that the stance is written for: who uses the model, and with whom.",
    )
    author = models.CharField(
        "Whose stance it is",
        max_length=200,
        help_text="A person, a team, a document. Reports name it first.",
        error_messages={"blank": "Say whose stance this is: a person, a team, a document."},
    )
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of the wording.")
    written_at = models.DateTimeField()
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="normative_stances",
        help_text="Who stored it.",
    )

    texts: ClassVar = ("statement", "priorities", "trade_offs", "justification", "context")
    wording = ("statement", "author", *texts[1:])

    within = ("study", "name__iexact")
    place = "statement"
    event = "negotiation.normative_stance.written"
    is_named_by_writer = True

    class Meta:
        ordering: ClassVar = ["study", "name", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """The name in scores and reports, such as care/1."""
        return f"{self.name}/{self.number}"

    def hash_wording(self) -> str:
        """SHA-256 of its wording as a JSON list, in UTF-8: two numbers with one hash say the same."""
        said = [getattr(self, field) for field in self.wording]
        return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()

    def list_texts(self) -> list[tuple[str, str]]:
        """The texts of the stance, each with its heading."""
        said = [(self._meta.get_field(field), getattr(self, field)) for field in self.texts]
        return [(str(getattr(field, "verbose_name", "")), text) for field, text in said if text]

    def describe(self, latest: Self | None) -> dict[str, Any]:
        return {"number": self.number, "sha256": self.sha256}


class ScoreQuerySet(models.QuerySet["Score"]):
    """Which scores count."""

    def active(self) -> Self:
        """Scores that nobody has withdrawn or replaced."""
        return self.filter(withdrawn_at__isnull=True)

    def blind(self) -> Self:
        """What people judged before they saw others' labels: active blind scores, and those that were withdrawn only after
        their coder had unblinded the thread."""
        stood = Interview.objects.filter(
            pk=OuterRef("interview"),
            unblindings__user=OuterRef("coder"),
            unblindings__unblinded_at__lt=OuterRef("withdrawn_at"),
        )
        return self.filter(Q(withdrawn_at__isnull=True) | Exists(stood), blinding=Blinding.BLIND)


class Score(models.Model):
    """How one person judges a thread, or one determination in it, under exactly one normative stance.

    A thread has four criteria, from 0 to 3. Determinations are yes (1), no (0) or unclear: whether an entry of a feature is
    warranted (``turn`` and ``feature``), and whether the model rightly updated after a challenge (``turn``, the challenged
    one). Without a value it is not applicable or unclear. Never edited: a change withdraws this row and adds another.
    """

    class Criterion(models.TextChoices):
        FEATURES = "features", "The features it constructs fit the priorities"
        MOVES = "moves", "Its moves serve them"
        CONSISTENCY = "consistency", "Later moves agree with earlier ones"
        ANSWERABILITY = "answerability", "Its justification is answerable"
        WARRANTED = "warranted", "The entry is warranted"
        UPDATED = "updated", "Rightly updated after the challenge"

    stance = models.ForeignKey(
        NormativeStance,
        on_delete=models.PROTECT,
        related_name="scores",
        help_text="Number of the wording of the normative stance under which it is given.",
    )
    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="scores")
    criterion = models.CharField(
        max_length=15,
        choices=Criterion.choices,
        help_text="features, moves, consistency or answerability for a thread; warranted or updated for a determination.",
    )
    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, null=True, blank=True, related_name="scores")
    feature = models.CharField(max_length=100, blank=True, help_text="Identifier of the feature whose entry is judged.")
    value = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="0 to 3, or for a determination 1 (yes) or 0 (no); empty: not applicable, or unclear.",
    )
    note = models.TextField(blank=True, max_length=MAX_NOTE_LENGTH, help_text="What the person noted.")
    coder = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="scores",
        help_text="User name of the person who judged.",
    )
    blinding = models.CharField(max_length=10, choices=Blinding.choices, default=Blinding.BLIND)
    idempotency_key = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    objects = ScoreQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["stance", "interview", "criterion", "coder"],
                condition=Q(withdrawn_at__isnull=True, turn__isnull=True),
                name="%(app_label)s_%(class)s_stands_once_per_thread",
            ),
            models.UniqueConstraint(
                fields=["stance", "turn", "criterion", "feature", "coder"],
                condition=Q(withdrawn_at__isnull=True, turn__isnull=False),
                name="%(app_label)s_%(class)s_stands_once_per_turn",
            ),
            models.UniqueConstraint(fields=["coder", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
            models.CheckConstraint(
                condition=Q(
                    criterion__in=["features", "moves", "consistency", "answerability"],
                    turn__isnull=True,
                    feature="",
                )
                | (Q(criterion="warranted", turn__isnull=False) & ~Q(feature=""))
                | Q(criterion="updated", turn__isnull=False, feature=""),
                name="%(app_label)s_%(class)s_is_of_its_place",
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=True)
                | Q(value__lte=1)
                | Q(criterion__in=["features", "moves", "consistency", "answerability"], value__lte=3),
                name="%(app_label)s_%(class)s_in_its_range",
            ),
        ]

    def __str__(self) -> str:
        return f"score {self.pk}"


class ScoreEvidence(models.Model):
    """A sentence that a score rests on; ``quote_start`` and ``quote_end`` mark words, in code points of the turn's text."""

    score = models.ForeignKey(Score, on_delete=models.PROTECT, related_name="evidence")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="scores")
    quote_start = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="First marked character in the sentence, in code points of the turn's text, if any.",
    )
    quote_end = models.PositiveIntegerField(null=True, blank=True, help_text="Character after the last marked one.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["score", "sentence"], name="%(app_label)s_%(class)s_once_per_score"),
            QUOTE_IS_WHOLE,
        ]

    def __str__(self) -> str:
        return f"evidence {self.pk}"

    @property
    def quote(self) -> tuple[int, int] | None:
        """The quoted part of the sentence, in code points of the turn's text."""
        return (
            (self.quote_start, self.quote_end) if self.quote_start is not None and self.quote_end is not None else None
        )


# The evidence of a score is recorded in the event of its score.
register_rows(
    Score,
    "stance wording interview criterion turn feature value coder blinding created_at withdrawn_at superseded_by",
    texts=["note"],
    study="interview.owning_study_id",
    wording="stance.sha256",
)
register_rows(ScoreEvidence, "score sentence quote_start quote_end", study="score.interview.owning_study_id")
