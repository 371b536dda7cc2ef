from __future__ import annotations

import json

from django.core.management.base import CommandParser

from auditapp.llm.actions import add_account
from auditapp.llm.providers import PROVIDERS
from auditapp.llm.queries import find_key_state, read_allowed_addresses
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Add an account: where calls go and who pays. Its key comes from a variable of the worker, or is stored with set_key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--provider", required=True, choices=[*PROVIDERS])
        parser.add_argument("--base-url", default="")
        parser.add_argument("--key-env", default="", help="environment variable of the worker that holds the key")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        before = read_allowed_addresses()
        account = add_account(
            name=str(options["name"]),
            provider=str(options["provider"]),
            base_url=str(options["base_url"]),
            key_env=str(options["key_env"]),
            by=trail.SYSTEM,
            allow_private=True,
        )
        allowed = sorted(read_allowed_addresses() - before)
        if options["json"]:
            answer = {
                "account": account.name,
                "provider": account.provider,
                "base_url": account.base_url,
                "key": find_key_state(account),
                "allowed_addresses": allowed,
            }
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(f"Account {account.name}: {find_key_state(account)}.")
        for address in allowed:
            self.stdout.write(f"{address} is on the list of private addresses that calls may go to.")
