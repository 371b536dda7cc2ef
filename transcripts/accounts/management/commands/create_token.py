from __future__ import annotations

import json

from django.core.management.base import CommandParser

from transcripts.accounts.actions import create_token
from transcripts.accounts.management.finding import find_user
from transcripts.accounts.models import DEFAULT_SCOPES, MAX_TOKEN_DAYS, TOKEN_DAYS, Scope
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Create an API token for a person. It is printed only once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="NAME")
        parser.add_argument("--name", default="", metavar="LABEL", help="what the token is for (default: token)")
        parser.add_argument(
            "--days",
            type=int,
            default=TOKEN_DAYS,
            help=f"how long it works (default: {TOKEN_DAYS}; at most {MAX_TOKEN_DAYS})",
        )
        parser.add_argument(
            "--scope",
            action="append",
            dest="scopes",
            choices=Scope.values,
            metavar="SCOPE",
            help=f"what a program may do with it: {', '.join(Scope.values)}; can be given several times "
            f"(default: {', '.join(DEFAULT_SCOPES)})",
        )
        parser.add_argument("--json", action="store_true")

    def handle(
        self, *args: object, username: str, name: str, days: int, scopes: list[str] | None, **options: object
    ) -> None:
        user = find_user(username)
        token, secret = create_token(user=user, name=name, by=trail.SYSTEM, days=days, scopes=scopes or DEFAULT_SCOPES)
        answer = {"username": user.username, "token": secret, "expires_at": token.expires_at.isoformat()}
        answer["scopes"] = token.scopes
        self.stdout.write(json.dumps(answer) if options["json"] else secret)
