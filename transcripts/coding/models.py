"""Human work only: what people decided about sentences, and when."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Protocol, Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from transcripts.audit_trail.trail import register_rows
from transcripts.codebook.models import Code
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_TEXT

MAX_NOTE_LENGTH = 1_000
Row = TypeVar("Row", bound=models.Model)
# Constraints of several models, each named after its own.
QUOTE_IS_WHOLE = models.CheckConstraint(
    condition=Q(quote_start__isnull=True, quote_end__isnull=True) | Q(quote_end__gt=F("quote_start")),
    name="%(app_label)s_%(class)s_quote_is_whole",
)
SUPERSEDED_IS_WITHDRAWN = models.CheckConstraint(
    condition=Q(superseded_by__isnull=True) | Q(withdrawn_at__isnull=False),
    name="%(app_label)s_%(class)s_superseded_is_withdrawn",
)


class Blinding(models.TextChoices):
    """What the coder could see when she decided."""

    BLIND = "blind", "Blind"
    ASSISTED = "assisted", "After seeing others' labels"


class Level(models.TextChoices):
    """Semantic: said outright. Latent: interpreted from what is said; needs one line of interpretation."""

    SEMANTIC = "semantic", "Semantic"
    LATENT = "latent", "Latent"


class Enactment(models.TextChoices):
    """Whether a move is made here, demonstrated in an example, or only described."""

    ENACTED = "enacted", "Enacted"
    DEMONSTRATED = "demonstrated", "Demonstrated"
    DESCRIBED = "described", "Described"


class Grounding(models.TextChoices):
    """Whether the sentence states a principle or gives guidance tied to a case (paper 001, section 3.2)."""

    ABSTRACT = "abstract", "Abstract principle"
    GROUNDED = "grounded", "Grounded guidance"


class Prompting(models.TextChoices):
    """Whether the interviewer had already raised the topic; derived from the turns unless a person says otherwise."""

    PROMPTED = "prompted", "Prompted"
    UNPROMPTED = "unprompted", "Unprompted"
    UNCLEAR = "unclear", "Unclear"


class Sees(Protocol):
    """A person who sees labels; `transcripts.blinding.viewers.Viewer` is the one implementation."""

    @property
    def study(self) -> Study: ...
    @property
    def user_id(self) -> int: ...
    @property
    def sees_all(self) -> bool: ...
    @property
    def visible_interviews(self) -> Collection[int] | None: ...


def stood_when_unblinded(sentence: str = "sentence") -> Q:
    """A condition on codings or decisions: withdrawn only after their coder had seen others' labels there.

    ``sentence``: the path from a row to the sentence that it is about.
    """
    revealed = Reveal.objects.filter(
        sentence=OuterRef(sentence), coder=OuterRef("coder"), revealed_at__lt=OuterRef("withdrawn_at")
    )
    unblinded = Unblinding.objects.filter(
        interview=OuterRef(f"{sentence}__turn__interview"),
        user=OuterRef("coder"),
        unblinded_at__lt=OuterRef("withdrawn_at"),
    )
    return Q(Exists(revealed)) | Q(Exists(unblinded))


class LabelQuerySet(models.QuerySet[Row]):
    """Which codings or decisions count; docs/blinding.md defines the terms."""

    def active(self) -> Self:
        """Rows that have not been withdrawn."""
        return self.filter(withdrawn_at__isnull=True)

    def visible_to(self, viewer: Sees) -> Self:
        """Those of her study: her own, and others' where she may see them."""
        labels = self.filter(sentence__turn__interview__study=viewer.study)
        if not viewer.sees_all:
            return labels.filter(coder=viewer.user_id)
        if viewer.visible_interviews is None:
            return labels
        return labels.filter(Q(coder=viewer.user_id) | Q(sentence__turn__interview__in=viewer.visible_interviews))


class CodingQuerySet(LabelQuerySet["Coding"]):
    """Which codings count."""

    def blind(self) -> Self:
        """What coders said before they saw others' labels: the same rule as in coding/blind.py.

        Besides active blind codings, these include codings that were withdrawn only after the coder had seen others' labels. A
        migrated coding counts only in its new place.
        """
        migrated = Coding.objects.filter(pk=OuterRef("superseded_by"), migrated_from=OuterRef("pk"))
        return self.filter(
            Q(withdrawn_at__isnull=True) | stood_when_unblinded(), ~Exists(migrated), blinding=Blinding.BLIND
        )


