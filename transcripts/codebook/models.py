"""The codebook as a versioned instrument: drafts are edited, published versions are frozen."""

from __future__ import annotations

from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef
from django.urls import reverse

from transcripts.accounts.models import User
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON, MAX_TEXT


class Beginning(models.TextChoices):
    """The codebook with which a study begins."""

    BUILT_IN = "built-in", "The built-in codebook: themes, moves, case features, failures, challenges and responses"
    EMPTY = "empty", "An empty one, to which you add codes of your own"
    FILE = "file", "A codebook from a file"


class CodebookVersion(models.Model):
    """One state of a study's codebook. Codings point to the codes of a published version and so keep their meaning.

    A discarded draft stays, so that no number is used twice. ``based_on`` is the version from which a draft was started.
    """

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        PUBLISHED = "published", "Published"
        DISCARDED = "discarded", "Discarded"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="codebook_versions")
    number = models.PositiveIntegerField(help_text="Number of the version of the codebook.")
    status = models.CharField(
        max_length=10,
        choices=Status.choices,
        default=Status.DRAFT,
        help_text="draft, published, or discarded. Only a published one is coded with.",
    )
    title = models.CharField(max_length=200, help_text="Title of the version.")
    origin = models.CharField(max_length=300, blank=True, help_text="Where it came from; may be empty.")
    created_at = models.DateTimeField()
    created_by_name = models.CharField(max_length=200)
    published_at = models.DateTimeField(null=True, blank=True, help_text="When it was published; empty: it was not.")
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="published_codebooks"
    )
    based_on = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="drafts")

    class Meta:
        ordering: ClassVar = ["study", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=models.Q(status="published") ^ models.Q(published_at__isnull=True),
                name="%(app_label)s_%(class)s_published_has_date",
            ),
        ]

    def __str__(self) -> str:
        return f"v{self.number}"

    def get_absolute_url(self) -> str:
        """Reads self.study: costs a query when it is not loaded."""
        return reverse("codebook:version", args=[self.study.slug, self.number])


class CodeFamily(models.Model):
    """Codes that answer one question and share rules.

    ``once_per_answer``: one person applies each of its codes to at most one sentence of an answer. ``applies_to`` says whose
    turns its codes are about.
    """

    class AppliesTo(models.TextChoices):
        ANY = "any", "Anybody's turns"
        MODEL = "model", "The model's turns"
        INTERVIEWER = "interviewer", "The interviewer's turns"

    class Unit(models.TextChoices):
        SENTENCE = "sentence", "Sentence"
        TURN = "turn", "Turn"
        INTERVIEW = "interview", "Interview"

    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="families")
    identifier = models.CharField(
        max_length=100, help_text="Identifier of the family of codes, the same in every version of the codebook."
    )
    name = models.CharField(max_length=200, help_text="Name of the family, for people.")
    description = models.TextField(blank=True, help_text="The purpose of its codes.")
    unit = models.CharField(
        "applied to",
        max_length=10,
        choices=Unit.choices,
        default=Unit.SENTENCE,
        help_text="What its codes are applied to.",
    )
    carries_level = models.BooleanField("level", default=True, help_text="Whether its codings are semantic or latent.")
    carries_enactment = models.BooleanField(
        "enactment",
        default=False,
        help_text="Whether its codings say that the move is enacted, demonstrated or described.",
    )
    once_per_answer = models.BooleanField(
        default=False,
        help_text=(
            "Whether each of its codes is applied at most once per answer: a person applies it to one sentence, a second is "
            "refused."
        ),
    )
    applies_to = models.CharField(
        "whose turns",
        max_length=12,
        choices=AppliesTo.choices,
        default=AppliesTo.ANY,
        db_default=AppliesTo.ANY,
        help_text="Whose turns its codes are about; a coding on other turns is refused.",
    )
    rules = models.TextField(
        blank=True, default="", help_text="How to code with it: what to decide first, how often, and where."
    )
    color = models.CharField(max_length=7, blank=True, default="", help_text="Its colour as #rrggbb; may be empty.")
    revision = models.PositiveIntegerField(default=0)
    position = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["version", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["version", "identifier"], name="%(app_label)s_%(class)s_identifier_once")
        ]

    def __str__(self) -> str:
        return self.name


