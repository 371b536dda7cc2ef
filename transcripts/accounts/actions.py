"""Actions on accounts."""

from __future__ import annotations

import datetime
from collections.abc import Collection

from allauth.mfa.models import Authenticator
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from transcripts.accounts import queries, sealing
from transcripts.accounts.models import (
    DEFAULT_SCOPES,
    MAX_TOKEN_DAYS,
    TOKEN_DAYS,
    ApiToken,
    Scope,
    Session,
    SignInLink,
    User,
)
from transcripts.accounts.sealing import hash_secret, make_secret
from transcripts.accounts.sessions import without_waiting
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.ui.navigation import INTRODUCTIONS

SIGN_IN_LINK_LIFE = datetime.timedelta(minutes=30)
# The life of a new person's first link. It is long because she may read her mail late; her account contains no work yet.
INVITATION_LIFE = datetime.timedelta(days=7)
MAX_TOKENS = 25
# By how much the time of a token's last use may be out of date, so that not every request writes to the database.
LATENESS = datetime.timedelta(minutes=1)
OWNER = "owner"
# With these names, the history would read as if the program itself had acted.
RESERVED_NAMES = frozenset({"system", "auditapp"})


class LinkRefused(Refused):
    """The sign-in link is unknown, used or too old."""


def _describe_bad_name(username: str) -> str:
    """Say what is wrong with a name that Django's validators refuse."""
    most = User._meta.get_field("username").max_length or 0
    if len(username) > most:
        return f"A user name has at most {most} characters; this one has {len(username)}."
    wrong = dict.fromkeys(sign for sign in username if not (sign.isalnum() or sign in "@.+-_"))
    hidden = "an invisible character"
    named = ", ".join("a space" if sign == " " else f"“{sign}”" if sign.isprintable() else hidden for sign in wrong)
    return (
        f"“{username}” cannot be used as a user name{f', because it contains {named}' if named else ''}. Use letters, digits "
        "and the signs @ . + - _ only."
    )


@transaction.atomic
def create_user(*, username: str, by: trail.Actor, is_owner_of_site: bool = False) -> User:
    """Make an account without a password; the person signs in with a link.

    Raises ``Refused`` for a name that is taken or invalid, and ``PermissionDenied`` if a person who does not own the site tries to
    create a site owner.
    """
    if is_owner_of_site and isinstance(by, User) and not by.is_superuser:
        raise PermissionDenied("Only an owner of the site can create another one.")
    username = User.normalize_username(username.strip())
    if not username:
        raise Refused("A user needs a name.")
    if username.lower() in RESERVED_NAMES:
        raise Refused(f"The name {username} is reserved for the program itself. Choose another.")
    user = User(username=username, is_superuser=is_owner_of_site)
    user.set_unusable_password()
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise Refused(_describe_bad_name(username)) from error
    if queries.find_user(username) is not None:
        raise Refused(f"There is already a user named {username}.")
    user.save()
    trail.record(
        "account.user.created", target=user, by=by, details={"username": username, "site_owner": is_owner_of_site}
    )
    return user


NO_RIGHT = (
    "Ask the owner of the site for this right; she gives it on the page People, or with manage.py user set-rights."
)


def check_may_start_studies(by: trail.Actor) -> None:
    """Raise ``PermissionDenied`` for a person without the right to start studies."""
    if isinstance(by, User) and not (by.is_superuser or by.may_start_studies):
        raise PermissionDenied(f"You may not start studies on this site. {NO_RIGHT}")


def check_may_invite(by: trail.Actor) -> None:
    """Raise ``PermissionDenied`` for a person without the right to invite people."""
    if isinstance(by, User) and not (by.is_superuser or by.may_invite):
        raise PermissionDenied(f"You may not invite people on this site. {NO_RIGHT}")


@transaction.atomic
def set_rights(*, user: User, may_start_studies: bool | None, may_invite: bool | None, by: trail.Actor) -> None:
    """Grant or revoke the rights to start studies and to invite people; ``None`` leaves a right as it is. Raises
    ``PermissionDenied`` for a person who does not own the site."""
    if isinstance(by, User) and not by.is_superuser:
        raise PermissionDenied("Only an owner of the site can change what people may do on it.")
    locked = User.objects.select_for_update().get(pk=user.pk)
    before = [locked.may_start_studies, locked.may_invite]
    may_start_studies = locked.may_start_studies if may_start_studies is None else may_start_studies
    may_invite = locked.may_invite if may_invite is None else may_invite
    if before == [may_start_studies, may_invite]:
        return
    locked.may_start_studies, locked.may_invite = may_start_studies, may_invite
    locked.save(update_fields=["may_start_studies", "may_invite"])
    trail.record(
        "account.rights.set",
        target=locked,
        by=by,
        details={"username": locked.username, "start_studies": may_start_studies, "invite": may_invite},
    )


