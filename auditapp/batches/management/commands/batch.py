from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches import actions
from auditapp.batches.models import Batch
from auditapp.batches.queries import read_progress
from auditapp.batches.summaries import summarise_batch
from transcripts.audit_trail import trail

CONTROLS = {"pause": actions.pause_batch, "resume": actions.resume_batch, "cancel": actions.cancel_batch}


class Command(BaseCommand):
    help = "Show a batch, or pause, resume or cancel it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["show", *CONTROLS])
        parser.add_argument("number", type=int)
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, act: str, number: int, **options: object) -> None:
        batch = Batch.objects.filter(pk=number).first()
        if batch is None:
            raise CommandError(f"There is no batch {number}.")
        if act in CONTROLS:
            try:
                CONTROLS[act](batch=batch, by=trail.SYSTEM)
            except actions.BatchError as error:
                raise CommandError(str(error)) from error
        summary = summarise_batch(batch, read_progress(batch))
        if options["json"]:
            self.stdout.write(json.dumps(summary))
            return
        for name, value in summary.items():
            self.stdout.write(f"{name:>20}  {value}")
