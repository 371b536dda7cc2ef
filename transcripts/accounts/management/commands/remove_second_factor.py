from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.accounts.actions import AccountError, remove_second_factor
from transcripts.accounts.management.finding import find_user
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Remove the second factor of a person who lost it, with its recovery codes. Her sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="NAME")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, username: str, **options: object) -> None:
        user = find_user(username)
        try:
            remove_second_factor(user=user, by=trail.SYSTEM)
        except AccountError as error:
            raise CommandError(str(error)) from error
        said = f"{user.username} has no second factor any more, and signs in with the password or a link alone."
        self.stdout.write(json.dumps({"username": user.username}) if options["json"] else said)