class DecisionQuerySet(LabelQuerySet["Decision"]):
    """Which decisions count."""

    def blind(self) -> Self:
        """What coders decided before they saw others' labels: the same rule as in coding/blind.py."""
        return self.filter(Q(withdrawn_at__isnull=True) | stood_when_unblinded(), blinding=Blinding.BLIND)


class MemoQuerySet(models.QuerySet["Memo"]):
    """Which memos count; docs/blinding.md defines the terms."""

    def active(self) -> Self:
        """Memos that have not been withdrawn."""
        return self.filter(withdrawn_at__isnull=True)

    def counted(self) -> Self:
        """Memos on an interview that counts in its study, or on no interview."""
        return self.filter(models.Q(interview__isnull=True) | models.Q(interview__study__isnull=False))

    def visible_to(self, viewer: Sees) -> Self:
        """Memos of her study: her own, and others' where she may see them. Those on codes, themes and the study are on no
        interview."""
        memos = self.filter(study=viewer.study).counted()
        if not viewer.sees_all:
            return memos.filter(author=viewer.user_id)
        if viewer.visible_interviews is None:
            return memos
        return memos.filter(
            Q(author=viewer.user_id) | Q(interview__isnull=True) | Q(interview__in=viewer.visible_interviews)
        )


class Coding(models.Model):
    """One code that one person applied to one sentence. Never edited: a change withdraws this row and adds another.

    A code of a turn or interview family is stored on its first sentence. ``idempotency_key`` is made by the page, so that a
    replayed request stores nothing twice. ``quote_start`` and ``quote_end`` mark words inside the sentence, in code points of
    the turn's text. Rows applied to several sentences at once share ``range_id``. ``attributes`` has the answers to the code's
    own questions. If ``prompting`` is empty, it is derived from earlier turns of the interviewer. ``reason`` is required once
    others' labels were seen. ``migrated_from`` is the coding from which a boundary edit or a merge of codes made this one.
    """

    sentence = models.ForeignKey(
        Sentence,
        on_delete=models.PROTECT,
        related_name="codings",
        help_text="Number of the sentence; for a code of turns, the first of its turn.",
    )
    code = models.ForeignKey(Code, on_delete=models.PROTECT, related_name="codings")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="codings")
    blinding = models.CharField(max_length=10, choices=Blinding.choices, default=Blinding.BLIND)
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
        help_text="enacted, demonstrated in an example, or described. Required for codes whose family has enactment, and empty "
        "for others; also empty for older codings stored before it was required (enactment not stated).",
    )
    note = models.TextField(
        blank=True,
        max_length=MAX_NOTE_LENGTH,
        help_text="The coder's interpretation in one line; a latent coding needs one.",
    )
    quote_start = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="First character of the marked words inside the sentence, counted in code points of the turn's text.",
    )
    quote_end = models.PositiveIntegerField(
        null=True, blank=True, help_text="Character after the marked words; both are empty if no words were marked."
    )
    range_id = models.UUIDField(
        null=True,
        blank=True,
        help_text="Shared by codings that were applied to several sentences at once; empty otherwise.",
    )
    grounding = models.CharField(
        max_length=10,
        choices=Grounding.choices,
        blank=True,
        default="",
        help_text="abstract (a principle) or grounded (guidance tied to a case); empty if not stated.",
    )
    prompting = models.CharField(
        max_length=10,
        choices=Prompting.choices,
        blank=True,
        default="",
        help_text="prompted, unprompted or unclear, as the coder said it; empty if it is derived from earlier turns.",
    )
    attributes = models.JSONField(
        default=dict, blank=True, help_text="Answers to the code's own questions, by their keys."
    )
    reason = models.TextField(blank=True, default="")
    migrated_from = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="migrated_to",
        db_index=False,
        help_text="Number of the coding from which this one was made, by a boundary edit or a merge of codes.",
    )
    idempotency_key = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawal_reason = models.TextField(blank=True, default="")
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    objects = CodingQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sentence", "code", "coder", "blinding"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.UniqueConstraint(fields=["coder", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True) | Q(withdrawn_at__gte=F("created_at")),
                name="%(app_label)s_%(class)s_withdrawn_after_created",
            ),
            SUPERSEDED_IS_WITHDRAWN,
            QUOTE_IS_WHOLE,
        ]
        indexes: ClassVar = [
            models.Index(fields=["range_id"], condition=Q(range_id__isnull=False), name="coding_coding_range"),
            models.Index(
                fields=["migrated_from"], condition=Q(migrated_from__isnull=False), name="coding_coding_migrated"
            ),
        ]

    def __str__(self) -> str:
        return f"coding {self.pk}"

    @property
    def quote(self) -> tuple[int, int] | None:
        """The quoted part of the sentence, in code points of the turn's text."""
        return (
            (self.quote_start, self.quote_end) if self.quote_start is not None and self.quote_end is not None else None
        )


