from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.queries import read_progress
from auditapp.batches.summaries import summarise_batch
from auditapp.batches.waiting import wait_for_batch
from auditapp.preannotation.actions import PreannotationError, ensure_annotator, launch_preannotation
from auditapp.preannotation.queries import count_readings
from transcripts.audit_trail import trail
from transcripts.projects.models import Project


class Command(BaseCommand):
    help = "Have a machine annotator read a study's interviews. Its suggestions are kept apart from people's codings."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--annotator", required=True, metavar="NAME", help="an annotator, or the label of a model")
        parser.add_argument("--limit", type=int, help="so many turns from the beginning")
        parser.add_argument(
            "--family", action="append", help="code family to read for (default: all coded by sentence)"
        )
        parser.add_argument("--concurrency", type=int, default=30, help="calls in flight")
        parser.add_argument("--cap", metavar="USD", help="no call is sent that could pass it")
        parser.add_argument("--wait", action="store_true", help="return when the batch has ended")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, project: str, annotator: str, **options: object) -> None:
        study = Project.objects.filter(slug=project).first()
        if study is None:
            raise CommandError(f"There is no study at {project!r}.")
        try:
            cap = None if options["cap"] is None else Decimal(str(options["cap"]))
        except InvalidOperation:
            raise CommandError(f"--cap {options['cap']!r} is no amount. Write US dollars, such as 5 or 2.50.") from None
        try:
            batch = launch_preannotation(
                project=study,
                annotator=ensure_annotator(project=study, name=annotator, by=trail.SYSTEM),
                families=options["family"],  # type: ignore[arg-type]
                limit=options["limit"],  # type: ignore[arg-type]
                cap_usd=cap,
                concurrency=int(str(options["concurrency"])),
                by=trail.SYSTEM,
            )
        except PreannotationError as error:
            raise CommandError(str(error)) from error
        if options["wait"]:
            batch = wait_for_batch(batch, tell=self.stderr.write)
        summary = summarise_batch(batch, read_progress(batch)) | count_readings(batch)
        if options["json"]:
            self.stdout.write(json.dumps(summary))
        else:
            self.stdout.write(f"Batch {batch.pk}: {summary['cells']} cells, {batch.get_state_display().lower()}.")
        if options["wait"] and batch.state != batch.State.DONE:
            raise CommandError(
                f"Batch {batch.pk} is {batch.get_state_display().lower()}: {batch.state_reason or 'stopped'}"
            )
