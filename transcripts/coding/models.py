"""Human work, and nothing else: what people decided about sentences, and when they decided it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from transcripts.codebook.models import Code
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.models import Project


class Layer(models.TextChoices):
    """What the coder could see when she decided."""

    BLIND = "blind", "Blind"
    ASSISTED = "assisted", "After seeing suggestions"


class Level(models.TextChoices):
    """Semantic: said outright. Latent: read from what is said; asks for one line of interpretation."""

    SEMANTIC = "semantic", "Semantic"
    LATENT = "latent", "Latent"


class Enactment(models.TextChoices):
    """Whether a move is made here, shown in an example, or only talked about."""

    ENACTED = "enacted", "Enacted"
    DEMONSTRATED = "demonstrated", "Demonstrated"
    DESCRIBED = "described", "Described"


class Coding(models.Model):
    """One code one person put on one sentence. Never edited: a change withdraws this row and adds another.

    A code of a turn family stands on the turn's first sentence. ``client_id`` is made by the page, so that a replayed
    request stores nothing twice.
    """

    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="codings")
    code = models.ForeignKey(Code, on_delete=models.PROTECT, related_name="codings")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="codings")
    layer = models.CharField(max_length=10, choices=Layer.choices, default=Layer.BLIND)
    level = models.CharField(max_length=10, choices=Level.choices, default=Level.SEMANTIC)
    enactment = models.CharField(max_length=15, choices=Enactment.choices, blank=True)
    note = models.TextField(blank=True)
    client_id = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sentence", "code", "coder", "layer"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.UniqueConstraint(fields=["coder", "client_id"], name="%(app_label)s_%(class)s_stored_once"),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True) | Q(withdrawn_at__gte=F("created_at")),
                name="%(app_label)s_%(class)s_withdrawn_after_created",
            ),
            models.CheckConstraint(
                condition=Q(superseded_by__isnull=True) | Q(withdrawn_at__isnull=False),
                name="%(app_label)s_%(class)s_superseded_is_withdrawn",
            ),
        ]

    def __str__(self) -> str:
        return f"coding {self.pk}"


class Decision(models.Model):
    """ "Read; nothing more here": a person's own word on a sentence, after which suggestions may be shown.

    ``none_applies`` says that she read it and no code applies, which is data: without it agreement and recall are
    undefined (method brief, AC26).
    """

    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="decisions")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    layer = models.CharField(max_length=10, choices=Layer.choices, default=Layer.BLIND)
    none_applies = models.BooleanField()
    client_id = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sentence", "coder"],
                condition=Q(withdrawn_at__isnull=True),
                name="%(app_label)s_%(class)s_stands_once",
            ),
            models.UniqueConstraint(fields=["coder", "client_id"], name="%(app_label)s_%(class)s_stored_once"),
        ]

    def __str__(self) -> str:
        return f"decision {self.pk}"


class Reveal(models.Model):
    """When a person first saw the machines' suggestions for a sentence; her own word came before."""

    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="reveals")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reveals")
    revealed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sentence", "coder"], name="%(app_label)s_%(class)s_once_per_person")
        ]

    def __str__(self) -> str:
        return f"reveal {self.pk}"


class Memo(models.Model):
    """A note on a sentence, or on the interview when ``sentence`` is empty. A new text is a new row.

    A memo that was emptied leaves a row without text that never stands, so that a replayed request finds it.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="memos")
    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="memos")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, null=True, blank=True, related_name="memos")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memos")
    text = models.TextField(blank=True)
    client_id = models.UUIDField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sentence", "author"],
                condition=Q(withdrawn_at__isnull=True, sentence__isnull=False),
                name="%(app_label)s_%(class)s_stands_once_per_sentence",
            ),
            models.UniqueConstraint(
                fields=["interview", "author"],
                condition=Q(withdrawn_at__isnull=True, sentence__isnull=True),
                name="%(app_label)s_%(class)s_stands_once_per_interview",
            ),
            models.UniqueConstraint(fields=["author", "client_id"], name="%(app_label)s_%(class)s_stored_once"),
        ]

    def __str__(self) -> str:
        return f"memo {self.pk}"