@transaction.atomic
def dismiss_introduction(*, page: str, by: User) -> None:
    """Stop showing the introduction of this page, which is named by its route, to this person."""
    if page not in INTRODUCTIONS:
        raise Refused("That page has no introduction. Open the page again.")
    # Locked, so that if two pages are dismissed at once, neither is lost.
    locked = User.objects.select_for_update().get(pk=by.pk)
    if page in locked.known_pages:
        return
    locked.known_pages = sorted({*locked.known_pages, page})
    locked.save(update_fields=["known_pages"])
    trail.record("account.introduction.dismissed", target=locked, by=by, details={"page": page})


def ensure_owner() -> User:
    """The first owner of the site, or a new account `owner` if there is none."""
    first = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return first or create_user(username=OWNER, by=trail.SYSTEM, is_owner_of_site=True)


@transaction.atomic
def set_password(*, user: User, password: str, by: trail.Actor, keep_session: str | None = None) -> None:
    """Set the password of ``user``, which a form has checked. Her sessions end, except the one with the key ``keep_session``. All
    her API tokens and unused sign-in links end too, because a person who knew the old password may have made them."""
    user.set_password(password)
    user.save(update_fields=["password"])
    _end_open_links(user)
    trail.record("account.password.set", target=user, by=by)
    end_sessions(user=user, by=by, keep=keep_session)
    revoke_tokens(user=user, by=by)


@transaction.atomic
def end_sessions(*, user: User, by: trail.Actor, keep: str | None = None) -> int:
    """Sign ``user`` out everywhere except in the session with the key ``keep``. Returns the number of ended sessions."""
    _check_may_end(user, by)
    sessions = Session.objects.filter(user=user).exclude(session_key=keep or "")
    number = queries.open_sessions().filter(pk__in=sessions).count()
    sessions.delete()
    if number:
        trail.record("account.sessions.ended", target=user, by=by, details={"sessions": number})
    return number


@transaction.atomic
def end_session(*, user: User, reference: str, by: trail.Actor) -> bool:
    """Sign ``user`` out in the session ``reference`` (see ``queries.list_sessions``); returns whether it existed."""
    _check_may_end(user, by)
    for session in Session.objects.filter(user=user):
        if queries.refer_to_session(session.session_key) == reference:
            session.delete()
            trail.record("account.sessions.ended", target=user, by=by, details={"sessions": 1})
            return True
    return False


def _check_may_end(user: User, by: trail.Actor) -> None:
    if isinstance(by, User) and by.pk != user.pk and not by.is_superuser:
        raise PermissionDenied("Only an owner of the site can sign another person out.")


@transaction.atomic
def close_account(*, user: User, by: trail.Actor) -> None:
    """Close an account: nobody can sign in to it, and its sessions, tokens and links end. Its work is kept under its name.

    Raises ``Refused``, which says what to do, if the site or a study would have no owner left, and ``PermissionDenied`` for anybody
    except the account's holder and the owners of the site.
    """
    _check_may_close(user, by)
    # The owners are locked too, so that if two close each other's accounts at once, the second is refused.
    people = User.objects.select_for_update().filter(Q(pk=user.pk) | Q(is_superuser=True)).order_by("pk")
    locked = next(each for each in people if each.pk == user.pk)
    if not locked.is_active:
        raise Refused(f"The account of {user.username} is already closed.")
    if obstacles := queries.find_obstacles(locked):
        raise Refused(" ".join(obstacles))
    locked.is_active, locked.closed_at = False, timezone.now()
    locked.save(update_fields=["is_active", "closed_at"])
    end_sessions(user=locked, by=by)
    revoke_tokens(user=locked, by=by)
    _end_open_links(locked)
    _end_links_made_by(locked)
    queries.announce_closing(locked, by)
    trail.record("account.closed", target=locked, by=by, details={"username": locked.username})