class Code(models.Model):
    """One code of one codebook version; the same ``identifier`` means the same code in all versions.

    ``meaning_version`` is the number of the version that gave the code its present meaning: codings made under an earlier one
    need re-review. ``attributes`` are the questions that a coding with this code also answers ({key, label, kind: text or
    choice, choices}); ``terms`` are words that count as prompting if the interviewer says them, or kinds of her turns in square
    brackets. ``keyword_rules`` are lines; if any of them matches, the keyword annotator proposes the code. A code with
    ``is_category`` only groups the codes under it and is not applied. ``revision`` counts the edits of a draft, so that a
    concurrent change is noticed.
    """

    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="codes")
    family = models.ForeignKey(CodeFamily, on_delete=models.PROTECT, related_name="codes")
    identifier = models.CharField(
        max_length=100, help_text="Identifier of the code, the same in every version of the codebook."
    )
    name = models.CharField(
        max_length=200,
        help_text="Name of the code in this version of the codebook. If it is changed, its codings stay.",
    )
    group = models.CharField(
        max_length=100, blank=True, help_text="The heading within its family that it is listed under; may be empty."
    )
    aliases = models.JSONField(default=list, help_text="Its other names.")
    definition = models.TextField(blank=True, help_text="The meaning, for people.")
    machine_definition = models.TextField(
        "definition for machines",
        blank=True,
        help_text="Its definition in prompts for models: when the answer is yes, and when it is no.",
    )
    include = models.TextField(blank=True, help_text="Cases that belong.")
    exclude = models.TextField(blank=True, help_text="Cases that do not, and the code they belong to instead.")
    key = models.CharField(max_length=1, blank=True, help_text="The key that applies it at the desk; may be empty.")
    source = models.CharField(max_length=300, blank=True, help_text="Where the code comes from.")
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="children")
    color = models.CharField(max_length=7, blank=True, default="", help_text="Its colour as #rrggbb; may be empty.")
    terms = models.JSONField(
        default=list, blank=True, help_text="Words, or [kinds of question], by which the interviewer prompts it."
    )
    attributes = models.JSONField(default=list, blank=True, help_text="The questions a coding with it answers.")
    keyword_rules = models.JSONField(
        default=list, blank=True, help_text="Rules of words by which the annotator of rules suggests it."
    )
    is_category = models.BooleanField(
        "category",
        default=False,
        db_default=False,
        help_text="Whether it only groups the codes under it and is not applied itself.",
    )
    meaning_version = models.PositiveIntegerField(
        default=1,
        help_text="The version that last changed its meaning; codings made under an earlier one need re-review.",
    )
    revision = models.PositiveIntegerField(default=0)
    position = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["version", "family", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["version", "identifier"], name="%(app_label)s_%(class)s_identifier_once"),
            models.UniqueConstraint(
                fields=["version", "key"], condition=~models.Q(key=""), name="%(app_label)s_%(class)s_one_code_per_key"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class CodeExampleQuerySet(models.QuerySet["CodeExample"]):
    """Which examples are shown."""

    def shown(self, *, coder: User | None = None) -> Self:
        """Invented examples, and sentences of interviews that count in their study. A ``coder`` is not shown sentences that she
        has yet to code, because she would learn their codes before her own decision."""
        counted = models.Q(sentence__isnull=True) | models.Q(sentence__turn__interview__study__isnull=False)
        rows = self.filter(counted)
        return rows if coder is None else rows.filter(~_is_still_to_code(coder))


def _is_still_to_code(coder: User) -> models.Q:
    """A condition: the example is a sentence that ``coder`` may still code blind. She has neither decided nor coded it, and its
    interview is open to her and not unblinded by her. The person who pinned the sentence knows it.

    Decisions and rounds belong to rooms above this one, so they are reached through the relations of the sentence.
    """
    sentences = Sentence.objects.filter(pk=OuterRef("sentence"))
    interviews = Interview.objects.filter(pk=OuterRef("sentence__turn__interview"))
    # An interview or a round without any assignment would otherwise count as one with an assignment that is not withdrawn.
    given = interviews.filter(assignments__isnull=False, assignments__withdrawn_at__isnull=True)
    own = interviews.filter(
        assignments__coder=coder,
        assignments__withdrawn_at__isnull=True,
        assignments__completed_at__isnull=True,
        assignments__round__locked_at__isnull=True,
    )
    closed = interviews.filter(
        study__rounds__closes_others=True,
        study__rounds__assignments__isnull=False,
        study__rounds__assignments__withdrawn_at__isnull=True,
    )
    finished = interviews.filter(completions__coder=coder, completions__withdrawn_at__isnull=True)
    is_open = models.Q(Exists(own)) | models.Q(~Exists(given), ~Exists(closed), ~Exists(finished))
    return models.Q(
        is_open,
        ~Exists(sentences.filter(decisions__coder=coder, decisions__withdrawn_at__isnull=True)),
        ~Exists(sentences.filter(codings__coder=coder, codings__withdrawn_at__isnull=True)),
        ~Exists(interviews.filter(unblindings__user=coder)),
        ~models.Q(added_by_name=coder.get_username()),
        sentence__isnull=False,
    )


class CodeExample(models.Model):
    """A sentence that shows what a code means: one to include, one to exclude, or one that anchors its meaning.

    Either a sentence of the study is pinned, or the ``words`` were invented for the codebook and are in no interview.
    """

    class Kind(models.TextChoices):
        INCLUDE = "include", "Belongs"
        EXCLUDE = "exclude", "Does not belong"
        ANCHOR = "anchor", "Anchor"

    code = models.ForeignKey(Code, on_delete=models.PROTECT, related_name="examples")
    sentence = models.ForeignKey(
        Sentence, on_delete=models.PROTECT, null=True, blank=True, related_name="code_examples"
    )
    words = models.TextField(
        "sentence", max_length=2_000, blank=True, default="", help_text="Invented: it is in no interview."
    )
    kind = models.CharField(
        max_length=10, choices=Kind.choices, help_text="Whether it belongs, does not belong, or is an anchor."
    )
    note = models.CharField(max_length=500, blank=True, help_text="Why, in a few words.")
    added_at = models.DateTimeField()
    added_by_name = models.CharField(max_length=200)

    objects = CodeExampleQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["code_id", "kind", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["code", "sentence"], name="%(app_label)s_%(class)s_once_per_code"),
            models.CheckConstraint(
                condition=models.Q(sentence__isnull=True) ^ models.Q(words=""),
                name="%(app_label)s_%(class)s_pinned_or_invented",
            ),
        ]

    def __str__(self) -> str:
        return f"example {self.pk}"


