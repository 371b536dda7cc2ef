from __future__ import annotations

from django.core.management.base import CommandError
from django.db import transaction

from transcripts.accounts import queries
from transcripts.accounts.actions import (
    close_account,
    create_sign_in_link,
    create_token,
    create_user,
    remove_second_factor,
    reopen_account,
    set_rights,
)
from transcripts.accounts.forms import TokenForm
from transcripts.accounts.models import DEFAULT_SCOPES, Scope, User
from transcripts.accounts.queries import sign_in_address
from transcripts.audit_trail import trail
from transcripts.studies.actions import invite_person, set_member_role
from transcripts.studies.management import find_study, find_user
from transcripts.studies.roles import ROLES
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, arguments_of

PERSON = Argument("username", metavar="NAME", help="the person, by user name")


class Create(ActCommand):
    help = (
        "Create a person's account, with a role in a study, and print a link that signs her in once. A person who already has an "
        "account is given the role."
    )
    takes = (
        PERSON,
        Argument("--role", choices=[*ROLES]),
        commands.MAYBE_STUDY,
        Argument("--site-owner", action="store_true", help="may do everything, in every study"),
    )

    def handle(
        self, *args: object, username: str, role: str | None, study: str | None, site_owner: bool, **options: object
    ) -> None:
        if (role is None) != (study is None):
            raise CommandError("Give --role and --study together, or neither.")
        if study is not None and (known := User.objects.filter(username__iexact=username).first()) is not None:
            self._add_known(known, role=str(role), slug=study)
            return
        user, secret = invite(username, role=role, slug=study, site_owner=site_owner)
        url = sign_in_address(secret)
        answer = {"username": user.username, "role": role, "study": study, "sign_in_url": url}
        self.answer(answer, f"{user.username} can sign in here once: {url}")

    def _add_known(self, user: User, *, role: str, slug: str) -> None:
        study = find_study(slug)
        if not user.is_active:
            raise CommandError(
                f"The account {user.username} is closed: nobody can sign in with it. Choose another name."
            )
        if study.members.filter(pk=user.pk).exists():
            raise CommandError(f"{user.username} is a member of {slug} already. Change her role on its page Members.")
        set_member_role(study=study, user=user, role=role, by=trail.SYSTEM)
        answer = {"username": user.username, "role": role, "study": slug, "sign_in_url": None}
        self.answer(answer, f"{user.username} already has an account, and is now {role} of {slug}.")


@transaction.atomic
def invite(username: str, *, role: str | None, slug: str | None, site_owner: bool) -> tuple[User, str]:
    """Create the person; without a ``slug`` she is in no study."""
    by = trail.SYSTEM
    if slug is None or role is None:
        user = create_user(username=username, by=by, is_owner_of_site=site_owner)
        return user, create_sign_in_link(user=user, by=by)
    return invite_person(study=find_study(slug), username=username, role=role, by=by, is_owner_of_site=site_owner)


class SignIn(ActCommand):
    help = "Print a link that signs a person in once, within thirty minutes; that person's older links become invalid."
    takes = (
        Argument(
            "username", nargs="?", metavar="NAME", help="the person to sign in (default: the first owner of the site)"
        ),
    )

    def handle(self, *args: object, username: str | None, **options: object) -> None:
        secret = create_sign_in_link(user=find_person(username), by=trail.SYSTEM)
        url = sign_in_address(secret)
        self.answer({"url": url}, url)


def find_person(username: str | None) -> User:
    """The person named, or the first owner of the site. Raises ``CommandError``."""
    if username is not None:
        return find_user(username)
    owner = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if owner is None:
        raise CommandError("This site has no owner yet. Create one: manage.py user create NAME --site-owner")
    return owner


class SetRights(ActCommand):
    help = "Set what a person may do on this site: start studies, invite people. Rights that are not named stay as they are."
    takes = (
        PERSON,
        Argument("--start-studies", choices=["yes", "no"]),
        Argument("--invite", choices=["yes", "no"], help="make accounts, and invite people to her studies"),
    )

    def handle(self, *args: object, username: str, **options: object) -> None:
        user = find_user(username)
        start, invite = options["start_studies"], options["invite"]
        set_rights(
            user=user,
            may_start_studies=user.may_start_studies if start is None else start == "yes",
            may_invite=user.may_invite if invite is None else invite == "yes",
            by=trail.SYSTEM,
        )
        user.refresh_from_db()
        answer = {"username": user.username, "start_studies": user.may_start_studies, "invite": user.may_invite}
        words = [
            name for name, has in (("start studies", user.may_start_studies), ("invite people", user.may_invite)) if has
        ]
        said = f"{user.username} may {' and '.join(words) or 'neither start studies nor invite people'}."
        self.answer(answer, said)


class Close(ActCommand):
    help = "Close an account: its owner can no longer sign in, and all work stays under its name."
    takes = (
        PERSON,
        OneOf(
            commands.DRY_RUN.but(help="show what closing would mean, without closing"),
            Argument("--reopen", action="store_true", help="reopen a closed account"),
            needed=False,
        ),
    )

    def handle(self, *args: object, username: str, **options: object) -> None:
        user = find_user(username)
        obstacles: list[str] = []
        notes: list[str] = []
        if options["reopen"]:
            reopen_account(user=user, by=trail.SYSTEM)
        else:
            obstacles, notes = queries.find_obstacles(user), queries.list_notes(user)
            if not options["dry_run"]:
                close_account(user=user, by=trail.SYSTEM)
        user.refresh_from_db()
        state = "open" if user.is_active else "closed"
        answer = {"username": user.username, "state": state, "obstacles": obstacles, "notes": notes}
        self.answer(answer, [*obstacles, *notes, f"The account of {user.username} is {state}."])


class RemoveSecondFactor(ActCommand):
    help = "Remove the second factor of a person who lost it, with its recovery codes. Her sessions end."
    takes = (PERSON,)

    def handle(self, *args: object, username: str, **options: object) -> None:
        user = find_user(username)
        remove_second_factor(user=user, by=trail.SYSTEM)
        said = f"{user.username} no longer has a second factor, and signs in with only the password or a link."
        self.answer({"username": user.username}, said)


class CreateToken(ActCommand):
    help = "Create an API token for a person. It is printed only once."
    takes = (
        PERSON,
        Argument("--name", default="", metavar="LABEL", help="purpose of the token (default: token)"),
        *arguments_of(TokenForm, "days"),
        Argument(
            "--scope",
            action="append",
            dest="scopes",
            choices=Scope.values,
            metavar="SCOPE",
            help=f"what a program may do with the token: {', '.join(Scope.values)}; can be repeated (default: "
            f"{', '.join(DEFAULT_SCOPES)})",
        ),
    )

    def handle(
        self, *args: object, username: str, name: str, days: int, scopes: list[str] | None, **options: object
    ) -> None:
        user = find_user(username)
        token, secret = create_token(user=user, name=name, by=trail.SYSTEM, days=days, scopes=scopes or DEFAULT_SCOPES)
        answer = {"username": user.username, "token": secret, "expires_at": token.expires_at.isoformat()}
        answer["scopes"] = token.scopes
        self.answer(answer, secret)


class Command(Noun):
    help = "Manage the people of the site: their accounts, roles, rights, links and tokens."
    verbs = {
        "create": Create,
        "sign-in": SignIn,
        "set-rights": SetRights,
        "close": Close,
        "remove-second-factor": RemoveSecondFactor,
        "create-token": CreateToken,
    }
