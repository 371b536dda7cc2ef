"""Studies and who belongs to them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower
from django.urls import reverse

from transcripts.studies.roles import ROLE_CHOICES, ROLES, Role
from transcripts.ui.typed_text import MAX_REASON


class Study(models.Model):
    """A study: every text, code, coding and batch belongs to one, and is reached through it."""

    slug = models.SlugField(max_length=60, unique=True, help_text="Address of the study.")
    name = models.CharField(max_length=200, help_text="Name of the study.")
    description = models.TextField(blank=True, help_text="What the study is about; may be empty.")
    created_at = models.DateTimeField()
    # Of the steps by which a study begins (queries.py).
    skipped_steps = models.JSONField(default=list, blank=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="studies")

    class Meta:
        ordering: ClassVar = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("studies:home", args=[self.slug])

    @property
    def study_id(self) -> int:
        """Its own key, under the name that rows of a study use, because the trail reads it from every target."""
        return self.pk


class MethodChoice(models.Model):
    """A choice of the method of a study, or of one of its code families. The latest row applies; all are kept.

    ``family`` is the identifier of a code family, empty for the study as a whole. Braun and Clarke distinguish the three; a
    reflexive study shows no coefficient of agreement (paper 001, section 2.2).
    """

    class Method(models.TextChoices):
        REFLEXIVE = "reflexive", "Reflexive thematic analysis"
        CODEBOOK = "codebook", "Codebook thematic analysis"
        RELIABILITY = "reliability", "Coding reliability"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="method_choices")
    family = models.CharField(
        max_length=100, blank=True, help_text="Identifier of the family of codes; empty for the whole study."
    )
    method = models.CharField(
        max_length=12,
        choices=Method.choices,
        help_text="reflexive, codebook or reliability (Braun and Clarke's three kinds of thematic analysis).",
    )
    reason = models.TextField(
        "why",
        max_length=MAX_REASON,
        blank=True,
        help_text="Required if a method was set before. It is kept on this page and appears in the methods paragraph.",
    )
    set_at = models.DateTimeField(help_text="When it was set, in UTC.")
    set_by_name = models.CharField(max_length=200, help_text="Who set it.")

    class Meta:
        ordering: ClassVar = ["study", "pk"]

    def __str__(self) -> str:
        return f"{self.method} since {self.set_at:%Y-%m-%d}"


class UploadDay(models.Model):
    """The number of bytes of files that people uploaded to a study on one day."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="upload_days")
    day = models.DateField()
    bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "day"], name="%(app_label)s_%(class)s_once"),
        ]

    def __str__(self) -> str:
        return f"{self.bytes} bytes on {self.day}"


class Invitation(models.Model):
    """A role in a study, offered to the person with this user name, who becomes a member by accepting.

    ``user`` is ``None`` if nobody had the name. The page of the study shows both cases in the same way, so that nobody learns
    who has an account.
    """

    class Answer(models.TextChoices):
        ACCEPTED = "accepted", "Accepted"
        DECLINED = "declined", "Declined"
        WITHDRAWN = "withdrawn", "Withdrawn"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    username = models.CharField(max_length=150)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="invitations"
    )
    role = models.CharField(max_length=20, choices=ROLE_CHOICES)
    invited_by_name = models.CharField(max_length=200)
    invited_at = models.DateTimeField()
    answer = models.CharField(max_length=10, choices=Answer.choices, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "study",
                Lower("username"),
                condition=models.Q(answer=""),
                name="%(app_label)s_%(class)s_one_open_per_name",
            ),
            models.CheckConstraint(
                condition=models.Q(answer="") ^ models.Q(answered_at__isnull=False),
                name="%(app_label)s_%(class)s_answered_has_date",
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"

    def get_role(self) -> Role:
        return ROLES[self.role]


class Membership(models.Model):
    """One person's role in one study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=ROLE_CHOICES)
    joined_at = models.DateTimeField()
    # The account was created by the invitation to this study; only then may its owner make the new person another link.
    came_by_invitation = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "user"], name="%(app_label)s_%(class)s_one_role_per_person"),
            models.CheckConstraint(
                condition=models.Q(role__in=list(ROLES)), name="%(app_label)s_%(class)s_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} as {self.role}"

    def get_role(self) -> Role:
        return ROLES[self.role]

    @property
    def is_awaited(self) -> bool:
        """Whether the person has never signed in. Reads self.user."""
        return self.user.last_login is None and not self.user.has_usable_password()
