from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.queries import read_progress
from auditapp.batches.summaries import summarise_batch
from auditapp.batches.waiting import wait_for_batch
from auditapp.llm.models import ModelVariant
from auditapp.sob.actions import SobError, launch_sob
from auditapp.sob.forms import TASKS
from auditapp.sob.projects import find_dataset
from transcripts.audit_trail import trail
from transcripts.projects.actions import ProjectError


class Command(BaseCommand):
    help = "Ask models about the texts of a dataset."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--model", action="append", required=True, metavar="LABEL", help="may be repeated")
        parser.add_argument("--task", action="append", required=True, choices=[key for key, _ in TASKS])
        parser.add_argument("--instrument", default="paper", help="wording: paper or release")
        parser.add_argument("--project", default="")
        parser.add_argument("--limit", type=int, help="so many texts, spread evenly over the dataset")
        parser.add_argument("--repeats", type=int, default=1)
        parser.add_argument("--concurrency", type=int, default=30, help="calls in flight")
        parser.add_argument("--cap", metavar="USD", help="no call is sent that could pass it")
        parser.add_argument("--wait", action="store_true", help="return when the batch has ended")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, dataset: str, model: list[str], task: list[str], **options: object) -> None:
        try:
            batch = launch_sob(
                dataset=find_dataset(dataset, str(options["project"])),
                variants=[find_variant(label) for label in model],
                tasks=task,
                instrument_variant=str(options["instrument"]),
                limit=options["limit"],  # type: ignore[arg-type]
                repeats=int(str(options["repeats"])),
                concurrency=int(str(options["concurrency"])),
                cap_usd=read_cap(options["cap"]),
                by=trail.SYSTEM,
            )
        except (SobError, ProjectError) as error:
            raise CommandError(str(error)) from error
        if options["wait"]:
            batch = wait_for_batch(batch, tell=self.stderr.write)
        summary = summarise_batch(batch, read_progress(batch))
        if options["json"]:
            self.stdout.write(json.dumps(summary))
        else:
            self.stdout.write(f"Batch {batch.pk}: {summary['cells']} cells, {batch.get_state_display().lower()}.")
        if options["wait"] and batch.state != batch.State.DONE:
            raise CommandError(
                f"Batch {batch.pk} is {batch.get_state_display().lower()}: {batch.state_reason or 'stopped'}"
            )


def find_variant(label: str) -> ModelVariant:
    """The model with that label. Raises ``CommandError`` naming those there are."""
    variant = ModelVariant.objects.filter(label=label).first()
    if variant is None:
        labels = ", ".join(ModelVariant.objects.values_list("label", flat=True)) or "none"
        raise CommandError(f"There is no model {label!r}; there are: {labels}. `manage.py add_model` adds one.")
    return variant


def read_cap(value: object) -> Decimal | None:
    """A cap as typed. Raises ``CommandError``."""
    if value is None:
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise CommandError(f"--cap {value!r} is no amount. Write US dollars, such as 5 or 2.50.") from None