@transaction.atomic
def reopen_account(*, user: User, by: trail.Actor) -> None:
    """Reopen a closed account, with the earlier password and memberships."""
    if isinstance(by, User) and not by.is_superuser:
        raise PermissionDenied("Only an owner of the site can reopen an account.")
    locked = User.objects.select_for_update().get(pk=user.pk)
    if locked.is_active:
        raise Refused(f"The account of {user.username} is open.")
    if locked.closed_at is None:
        raise Refused(f"{user.username} represents a person in an imported file. Nobody can use this account.")
    locked.is_active, locked.closed_at = True, None
    locked.save(update_fields=["is_active", "closed_at"])
    trail.record("account.reopened", target=locked, by=by, details={"username": locked.username})


def _check_may_close(user: User, by: trail.Actor) -> None:
    if isinstance(by, User) and by.pk != user.pk and not by.is_superuser:
        raise PermissionDenied("An account can be closed only by its holder and by the owners of the site.")


def _end_links_made_by(user: User) -> None:
    """End the unused links that ``user`` made for others, because with them she could still sign in as these people."""
    made = AuditEvent.objects.filter(
        stream=trail.SITE,
        action="account.sign_in_link.created",
        actor_id=str(user.pk),
        at__gt=timezone.now() - INVITATION_LIFE,
    )
    numbers = [target.rpartition(":")[2] for target in made.values_list("target", flat=True)]
    queries.open_links().filter(pk__in=numbers).update(expires_at=timezone.now())


@transaction.atomic
def create_sign_in_link(*, user: User, by: trail.Actor, life: datetime.timedelta = SIGN_IN_LINK_LIFE) -> str:
    """Create a link that signs ``user`` in once within its ``life``, and return its secret; her older links end.

    Anybody with the link can sign in as ``user``, so callers check that ``by`` may have it (see ``studies.actions``).
    """
    if not user.is_active:
        raise Refused(f"The account of {user.username} is closed, so no sign-in link can be created for it.")
    _end_open_links(user)
    secret = make_secret()
    now = timezone.now()
    link = SignInLink.objects.create(user=user, secret_hash=hash_secret(secret), created_at=now, expires_at=now + life)
    trail.record("account.sign_in_link.created", target=link, by=by, details={"username": user.username})
    return secret


@transaction.atomic
def revoke_sign_in_links(*, user: User, by: trail.Actor) -> bool:
    """End the unused links of ``user``; returns whether there were any. Callers check that ``by`` may do this (see
    ``studies.actions``)."""
    if not _end_open_links(user):
        return False
    trail.record("account.sign_in_link.revoked", target=user, by=by, details={"username": user.username})
    return True


@transaction.atomic
def use_sign_in_link(*, secret: str) -> User:
    """Use up a link and return the person whom it signs in. Raises ``LinkRefused``."""
    # Locked before the check, so that if it is used twice at once, the second attempt finds it used.
    link = SignInLink.objects.select_for_update().filter(secret_hash=hash_secret(secret)).first()
    if link is None or not queries.open_links().filter(pk=link.pk).exists():
        raise LinkRefused(queries.explain_link(link))
    link.used_at = timezone.now()
    link.save(update_fields=["used_at"])
    trail.record("account.sign_in_link.used", target=link, by=link.user)
    return link.user


@transaction.atomic
def record_sign_in(*, user: User, by_link: bool, second_factor: bool) -> None:
    """Record that a person signed in, with her password or a link."""
    details: dict[str, object] = {"with": "link" if by_link else "password", "second_factor": second_factor}
    trail.record("account.signed_in", target=user, by=user, details=details)


@transaction.atomic
def record_wrong_code(*, user: User) -> None:
    """Record a wrong code of a second factor, after the correct password."""
    trail.record("account.second_factor.failed", target=user, by=trail.SYSTEM)


@transaction.atomic
def record_second_factor(*, user: User, change: str, by: trail.Actor) -> None:
    """Record that the second factor of ``user`` was added or removed, or got new recovery codes, in the same transaction."""
    trail.record(f"account.second_factor.{change}", target=user, by=by, details={"username": user.username})


