from __future__ import annotations

import json
import sys
from getpass import getpass

from django.core.management.base import CommandError, CommandParser

from auditapp.llm.actions import forget_key, set_key, set_key_env
from auditapp.llm.models import ProviderAccount
from auditapp.llm.queries import find_key_state
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand, find_row


class Command(ActCommand):
    help = (
        "Store the key of an account. It is read from standard input, never from the command line, where others on the "
        "machine could see it. Or read it from a variable (--env), or delete it (--forget)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--env", help="environment variable of the worker that holds the key")
        how.add_argument("--forget", action="store_true", help="delete the stored key")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        account = find_row(ProviderAccount.objects.order_by("name"), "account", name=options["account"])
        if options["env"] is not None:
            account = set_key_env(account=account, key_env=str(options["env"]), by=trail.SYSTEM)
        elif options["forget"]:
            account = forget_key(account=account, by=trail.SYSTEM)
        else:
            account = set_key(account=account, key=read_key(), by=trail.SYSTEM)
        state = find_key_state(account)
        answer = {"account": account.name, "key": state}
        self.stdout.write(json.dumps(answer) if options["json"] else f"The key of {account.name}: {state}.")


def read_key() -> str:
    """The key, typed without echo at a terminal or piped in. Raises ``CommandError`` if there is none."""
    key = getpass("Key: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise CommandError("There was no key on standard input. Pipe it in, or run this at a terminal and paste it.")
    return key
