from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandParser

from auditapp.sob.judging.actions.recounting import recount_readings
from auditapp.sob.pure.counting import LEXICON_VERSION
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Count the attributes of all stored answers again, after an upgrade that changed the counting rules."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        readings, changed = recount_readings(by=trail.SYSTEM)
        if options["json"]:
            self.stdout.write(json.dumps({"readings": readings, "changed": changed, "lexicon": LEXICON_VERSION}))
            return
        self.stdout.write(f"{readings} attributed readings counted again under {LEXICON_VERSION}, {changed} changed.")
