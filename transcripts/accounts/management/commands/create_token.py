from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.accounts.actions import AccountError, create_token
from transcripts.accounts.queries import find_user
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Create an API token for a person. It is printed only once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="NAME")
        parser.add_argument("--name", default="", metavar="LABEL", help="what the token is for (default: token)")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, username: str, name: str, **options: object) -> None:
        user = find_user(username)
        if user is None:
            raise CommandError(f"There is no user named {username}. Create one: manage.py create_user {username}")
        try:
            _, secret = create_token(user=user, name=name, by=trail.SYSTEM)
        except AccountError as error:
            raise CommandError(str(error)) from error
        answer = {"username": user.username, "token": secret}
        self.stdout.write(json.dumps(answer) if options["json"] else secret)
