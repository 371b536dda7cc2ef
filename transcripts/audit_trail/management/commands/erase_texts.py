from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from transcripts.audit_trail.erasing import NothingToErase, erase_texts
from transcripts.audit_trail.trail import SYSTEM


class Command(BaseCommand):
    help = (
        "Erase what somebody typed: notes, reasons and answers of a coding, the text of a memo, and their copies beside the "
        "audit trail. The rows stay, and the trail says that their texts were erased. It cannot be undone. Backups and "
        "exports made before still hold the texts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("rows", nargs="+", metavar="ROW", help="coding.memo:12, coding.coding:7, …")
        parser.add_argument("--reason", required=True, help="why, in the audit trail for good: name no person in it")
        parser.add_argument("--json", action="store_true")

    @transaction.atomic
    def handle(self, *args: object, rows: list[str], reason: str, **options: object) -> None:
        try:
            erased = {row: erase_texts(row, reason=reason, by=SYSTEM) for row in rows}
        except NothingToErase as error:
            raise CommandError(f"{error} Nothing was erased.") from error
        told = "\n".join(f"{row}: {', '.join(columns)} erased." for row, columns in erased.items())
        self.stdout.write(json.dumps({"erased": erased}) if options["json"] else told)
