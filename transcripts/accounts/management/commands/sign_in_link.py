from __future__ import annotations

import json

from django.core.management.base import CommandError, CommandParser

from transcripts.accounts.actions import create_sign_in_link
from transcripts.accounts.management.finding import find_user
from transcripts.accounts.models import User
from transcripts.accounts.queries import sign_in_address
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Print a link that signs a person in once, within thirty minutes; that person's older links become invalid."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "username", nargs="?", metavar="NAME", help="the person to sign in (default: the first owner of the site)"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, username: str | None, **options: object) -> None:
        secret = create_sign_in_link(user=find_person(username), by=trail.SYSTEM)
        url = sign_in_address(secret)
        self.stdout.write(json.dumps({"url": url}) if options["json"] else url)


def find_person(username: str | None) -> User:
    """The person named, or the first owner of the site. Raises ``CommandError``."""
    if username is not None:
        return find_user(username)
    owner = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if owner is None:
        raise CommandError("This site has no owner yet. Create one: manage.py create_user NAME --site-owner")
    return owner
