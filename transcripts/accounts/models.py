"""People, their sessions, their one-time sign-in links and their API tokens."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Lower

TOKEN_DAYS, MAX_TOKEN_DAYS = 90, 365


class Scope(models.TextChoices):
    """What a program may do with a token. It can never do more than the token's person."""

    READ = "read", "Read"
    CODE = "code", "Code: codings, decisions and memos"
    # What leads do on pages.
    MANAGE = "manage", "Manage: import files, change the codebook and webhooks"
    # A separate scope, because it spends money.
    LAUNCH = "launch", "Launch: batches that cost money"


# The scopes of a token for which none were named: what tokens could do before there were scopes. They could not spend money.
DEFAULT_SCOPES = (Scope.READ, Scope.CODE, Scope.MANAGE)


class User(AbstractUser):
    """A person. Her memberships define what she may do in studies; ``is_superuser`` marks the owner of the whole site, who gives
    others the right to start studies and to invite people.

    A closed account is not active and has ``closed_at``. An inactive account without ``closed_at`` has a person's work from an
    imported file; nobody has ever used it.
    """

    may_start_studies = models.BooleanField(default=False)
    may_invite = models.BooleanField(default=False)
    closed_at = models.DateTimeField(null=True, blank=True)
    # The routes of the pages whose introduction she has dismissed: a preference, so it is changed in place.
    known_pages = models.JSONField(default=list, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(closed_at__isnull=True) | models.Q(is_active=False),
                name="%(app_label)s_%(class)s_closed_is_not_active",
            ),
            # Sign-in ignores the case of names.
            models.UniqueConstraint(
                Lower("username"),
                name="%(app_label)s_%(class)s_one_per_name",
                violation_error_message="There is already a user of this name.",
            ),
        ]


class Session(AbstractBaseSession):
    """A browser in which somebody is signed in, or a visitor without an account. ``device`` names the browser and the operating
    system; no address is stored."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="sessions"
    )
    device = models.CharField(max_length=100, blank=True)
    began_at = models.DateTimeField()
    # Written every few minutes, not at each request.
    last_used_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"session of {self.user_id}"


class SignInLink(models.Model):
    """A link that signs one person in once. Only the hash of its secret is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links")
    secret_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in link {self.pk} of {self.user_id}"


class ApiToken(models.Model):
    """A key for the API, which is shown once. Only its hash is stored, and its last four characters so that keys can be told apart.

    ``scopes`` are values of ``Scope``, in the order of ``Scope``. ``last_used_at`` is written at most once a minute.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField("name of the token", max_length=100, help_text="Its purpose, such as “nightly export”.")
    secret_hash = models.CharField(max_length=64, unique=True)
    last_four = models.CharField(max_length=4)
    scopes = models.JSONField(default=list, db_default=[])
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(expires_at__gt=models.F("created_at")),
                name="%(app_label)s_%(class)s_expires_after_created",
            ),
            models.CheckConstraint(
                condition=models.Q(revoked_at__isnull=True) | models.Q(revoked_at__gte=models.F("created_at")),
                name="%(app_label)s_%(class)s_revoked_after_created",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_four})"
