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
from auditapp.batches.models import Batch
from auditapp.batches.pages.progress import read_progress
from auditapp.batches.pages.summaries import summarise_batch
from auditapp.sob.errors import SobError
from auditapp.sob.judging.actions.readings import launch_formatter
from auditapp.sob.judging.formatter import DEFAULT_OUTCOMES, READABLE_OUTCOMES
from auditapp.sob.management.commands.sob_launch import find_variant
from auditapp.sob.queries.arms import KIND
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Have a small model read the answers of a sob batch that no rule could read."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--batch", type=int, required=True, metavar="N", help="the sob batch whose answers it reads"
        )
        parser.add_argument("--model", required=True, metavar="LABEL")
        parser.add_argument(
            "--outcome",
            action="append",
            choices=[str(outcome) for outcome in READABLE_OUTCOMES],
            help="which answers it gets; may be repeated, off_format alone without it",
        )
        add_launch_options(parser)

    def handle(self, *args: object, batch: int, model: str, **options: Any) -> None:
        how = read_launch_options(options)
        source = Batch.objects.select_related("project").filter(pk=batch, kind=KIND).first()
        if source is None:
            raise CommandError(f"There is no sob batch {batch}.")
        try:
            launched = launch_formatter(
                batch=source,
                variant=find_variant(model),
                outcomes=options["outcome"] or DEFAULT_OUTCOMES,
                by=trail.SYSTEM,
                options=how,
            )
        except SobError as error:
            raise CommandError(str(error)) from error
        if options["wait"]:
            launched = wait_for_launched(launched, says_yes=options["yes"], report=self.stderr.write)
        summary = summarise_batch(launched, read_progress(launched), is_whole=True)
        if options["json"]:
            self.stdout.write(json.dumps(summary))
        else:
            self.stdout.write(
                f"Batch {launched.pk}: {summary['cells']} answers, {launched.get_state_display().lower()}."
            )
        if options["wait"]:
            refuse_stopped(launched)
