from __future__ import annotations

from django.core.management.base import CommandParser

from auditapp.llm.actions import allow_address, disallow_address
from auditapp.llm.queries import read_allowed_addresses
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand, Noun


class Allow(ActCommand):
    help = "Allow model calls to a private address of the server's network; with --remove, stop allowing them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("address", help="host:port, such as 127.0.0.1:11434")
        parser.add_argument("--remove", action="store_true", help="remove the address from the list")

    def handle(self, *args: object, **options: object) -> None:
        address = str(options["address"])
        if options["remove"]:
            disallow_address(address=address, by=trail.SYSTEM)
            done = f"Calls may no longer go to {address}."
        else:
            address = allow_address(address=address, by=trail.SYSTEM).address
            done = f"Calls may now go to {address}."
        answer = {"address": address, "allowed_addresses": sorted(read_allowed_addresses())}
        self.answer(answer, done)


class Command(Noun):
    help = "Allow model calls to private addresses."
    verbs = {
        "allow": Allow,
    }
