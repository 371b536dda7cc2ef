"""Themes built from codes, and the reflexive record: phases, their results, and positionality statements."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_NOTE, MAX_REASON, MAX_TEXT


class Theme(models.Model):
    """A pattern of meaning made of codes. Its name and codes are in its versions.

    ``came_from`` are the themes from which it was merged or split.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="themes")
    number = models.PositiveIntegerField(help_text="Number of the theme in the study.")
    came_from: models.ManyToManyField[Theme, models.Model] = models.ManyToManyField(
        "self", symmetrical=False, related_name="led_to"
    )
    created_at = models.DateTimeField()
    created_by_name = models.CharField(max_length=200)

    class Meta:
        ordering: ClassVar = ["study", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"theme {self.number}"


class ThemeVersion(models.Model):
    """One state of a theme; the one with the highest number counts. ``codes`` are identifiers of codes.

    ``concept`` is the central organising concept (Braun and Clarke): the one idea that holds the theme together.
    """

    class State(models.TextChoices):
        CANDIDATE = "candidate", "Candidate"
        REVIEWED = "reviewed", "Reviewed"
        DEFINED = "defined", "Defined and named"
        DROPPED = "dropped", "Dropped"

    theme = models.ForeignKey(Theme, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=200, help_text="A working title will do.")
    concept = models.TextField(
        "central organising concept",
        max_length=MAX_TEXT,
        blank=True,
        help_text="The one idea that unites the theme: what its codes say together.",
    )
    description = models.TextField(
        max_length=MAX_TEXT,
        blank=True,
        help_text="What belongs to the theme, what does not, and what is still unclear.",
    )
    state = models.CharField(
        max_length=10,
        choices=State.choices,
        default=State.CANDIDATE,
        help_text="candidate, reviewed, defined or dropped.",
    )
    codes = models.JSONField(default=list, help_text="Identifiers of the codes that it is made of.")
    reason = models.TextField(
        "why", max_length=MAX_REASON, blank=True, help_text="Why it was changed. Kept in the theme’s history."
    )
    written_at = models.DateTimeField()
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="theme_versions",
        help_text="Who wrote this version.",
    )

    class Meta:
        ordering: ClassVar = ["theme", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["theme", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"{self.name} (version {self.number})"


class ThemeQuote(models.Model):
    """A sentence that supports or contradicts a theme. ``edited_text`` is the quotation with its edits marked."""

    class Side(models.TextChoices):
        FOR = "for", "For"
        AGAINST = "against", "Against"

    theme = models.ForeignKey(Theme, on_delete=models.PROTECT, related_name="quotes")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="theme_quotes")
    coding = models.ForeignKey(Coding, on_delete=models.PROTECT, null=True, blank=True, related_name="theme_quotes")
    side = models.CharField(
        max_length=10, choices=Side.choices, help_text="for, or against: a sentence that contradicts the theme."
    )
    edited_text = models.TextField(
        "quotation",
        max_length=MAX_TEXT,
        blank=True,
        help_text=(
            "The sentence with omissions marked with […] and added words in [brackets]; all other words are those of the "
            "sentence. Empty where nothing was edited."
        ),
    )
    note = models.TextField(max_length=MAX_NOTE, blank=True, help_text="What the sentence shows.")
    added_at = models.DateTimeField(help_text="When it was chosen, in UTC.")
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="theme_quotes", help_text="Who chose it."
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["theme", "side", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["theme", "sentence"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            )
        ]

    def __str__(self) -> str:
        return f"quote {self.pk}"


class PhaseEntry(models.Model):
    """A note from one of the six phases of reflexive thematic analysis. Phases can be revisited in any order."""

    class Phase(models.IntegerChoices):
        FAMILIARISATION = 1, "Familiarisation"
        INITIAL_CODING = 2, "Initial coding"
        GENERATING_THEMES = 3, "Generating themes"
        REVIEWING_THEMES = 4, "Reviewing themes"
        DEFINING_THEMES = 5, "Defining and naming themes"
        WRITING_UP = 6, "Writing up"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="phase_entries")
    phase = models.PositiveSmallIntegerField(
        choices=Phase.choices,
        help_text="1 familiarisation, 2 initial coding, 3 generating, 4 reviewing, 5 defining themes, 6 writing up.",
    )
    text = models.TextField(help_text="What was written down.")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="phase_entries")
    written_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        ordering: ClassVar = ["study", "phase", "pk"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(phase__gte=1, phase__lte=6), name="%(app_label)s_%(class)s_one_of_six")
        ]

    def __str__(self) -> str:
        return f"entry {self.pk} of phase {self.phase}"


class PositionalityStatement(models.Model):
    """What one coder brings to the reading, in her own words; dated, never required."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="positionality_statements")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="positionality_statements"
    )
    text = models.TextField(
        "what you bring to these interviews",
        max_length=MAX_TEXT,
        help_text=(
            "The statement, in the person's own words and of any length: training, experience, commitments, expectations. All of "
            "it is optional."
        ),
    )
    written_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        ordering: ClassVar = ["study", "author", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "author"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_one_stands",
            )
        ]

    def __str__(self) -> str:
        return f"statement {self.pk}"
