from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.command_options import (
    add_launch_options,
    read_launch_options,
    refuse_stopped,
    wait_for_launched,
)
from auditapp.batches.progress import read_progress
from auditapp.batches.summaries import summarise_batch
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
        add_launch_options(parser)

    def handle(self, *args: object, project: str, annotator: str, **options: Any) -> None:
        how = read_launch_options(options)
        study = Project.objects.filter(slug=project).first()
        if study is None:
            raise CommandError(f"There is no study at {project!r}.")
        try:
            batch = launch_preannotation(
                project=study,
                annotator=ensure_annotator(project=study, name=annotator, by=trail.SYSTEM),
                families=options["family"],
                limit=options["limit"],
                by=trail.SYSTEM,
                **how,
            )
        except PreannotationError as error:
            raise CommandError(str(error)) from error
        if options["wait"]:
            batch = wait_for_launched(batch, says_yes=options["yes"], tell=self.stderr.write)
        summary = summarise_batch(batch, read_progress(batch)) | count_readings(batch)
        if options["json"]:
            self.stdout.write(json.dumps(summary))
        else:
            self.stdout.write(f"Batch {batch.pk}: {summary['cells']} cells, {batch.get_state_display().lower()}.")
        if options["wait"]:
            refuse_stopped(batch)
