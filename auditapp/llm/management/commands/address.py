from __future__ import annotations

from auditapp.llm.actions import allow_address, disallow_address
from auditapp.llm.credentials import read_allowed_addresses
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand, Argument, Noun


class Allow(ActCommand):
    help = "Allow model calls to a private address in the server's network; with --remove, no longer allow them."
    takes = (
        Argument("address", help="host:port, such as 127.0.0.1:11434"),
        Argument("--remove", action="store_true", help="remove the address from the list"),
    )

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
