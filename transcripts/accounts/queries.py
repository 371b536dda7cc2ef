"""Find people by request, by secret or by name, and ask other rooms when an account is to be closed."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import NamedTuple, cast

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from transcripts.accounts import sealing
from transcripts.accounts.models import ApiToken, Session, SignInLink, User
from transcripts.accounts.sealing import hash_secret
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import SITE, describe_target
from transcripts.hooks import account_closing, closing_checked, closing_reviewed, send

# This many characters of a key distinguish a person's sessions, but are not enough to use one.
REFERENCE_LENGTH = 16


class OpenSession(NamedTuple):
    """A browser in which somebody is signed in. ``reference`` replaces its key, which no page may show."""

    reference: str
    device: str
    began_at: datetime.datetime
    last_used_at: datetime.datetime
    is_this: bool


class LinkOrigin(NamedTuple):
    """Who sent a sign-in link that still works, when, and when it ends."""

    sender: str
    sent_at: datetime.datetime
    ends_at: datetime.datetime


def person_of(request: HttpRequest) -> User:
    """The signed-in person of a request; LoginRequiredMiddleware has refused everybody else."""
    return cast("User", request.user)


def open_links() -> QuerySet[SignInLink]:
    """The sign-in links that still work."""
    return SignInLink.objects.filter(used_at__isnull=True, expires_at__gt=timezone.now(), user__is_active=True)


def find_open_link(secret: str) -> SignInLink | None:
    """The link with this secret, and its person, or ``None`` if it is unknown, used or too old."""
    return open_links().select_related("user").filter(secret_hash=hash_secret(secret)).first()


def find_link(secret: str) -> SignInLink | None:
    """The link with this secret, whether it still works or not."""
    return SignInLink.objects.select_related("user").filter(secret_hash=hash_secret(secret)).first()


def explain_link(link: SignInLink | None) -> str:
    """Why a link does not work any more, and who can send a new one. Shown only to a person who has its secret."""
    if link is None:
        return "There is no such link. Part of its address may be missing. Copy all of it."
    made = AuditEvent.objects.filter(action="account.sign_in_link.created", target=describe_target(link)).first()
    maker = made.actor_name if made and made.actor_id.isdecimal() else ""
    ask = f"Ask {maker} for a new one." if maker else "Ask the person who runs this site for a new one."
    if link.used_at:
        return f"It works once, and was used on {_write_day(link.used_at)}. {ask}"
    return f"It ended on {_write_day(link.expires_at)}: it expired, was revoked, or a newer one took its place. {ask}"


def _write_day(at: datetime.datetime) -> str:
    return date_format(timezone.localtime(at), "j F Y, H:i")


def find_link_origins(users: Iterable[User]) -> dict[int, LinkOrigin]:
    """Who sent the link that still works to each of these people, and when, by the people's ids. Two queries."""
    links = list(open_links().filter(user__in=users))
    made = AuditEvent.objects.filter(
        stream=SITE, action="account.sign_in_link.created", target__in=[describe_target(link) for link in links]
    )
    senders = {event.target: event.actor_name for event in made} if links else {}
    return {
        link.user_id: LinkOrigin(senders.get(describe_target(link), ""), link.created_at, link.expires_at)
        for link in links
    }


def find_token(secret: str) -> ApiToken | None:
    """The API token with this secret, and its person, or ``None`` if it is unknown, revoked or expired. One query."""
    tokens = living_tokens().select_related("user").filter(user__is_active=True)
    return tokens.filter(secret_hash=hash_secret(secret)).first()


def living_tokens() -> QuerySet[ApiToken]:
    """The API tokens that are neither revoked nor expired."""
    return ApiToken.objects.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())


def open_sessions() -> QuerySet[Session]:
    """The open sessions: neither too old nor unused for too long."""
    now = timezone.now()
    idle = datetime.timedelta(hours=settings.SESSION_IDLE_HOURS)
    return Session.objects.filter(user__isnull=False, expire_date__gt=now, last_used_at__gt=now - idle)


def list_sessions(user: User, *, this: str | None) -> list[OpenSession]:
    """Where ``user`` is signed in: the session with the key ``this`` first, then by its last use."""
    rows = open_sessions().filter(user=user).order_by("-last_used_at")
    found = [
        OpenSession(
            refer_to_session(row.session_key), row.device, row.began_at, row.last_used_at, row.session_key == this
        )
        for row in rows
    ]
    return sorted(found, key=lambda each: not each.is_this)


def refer_to_session(key: str) -> str:
    """The reference that replaces a session's key in an address."""
    return hash_secret(key)[:REFERENCE_LENGTH]


def find_user(username: str) -> User | None:
    """The person with this name, regardless of upper and lower case."""
    return User.objects.filter(username__iexact=User.normalize_username(username.strip())).first()


def has_second_factor(user: AbstractBaseUser) -> bool:
    """Whether ``user`` has set up an app that makes codes."""
    return bool(Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP).exists())


def find_sealed(authenticator: Authenticator) -> str:
    """The key under which a second factor has its encrypted value: the secret of an app, or the seed of recovery codes."""
    return "secret" if authenticator.type == Authenticator.Type.TOTP else "seed"


def find_broken_second_factors() -> list[str]:
    """The names of people whose second factor FIELD_KEY cannot decrypt."""
    broken: set[str] = set()
    for authenticator in Authenticator.objects.select_related("user").order_by():
        try:
            sealing.open_seal(authenticator.data[find_sealed(authenticator)])
        except sealing.SealBroken:
            broken.add(authenticator.user.username)
    return sorted(broken)


def list_site_owners() -> list[str]:
    """The names of the owners of the site who have an open account, the earliest account first."""
    owners = User.objects.filter(is_superuser=True, is_active=True)
    return list(owners.order_by("pk").values_list("username", flat=True))


def list_people() -> list[User]:
    """Everybody with an account: owners of the site first, then by name."""
    return list(User.objects.order_by("-is_superuser", "username"))


def sign_in_address(secret: str) -> str:
    """The complete address of a sign-in link, built from BASE_URL and never from the host in a request."""
    return f"{settings.BASE_URL}{reverse('accounts:use_link', args=[secret])}"


def find_obstacles(user: User) -> list[str]:
    """The reasons why an account cannot be closed, with what to do about them; empty if it can be closed."""
    alone = (
        user.is_superuser and not User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk).exists()
    )
    own = [
        f"{user.username} is the only owner of the site. Make another one first: manage.py user create NAME --site-owner."
    ]
    return (own if alone else []) + [sentence for said in send(closing_checked, user=user) for sentence in said]


def list_notes(user: User) -> list[str]:
    """What the person who closes an account should know before."""
    return [sentence for said in send(closing_reviewed, user=user) for sentence in said]


def announce_closing(user: User, by: trail.Actor) -> None:
    """Notify every room that an account is being closed, in the transaction that closes it."""
    send(account_closing, user=user, by=by)
