from __future__ import annotations

import json

from django.core.management.base import CommandParser

from transcripts.accounts.actions import remove_second_factor
from transcripts.accounts.management.finding import find_user
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Remove the second factor of a person who lost it, with its recovery codes. Her sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="NAME")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, username: str, **options: object) -> None:
        user = find_user(username)
        remove_second_factor(user=user, by=trail.SYSTEM)
        said = f"{user.username} has no second factor any more, and signs in with the password or a link alone."
        self.stdout.write(json.dumps({"username": user.username}) if options["json"] else said)