class LinkQuerySet(models.QuerySet["Link"]):
    """Which links count."""

    def active(self) -> Self:
        """Links that have not been withdrawn, of codings that have not been withdrawn."""
        return self.filter(withdrawn_at__isnull=True, coding__withdrawn_at__isnull=True)

    def blind(self) -> Self:
        """Links that coders made before they saw others' labels, by the same rule as for codings: a link that was withdrawn only
        after its coder had seen others' labels of the coded sentence counts too. The coding must be a blind reading itself;
        callers check that."""
        stood = stood_when_unblinded("coding__sentence")
        return self.filter(Q(withdrawn_at__isnull=True) | stood, blinding=Blinding.BLIND)


class Link(models.Model):
    """A relation of a coding: a move acts on a feature, an entry of a feature rests on a sentence, a Revise changes one.

    The first names a ``code``, the others an earlier ``sentence`` of the thread or of the one from which it continues;
    ``quote_start`` and ``quote_end`` mark words inside it, in code points of the turn's text. Never edited. When its coding is
    superseded, restored or migrated, this row is withdrawn and the new coding gets an equal one.
    """

    class Kind(models.TextChoices):
        ACTS_ON = "acts_on", "Acts on"
        WARRANT = "warrant", "Rests on"
        REVISES = "revises", "Revises"

    coding = models.ForeignKey(
        Coding, on_delete=models.PROTECT, related_name="links", help_text="Number of the coding that is linked."
    )
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="links")
    kind = models.CharField(
        max_length=10,
        choices=Kind.choices,
        help_text="acts_on (a feature), warrant (rests on a sentence) or revises (a sentence).",
    )
    code = models.ForeignKey(Code, on_delete=models.PROTECT, null=True, blank=True, related_name="links")
    sentence = models.ForeignKey(
        Sentence,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="links",
        help_text="Number of the sentence that it leads to, if any.",
    )
    quote_start = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="First marked character of the sentence that it leads to, in code points of the turn's text.",
    )
    quote_end = models.PositiveIntegerField(null=True, blank=True, help_text="Character after the last marked one.")
    blinding = models.CharField(max_length=10, choices=Blinding.choices, default=Blinding.BLIND)
    idempotency_key = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = LinkQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(kind="acts_on", code__isnull=False, sentence__isnull=True)
                | Q(kind__in=["warrant", "revises"], code__isnull=True, sentence__isnull=False),
                name="%(app_label)s_%(class)s_has_one_end",
            ),
            models.UniqueConstraint(
                fields=["coding", "kind", "code"],
                condition=Q(withdrawn_at__isnull=True, code__isnull=False),
                name="%(app_label)s_%(class)s_stands_once_per_code",
            ),
            models.UniqueConstraint(
                fields=["coding", "kind", "sentence"],
                condition=Q(withdrawn_at__isnull=True, sentence__isnull=False),
                name="%(app_label)s_%(class)s_stands_once_per_sentence",
            ),
            models.UniqueConstraint(fields=["coder", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
            QUOTE_IS_WHOLE,
        ]

    def __str__(self) -> str:
        return f"link {self.pk}"


class Decision(models.Model):
    """ "Read; nothing more here": a person's own decision on a sentence, after which suggestions may be shown.

    ``none_applies`` says that she read it and no code applies. This is data: without it, agreement and recall are undefined
    (method brief, AC26).
    """

    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="decisions")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    blinding = models.CharField(max_length=10, choices=Blinding.choices, default=Blinding.BLIND)
    none_applies = models.BooleanField(
        help_text="true: read, and no code applies; false: read, and no further codes apply."
    )
    idempotency_key = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawal_reason = models.TextField(blank=True, default="", db_default="")

    objects = DecisionQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sentence", "coder"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.UniqueConstraint(fields=["coder", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
        ]

    def __str__(self) -> str:
        return f"decision {self.pk}"