class CodeChange(models.Model):
    """One step of a draft: what was done to which code, with which effect on its meaning, and why.

    A merge has a row for each code that went into ``to_identifier``; a split one for each code that came out. If the effect of
    a redefinition is empty because it was not stated (imported files state none), the redefinition counts as a new meaning.
    """

    class Kind(models.TextChoices):
        ADDED = "added", "Added"
        REDEFINED = "redefined", "Redefined"
        RENAMED = "renamed", "Renamed"
        MERGED = "merged", "Merged"
        SPLIT = "split", "Split"
        RETIRED = "retired", "Retired"
        MOVED = "moved", "Moved"
        ADJUSTED = "adjusted", "Adjusted"

    class Effect(models.TextChoices):
        """The effect of a new wording on the meaning; only the first leaves codings as they are."""

        WORDING = "wording", "Wording only"
        NARROWING = "narrowing", "Narrower"
        WIDENING = "widening", "Wider"

    version = models.ForeignKey(CodebookVersion, on_delete=models.PROTECT, related_name="changes")
    kind = models.CharField(
        max_length=10,
        choices=Kind.choices,
        help_text="added, redefined, renamed, merged, split, retired, moved or adjusted.",
    )
    effect = models.CharField(
        max_length=10,
        choices=Effect.choices,
        blank=True,
        help_text="What it does to the meaning: wording (leaves codings as they are), narrowing or widening.",
    )
    from_identifier = models.CharField(max_length=100, blank=True, help_text="Identifier before.")
    to_identifier = models.CharField(max_length=100, blank=True, help_text="Identifier after.")
    reason = models.TextField(
        max_length=MAX_REASON, blank=True, help_text="Why it was changed. Kept in the history of the code."
    )
    made_at = models.DateTimeField(help_text="When it was changed, in UTC.")
    made_by_name = models.CharField(max_length=200, help_text="Who did it.")

    class Meta:
        ordering: ClassVar = ["version", "pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class CodeProposal(models.Model):
    """A code that somebody proposed, often in the words of a sentence; a lead accepts or declines it."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ACCEPTED = "accepted", "Accepted"
        DECLINED = "declined", "Declined"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="code_proposals")
    name = models.CharField(
        max_length=200, help_text="Name of the proposed code, in the words of the sentence or in others."
    )
    definition = models.TextField(
        "what it means",
        max_length=MAX_TEXT,
        blank=True,
        help_text="What it would mean; may be empty until the code has been discussed.",
    )
    family_identifier = models.CharField(
        max_length=100, help_text="Identifier of the family of codes that it is proposed for."
    )
    sentence = models.ForeignKey(
        Sentence, on_delete=models.PROTECT, null=True, blank=True, related_name="code_proposals"
    )
    is_in_vivo = models.BooleanField(default=False, help_text="true where the name is in the words of the sentence.")
    proposed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="code_proposals",
        help_text="Who found it missing.",
    )
    proposed_at = models.DateTimeField(help_text="When it was proposed, in UTC.")
    idempotency_key = models.UUIDField()
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.OPEN, help_text="open, accepted or declined."
    )
    code = models.ForeignKey(Code, on_delete=models.PROTECT, null=True, blank=True, related_name="proposals")
    answer = models.TextField(max_length=MAX_TEXT, blank=True, help_text="What was answered.")
    answered_at = models.DateTimeField(null=True, blank=True, help_text="When it was answered, in UTC.")
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="answered_proposals",
        help_text="Who answered.",
    )

    class Meta:
        ordering: ClassVar = ["study", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["proposed_by", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state="open") ^ models.Q(answered_at__isnull=False),
                name="%(app_label)s_%(class)s_answered_has_date",
            ),
        ]

    def __str__(self) -> str:
        return f"proposal {self.pk}"
