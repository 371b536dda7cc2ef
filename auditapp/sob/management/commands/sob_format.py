from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from auditapp.batches.command_options import add_launch_options, read_launch_options, report_launched
from auditapp.llm.management.finding import find_variant
from auditapp.sob.judging.actions.readings import launch_formatter
from auditapp.sob.judging.formatter import DEFAULT_OUTCOMES, READABLE_OUTCOMES
from auditapp.sob.management.choices import find_batch
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
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
            help="which answers are sent; may be repeated (default: off_format only)",
        )
        parser.add_argument(
            "--no-schema", action="store_true", help="never hold the formatter's answers to a JSON schema"
        )
        add_launch_options(parser)

    def handle(self, *args: object, batch: int, model: str, **options: Any) -> None:
        how = read_launch_options(options)
        source = find_batch(batch)
        launched = launch_formatter(
            batch=source,
            variant=find_variant(model),
            outcomes=options["outcome"] or DEFAULT_OUTCOMES,
            without_schema=options["no_schema"],
            by=trail.SYSTEM,
            options=how,
        )
        report_launched(self, launched, options, things="answers")