@transaction.atomic
def remove_second_factor(*, user: User, by: trail.Actor) -> None:
    """Remove a lost second factor with its recovery codes; all sessions end. Raises ``Refused`` if there is none."""
    if isinstance(by, User):
        raise PermissionDenied("Only the person who runs the server can remove a second factor that was lost.")
    if not Authenticator.objects.filter(user=user).delete()[0]:
        raise Refused(f"{user.username} has no second factor.")
    record_second_factor(user=user, change="removed", by=by)
    end_sessions(user=user, by=by)


@transaction.atomic
def seal_second_factors_again(*, by: trail.Actor) -> tuple[int, list[str]]:
    """Encrypt the secrets of all second factors again with the first key of FIELD_KEY. Returns their number, and the names of
    people whose secrets cannot be decrypted; those secrets do not change."""
    done, broken = 0, list[str]()
    for authenticator in Authenticator.objects.select_for_update(of=("self",)).select_related("user").order_by("pk"):
        name = queries.find_sealed(authenticator)
        try:
            authenticator.data[name] = sealing.seal(sealing.open_seal(authenticator.data[name]))
        except sealing.SealBroken:
            broken.append(authenticator.user.username)
            continue
        authenticator.save(update_fields=["data"])
        done += 1
    if done or broken:
        trail.record(
            "account.second_factors.sealed_again",
            target="accounts",
            by=by,
            details={"sealed": done, "broken": len(broken)},
        )
    return done, sorted(set(broken))


@transaction.atomic
def record_failed_sign_in(*, username: str) -> None:
    """Record a wrong password for an existing name. Other names are not recorded, because they may be mistyped passwords."""
    user = queries.find_user(username)
    if user is not None:
        trail.record("account.sign_in.failed", target=user, by=trail.SYSTEM)


@transaction.atomic
def create_token(
    *, user: User, name: str, by: trail.Actor, days: int = TOKEN_DAYS, scopes: Collection[str] = DEFAULT_SCOPES
) -> tuple[ApiToken, str]:
    """Create an API token for ``user`` that works for ``days``. Returns it with its secret, which is not stored. ``scopes`` are
    values of ``Scope``."""
    name = name.strip() or "token"
    max_length = ApiToken._meta.get_field("name").max_length
    if max_length is not None and len(name) > max_length:
        raise Refused(f"A token's name may have up to {max_length} characters; this one has {len(name)}.")
    if not 1 <= days <= MAX_TOKEN_DAYS:
        raise Refused(f"A token can work for 1 to {MAX_TOKEN_DAYS} days.")
    if not scopes or not set(scopes) <= set(Scope.values):
        raise Refused(f"A token needs at least one scope, of these: {', '.join(Scope.values)}.")
    # Locked before counting, so that if two tokens are made at once and only one is allowed, the second is refused.
    if not User.objects.select_for_update().get(pk=user.pk).is_active:
        raise Refused(f"The account of {user.username} is closed, so it cannot have a token.")
    if queries.living_tokens().filter(user=user).count() >= MAX_TOKENS:
        raise Refused(
            f"{user.username} has {MAX_TOKENS} API tokens, which is the most an account can have. Revoke one that is no longer "
            "used. The list of tokens shows when each was last used."
        )
    secret = make_secret()
    now = timezone.now()
    token = ApiToken.objects.create(
        user=user,
        name=name,
        secret_hash=hash_secret(secret),
        last_four=secret[-4:],
        scopes=[scope for scope in Scope.values if scope in scopes],
        created_at=now,
        expires_at=now + datetime.timedelta(days=days),
    )
    trail.record(
        "account.token.created",
        target=token,
        by=by,
        details={"username": user.username, "name": token.name, "days": days, "scopes": token.scopes},
    )
    return token, secret


def note_token_use(token: ApiToken) -> None:
    """Record that a token was used, at most once a minute."""
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - LATENESS:
        with without_waiting():
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def revoke_tokens(*, user: User, by: trail.Actor) -> int:
    """Revoke all tokens of ``user`` and return their number."""
    tokens = list(queries.living_tokens().filter(user=user))
    for token in tokens:
        revoke_token(token=token, by=by)
    return len(tokens)


@transaction.atomic
def revoke_token(*, token: ApiToken, by: trail.Actor) -> None:
    """Revoke a token; requests with it are refused from now on."""
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        trail.record("account.token.revoked", target=token, by=by, details={"name": token.name})


def _end_open_links(user: User) -> int:
    return queries.open_links().filter(user=user).update(expires_at=timezone.now())
