from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.llm.actions import rotate_keys
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Seal every stored key of a provider again, with the first key of FIELD_KEY, so that the others can go."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        sealed, broken = rotate_keys(by=trail.SYSTEM)
        if broken:
            raise CommandError(
                f"{sealed} sealed again, but FIELD_KEY does not open the stored keys of "
                f"{', '.join(broken)}. Put the key that sealed them into FIELD_KEY too, behind a comma, and run "
                "this again; or set the keys of these accounts anew."
            )
        answer = {"sealed_again": sealed}
        text = f"{sealed} stored keys are sealed with the first key of FIELD_KEY. The others can be taken out."
        self.stdout.write(json.dumps(answer) if options["json"] else text)
