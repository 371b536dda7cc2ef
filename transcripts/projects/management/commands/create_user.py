from __future__ import annotations

import json

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from transcripts.accounts.actions import create_sign_in_link, create_user
from transcripts.accounts.models import User
from transcripts.accounts.queries import sign_in_address
from transcripts.audit_trail import trail
from transcripts.projects.actions import invite_person, set_member_role
from transcripts.projects.management.finding import find_study
from transcripts.projects.roles import ROLES
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = (
        "Create a person's account, with a role in a study, and print a link that signs her in once. Somebody who has an "
        "account is given the role."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="NAME")
        parser.add_argument("--role", choices=[*ROLES])
        parser.add_argument("--project", metavar="SLUG")
        parser.add_argument("--site-owner", action="store_true", help="may do everything, in every study")
        parser.add_argument("--json", action="store_true")

    def handle(
        self, *args: object, username: str, role: str | None, project: str | None, site_owner: bool, **options: object
    ) -> None:
        if (role is None) != (project is None):
            raise CommandError("Give --role and --project together, or neither.")
        if project is not None and (known := User.objects.filter(username__iexact=username).first()) is not None:
            self._add_known(known, role=str(role), slug=project, as_json=bool(options["json"]))
            return
        user, secret = invite(username, role=role, slug=project, site_owner=site_owner)
        url = sign_in_address(secret)
        answer = {"username": user.username, "role": role, "project": project, "sign_in_url": url}
        self.stdout.write(json.dumps(answer) if options["json"] else f"{user.username} can sign in here once: {url}")

    def _add_known(self, user: User, *, role: str, slug: str, as_json: bool) -> None:
        project = find_study(slug)
        if not user.is_active:
            raise CommandError(
                f"The account {user.username} is closed: nobody can sign in with it. Choose another name."
            )
        if project.members.filter(pk=user.pk).exists():
            raise CommandError(f"{user.username} is a member of {slug} already. Change her role on its page Members.")
        set_member_role(project=project, user=user, role=role, by=trail.SYSTEM)
        answer = {"username": user.username, "role": role, "project": slug, "sign_in_url": None}
        words = f"{user.username} has an account already, and is now {role} of {slug}."
        self.stdout.write(json.dumps(answer) if as_json else words)


@transaction.atomic
def invite(username: str, *, role: str | None, slug: str | None, site_owner: bool) -> tuple[User, str]:
    """The person as made, in no study when ``slug`` is none."""
    by = trail.SYSTEM
    if slug is None or role is None:
        user = create_user(username=username, by=by, is_owner_of_site=site_owner)
        return user, create_sign_in_link(user=user, by=by)
    return invite_person(project=find_study(slug), username=username, role=role, by=by, is_owner_of_site=site_owner)
