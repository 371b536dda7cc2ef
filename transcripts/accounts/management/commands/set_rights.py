from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandParser

from transcripts.accounts.actions import set_rights
from transcripts.accounts.management.finding import find_user
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Set what a person may do on this site: start studies, invite people. What is not named stays as it is."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="NAME")
        parser.add_argument("--start-studies", choices=["yes", "no"])
        parser.add_argument("--invite", choices=["yes", "no"], help="make accounts, and invite people to her studies")
        parser.add_argument("--json", action="store_true")

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
        self.stdout.write(json.dumps(answer) if options["json"] else said)
