"""What is stored of a probe: why it may run, reviews with a name-inferred category, and what the rules read in each answer."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from auditapp.batches.models import Cell
from auditapp.benchmarks.gender_cues.pure.parsing import CATEGORIES, OK, STATUSES
from transcripts.corpus.models import Turn
from transcripts.history.models import Numbered
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_NOTE, MAX_REASON

MAX_NAME = 100
MAX_METHOD = 300
MAX_SEED = 2**32 - 1
NO_PURPOSE = "Give the purpose of the probe, and say who will read its figures."


class MadeByPerson(models.Model):
    """Who made a row and when; the name stays when the account goes. ``made_by`` is ``None`` for the command line."""

    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    made_by_name = models.CharField(max_length=200)
    made_at = models.DateTimeField()

    class Meta:
        abstract = True


class Purpose(Numbered, MadeByPerson):
    """The purpose for which a study runs the probe, in an owner's words. The probe is off without a purpose, and also if the
    latest number was withdrawn, with a reason, by ``withdrawn_by``. Earlier figures can still be read."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="gender_cue_purposes")
    reason = None  # type: ignore[assignment] # the text says why
    text = models.TextField(
        "purpose",
        max_length=MAX_NOTE,
        error_messages={"blank": NO_PURPOSE},
        help_text="What question the probe answers, who will read its figures, and what will not be done with them. It is shown on "
        "the pages of the probe, with your name.",
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    withdrawn_by_name = models.CharField(max_length=200, blank=True, default="", db_default="")
    withdrawal_reason = models.TextField(blank=True, default="", db_default="")

    wording = ("text", "is_withdrawn")
    place = "text"
    signed = "made"
    event = "gender_cues.allowed"
    reason_from = None

    class Meta:
        ordering: ClassVar = ["study", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True) ^ ~Q(withdrawal_reason=""),
                name="%(app_label)s_%(class)s_withdrawn_with_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"purpose {self.number} of the probe"

    @property
    def is_withdrawn(self) -> bool:
        return self.withdrawn_at is not None

    def describe(self, latest: Self | None) -> dict[str, Any]:
        return {"number": self.number}


class ReviewSet(MadeByPerson):
    """The reviews that declared rules kept of one file, with the funnel of all that it held.

    ``sha256`` is the file's; ``category_method`` says what inferred the categories from first names; ``source`` where the
    reviews are from, and what allows their use. ``rules`` are as declared, ``rules_sha256`` their hash; ``funnel`` as in
    ``winnowing.make_funnel``; ``without_text`` counts rows passed over. ``seed`` is that of the order in which reviews are drawn.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="review_sets")
    name = models.CharField(max_length=MAX_NAME, help_text="The name of the reviews.")
    sha256 = models.CharField(max_length=64)
    category_method = models.CharField(
        "method that inferred the category",
        max_length=MAX_METHOD,
        help_text="Which method inferred the categories from first names, and its version.",
    )
    source = models.TextField(
        max_length=MAX_REASON,
        help_text="Where the reviews are from, their licence, and what allows sending them to models.",
    )
    rules = models.JSONField()
    rules_sha256 = models.CharField(max_length=64, help_text="SHA-256 of the rules.")
    funnel = models.JSONField()
    without_text = models.PositiveIntegerField(default=0)
    seed = models.PositiveBigIntegerField(help_text="Seed of the order in which reviews are drawn.")

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="%(app_label)s_%(class)s_name_once")
        ]

    def __str__(self) -> str:
        return self.name


class Review(models.Model):
    """One review that was kept. ``position`` is its place in the random order of the set, from 1: a draw takes the first ones
    of each category. What its file called it is not stored."""

    review_set = models.ForeignKey(ReviewSet, on_delete=models.PROTECT, related_name="reviews")
    position = models.PositiveIntegerField()
    text = models.TextField()
    category = models.CharField(max_length=12)

    class Meta:
        ordering: ClassVar = ["review_set", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["review_set", "position"], name="%(app_label)s_%(class)s_position_once"),
            models.CheckConstraint(
                condition=Q(category__in=CATEGORIES), name="%(app_label)s_%(class)s_has_a_known_category"
            ),
        ]

    def __str__(self) -> str:
        return f"review {self.pk}"


class Trial(models.Model):
    """One answer as the rules read it; the answer itself is the cell's result. Never shown by itself.

    ``status`` is one of ``parsing.STATUSES``; ``predicted`` is "" but for ``ok``; ``codes`` lists the categories applied,
    ``rationales`` what was written for each.
    """

    cell = models.OneToOneField(Cell, on_delete=models.PROTECT, primary_key=True, related_name="gender_cues_trial")
    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="trials")
    status = models.CharField(max_length=12)
    predicted = models.CharField(max_length=12, blank=True)
    codes = models.JSONField(default=list)
    rationales = models.JSONField(default=dict)
    parser = models.CharField(max_length=30)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(status__in=STATUSES), name="%(app_label)s_%(class)s_has_a_known_status"),
            models.CheckConstraint(
                condition=(Q(status=OK) & ~Q(predicted="")) | (~Q(status=OK) & Q(predicted="")),
                name="%(app_label)s_%(class)s_predicts_if_ok",
            ),
        ]

    def __str__(self) -> str:
        return f"trial of cell {self.cell_id}"


class RationaleTurn(models.Model):
    """The turn of another study in which the rationale of a trial is read and coded."""

    trial = models.OneToOneField(Trial, on_delete=models.PROTECT, primary_key=True, related_name="rationale_turn")
    turn = models.OneToOneField(Turn, on_delete=models.PROTECT, related_name="gender_cue_rationale")

    def __str__(self) -> str:
        return f"rationale of cell {self.trial_id}"
