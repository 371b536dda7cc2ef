from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.llm.actions import rotate_keys
from transcripts.accounts.actions import seal_second_factors_again
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = (
        "Encrypt every stored provider key and second factor again with the first key of FIELD_KEY, "
        "so that the other keys can be removed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        sealed, broken = rotate_keys(by=trail.SYSTEM)
        factors, people = seal_second_factors_again(by=trail.SYSTEM)
        if people:
            raise CommandError(
                f"FIELD_KEY does not decrypt the second factor of {', '.join(people)}. Add the key it was encrypted with to "
                "FIELD_KEY, after a comma, and run this again, or use manage.py remove_second_factor NAME."
            )
        if broken:
            raise CommandError(
                f"{sealed} keys encrypted again, but FIELD_KEY does not decrypt the stored keys of "
                f"{', '.join(broken)}. Add the key they were encrypted with to FIELD_KEY, after a comma, and run "
                "this again, or set the keys of these accounts again."
            )
        answer = {"sealed_again": sealed, "second_factors": factors}
        text = (
            f"{sealed} stored keys and {factors} secrets of second factors are encrypted with the first key of FIELD_KEY. "
            "The other keys can be removed from it."
        )
        self.stdout.write(json.dumps(answer) if options["json"] else text)