class Reveal(models.Model):
    """When a person first saw others' labels for a sentence, after her own decision.

    What she had coded by then stays her blind reading.
    """

    class Source(models.TextChoices):
        MACHINE = "machine", "Machine suggestions"
        COLLEAGUES = "colleagues", "Colleagues' codings"

    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="reveals")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reveals")
    revealed_at = models.DateTimeField(help_text="When it was first seen, in UTC.")
    source = models.CharField(
        max_length=10,
        choices=Source.choices,
        default=Source.MACHINE,
        help_text="Whose labels were seen: machine (suggestions) or colleagues (their codings).",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sentence", "coder"], name="%(app_label)s_%(class)s_once_per_person")
        ]

    def __str__(self) -> str:
        return f"reveal {self.pk}"


CONDITION = "condition"
"""Value of ``Unblinding.where`` for the condition of a masked interview, which shows no labels."""
NOT_CODING = "not coding"
"""Value of ``Unblinding.where`` for the labels of interviews that a person will not code; she opened their conditions too."""


class UnblindingQuerySet(models.QuerySet["Unblinding"]):
    """Unblindings by kind."""

    def of_labels(self) -> Self:
        """Unblindings of others' labels. Only these let a person see the labels."""
        return self.exclude(where=CONDITION)

    def of_conditions(self) -> Self:
        """Openings of the condition of a masked interview."""
        return self.filter(where=CONDITION)


