from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.ledger.verify import WORDS, list_counted_accounts, verify_batches
from auditapp.batches.models import Batch
from auditapp.llm.models import ProviderAccount
from transcripts.ui.commands import find_row


class Command(BaseCommand):
    help = "Check the ledger of all batches against its invariants (I1 to I8). The exit status is 1 if one is broken."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--billed", type=int, help="how many calls the providers charged for, over all batches")
        parser.add_argument("--account", default="", metavar="NAME", help="count --billed for this account only")

    def handle(self, *args: object, billed: int | None, account: str, **options: object) -> None:
        if account and billed is None:
            raise CommandError("--account needs --billed, the number of calls that this account was charged for.")
        if account:
            find_row(ProviderAccount.objects.order_by("name"), "account", name=account)
        breaks = verify_batches(billed, account)
        batches = Batch.objects.count()
        if options["json"]:
            listed = [
                {"invariant": invariant, "batch": batch, "sentence": sentence} for invariant, batch, sentence in breaks
            ]
            self.stdout.write(json.dumps({"batches": batches, "breaks": listed}))
        elif not breaks:
            self.stdout.write(f"{batches} {'batch' if batches == 1 else 'batches'} checked: no invariant is broken.")
            if billed is not None:
                self.stdout.write(f"Compared with what was charged; {list_counted_accounts(account)}.")
        else:
            for invariant, _, sentence in breaks:
                self.stdout.write(f"{WORDS[invariant]} ({invariant}): {sentence}")
        if breaks:
            count = "1 invariant is" if len(breaks) == 1 else f"{len(breaks)} invariants are"
            raise CommandError(f"{count} broken. Keep the database as it is, and look at the rows named above.")
