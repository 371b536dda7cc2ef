from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.models import Batch
from auditapp.batches.verify import verify_batches


class Command(BaseCommand):
    help = "Check the batches' ledger against what must always hold (I1 to I8); ends with 1 when something does not."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--billed", type=int, help="how many calls the providers charged for, all batches together")

    def handle(self, *args: object, billed: int | None, **options: object) -> None:
        breaks = verify_batches(billed)
        batches = Batch.objects.count()
        if options["json"]:
            self.stdout.write(json.dumps({"batches": batches, "breaks": [each._asdict() for each in breaks]}))
        elif not breaks:
            self.stdout.write(f"{batches} {'batch' if batches == 1 else 'batches'} checked: everything holds.")
        else:
            for each in breaks:
                self.stdout.write(f"{each.invariant}  {each.sentence}")
        if breaks:
            count = "1 invariant is" if len(breaks) == 1 else f"{len(breaks)} invariants are"
            raise CommandError(f"{count} broken. Keep the database as it is, and look at what is named.")
