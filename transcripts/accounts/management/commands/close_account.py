from __future__ import annotations

import json

from django.core.management.base import CommandParser

from transcripts.accounts import closing
from transcripts.accounts.actions import close_account, reopen_account
from transcripts.accounts.management.finding import find_user
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Close an account: its person cannot sign in any more, and all work stays under its name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="NAME")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--dry-run", action="store_true", help="say what closing would mean, and close nothing")
        what.add_argument("--reopen", action="store_true", help="open an account again that was closed")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, username: str, **options: object) -> None:
        user = find_user(username)
        obstacles: list[str] = []
        notes: list[str] = []
        if options["reopen"]:
            reopen_account(user=user, by=trail.SYSTEM)
        else:
            obstacles, notes = closing.find_obstacles(user), closing.list_notes(user)
            if not options["dry_run"]:
                close_account(user=user, by=trail.SYSTEM)
        user.refresh_from_db()
        state = "open" if user.is_active else "closed"
        if options["json"]:
            answer = {"username": user.username, "state": state, "obstacles": obstacles, "notes": notes}
            self.stdout.write(json.dumps(answer))
            return
        for sentence in [*obstacles, *notes, f"The account of {user.username} is {state}."]:
            self.stdout.write(sentence)