class Unblinding(models.Model):
    """Somebody chose to see others' labels in an interview, or its condition while it is masked. What she codes there
    afterwards is not blind.

    Written by `transcripts.blinding` alone. ``where`` names the page on which she did it. ``CONDITION`` has a row separate from
    that for the labels, because a person may have seen only one of the two.
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="unblindings")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="unblindings",
        help_text="User name of the person who unblinded it.",
    )
    where = models.CharField(max_length=40, help_text="On which page.")
    unblinded_at = models.DateTimeField(
        help_text="When it was unblinded, in UTC. What she coded there afterwards is assisted."
    )

    objects = UnblindingQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["interview", "user"],
                condition=~models.Q(where=CONDITION),
                name="%(app_label)s_%(class)s_labels_once_per_person",
            ),
            models.UniqueConstraint(
                fields=["interview", "user"],
                condition=models.Q(where=CONDITION),
                name="%(app_label)s_%(class)s_condition_once_per_person",
            ),
        ]

    def __str__(self) -> str:
        return f"unblinding {self.pk}"


class StageOpening(models.Model):
    """When a person first opened a model's reasoning at the desk. Until then she reads only what the model said.

    A model's private reasoning is its back stage (paper 001, section 4.5): a coder who has read it reads the answer
    differently, so each opening is recorded.
    """

    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="openings")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="stage_openings")
    opened_at = models.DateTimeField(help_text="When she first opened the reasoning of that turn, in UTC.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["turn", "coder"], name="%(app_label)s_%(class)s_once_per_person")
        ]

    def __str__(self) -> str:
        return f"opening {self.pk}"


class Memo(models.Model):
    """A note on a sentence, an interview, a code, a theme or the study. A new text is a new row.

    A person has one memo per sentence and per interview, and any number of the others, distinguished by ``thread``, which all
    versions of one memo share. Emptying a memo stores a row without text that is withdrawn at once, so that a replayed request
    finds it. ``subject_key`` is the identifier of the code or the number of the theme. ``revision`` counts the versions of one
    memo, so that a concurrent change is noticed.
    """

    class Kind(models.TextChoices):
        READING = "reading", "Reading note"
        INTERPRETIVE = "interpretive", "Interpretive"
        POSITIONAL = "positional", "Positional"
        METHODOLOGICAL = "methodological", "Methodological"
        DECISION = "decision", "Decision"

    class Subject(models.TextChoices):
        SENTENCE = "sentence", "Sentence"
        INTERVIEW = "interview", "Interview"
        CODE = "code", "Code"
        THEME = "theme", "Theme"
        STUDY = "study", "Study"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="memos")
    kind = models.CharField(
        max_length=20,
        choices=Kind.choices,
        default=Kind.READING,
        help_text="reading, interpretive, positional, methodological or decision.",
    )
    subject = models.CharField(
        max_length=10,
        choices=Subject.choices,
        default=Subject.SENTENCE,
        help_text="Its subject: sentence, interview, code, theme or study.",
    )
    subject_key = models.CharField(
        max_length=100,
        blank=True,
        default="",
        help_text="Identifier of the code or number of the theme that it is about; otherwise empty.",
    )
    thread = models.UUIDField(
        null=True, blank=True, help_text="Shared by all versions of one memo on a code, a theme or the study."
    )
    revision = models.PositiveIntegerField(default=1, help_text="Number of the version of the memo, from 1.")
    interview = models.ForeignKey(
        Interview,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="memos",
        help_text="Number of the interview that it is on or in, if any.",
    )
    sentence = models.ForeignKey(
        Sentence,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="memos",
        help_text="Number of the sentence that it is on, if any.",
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memos")
    text = models.TextField(blank=True, max_length=MAX_TEXT, help_text="The memo.")
    idempotency_key = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    objects = MemoQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sentence", "author"],
                condition=Q(withdrawn_at__isnull=True, subject="sentence"),
                name="%(app_label)s_%(class)s_stands_once_per_sentence",
            ),
            models.UniqueConstraint(
                fields=["interview", "author"],
                condition=Q(withdrawn_at__isnull=True, subject="interview"),
                name="%(app_label)s_%(class)s_stands_once_per_interview",
            ),
            models.UniqueConstraint(
                fields=["thread"],
                condition=Q(withdrawn_at__isnull=True, thread__isnull=False),
                name="%(app_label)s_%(class)s_stands_once_per_thread",
            ),
            models.UniqueConstraint(fields=["author", "idempotency_key"], name="%(app_label)s_%(class)s_stored_once"),
            models.CheckConstraint(
                condition=(
                    Q(subject="sentence", interview__isnull=False, sentence__isnull=False)
                    | Q(subject="interview", interview__isnull=False, sentence__isnull=True)
                    | Q(subject__in=["code", "theme", "study"], interview__isnull=True, sentence__isnull=True)
                ),
                name="%(app_label)s_%(class)s_subject_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"memo {self.pk}"


class DeskSettings(models.Model):
    """One person's settings of the desk, for every study and every machine. They are preferences, so they are changed in place.

    ``keys`` are her keys for acts and codes that differ from the defaults of the desk and the codebook (see keys.py); an empty
    key is switched off.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="desk_settings")
    keys = models.JSONField(default=dict)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"desk of {self.user_id}"


# What the audit trail records of codings, links, decisions and memos: enough to rebuild every row of them. Quotes are offsets,
# because the texts of sentences never change. Idempotency keys are left out, because they say nothing about the work.
STUDY_OF_A_SENTENCE = "sentence.turn.interview.owning_study_id"
register_rows(
    Coding,
    "sentence code identifier version coder blinding level enactment grounding prompting quote_start quote_end range "
    "migrated_from created_at withdrawn_at superseded_by",
    texts=["note", "reason", "withdrawal_reason", "attributes"],
    study=STUDY_OF_A_SENTENCE,
    identifier="code.identifier",
    version="code.version.number",
    range="range_id",
)
register_rows(
    Link,
    "coding coder kind code sentence quote_start quote_end blinding created_at withdrawn_at",
    study=f"coding.{STUDY_OF_A_SENTENCE}",
)
register_rows(
    Decision,
    "sentence coder blinding none_applies created_at withdrawn_at",
    texts=["withdrawal_reason"],
    study=STUDY_OF_A_SENTENCE,
)
register_rows(
    Memo,
    "study author kind subject key thread revision interview sentence created_at withdrawn_at superseded_by",
    texts=["text"],
    study="study_id",
    key="subject_key",
)
