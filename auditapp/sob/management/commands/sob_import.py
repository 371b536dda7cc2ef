from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.sob.judging.actions.imported_answers import import_answers
from auditapp.sob.management.choices import find_dataset
from auditapp.sob.pure.instruments import BASE_TASK, TASKS
from transcripts.audit_trail import trail
from transcripts.formats.command_files import input_file
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Import answers from another run: the authors' sob_results.csv, or an Inspect log (.json, .eval)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file)
        parser.add_argument("--dataset", required=True, help="the texts that were asked about")
        parser.add_argument("--project", default="")
        parser.add_argument(
            "--task",
            default="",
            choices=["", BASE_TASK, *(key for key, _ in TASKS)],
            help="used if the file names none",
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would be imported; store nothing")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, file: Path, dataset: str, **options: Any) -> None:
        try:
            data = file.read_bytes()
            imported = import_answers(
                dataset=find_dataset(dataset, options["project"]),
                file_name=file.name,
                data=data,
                by=trail.SYSTEM,
                task=options["task"],
                dry_run=options["dry_run"],
            )
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        if options["json"]:
            self.stdout.write(json.dumps({**imported, "batch": imported["batch"] and imported["batch"].pk}))
        else:
            self.write_summary(imported)

    def write_summary(self, imported: dict[str, Any]) -> None:
        where = f"batch {imported['batch'].pk}" if imported["batch"] else "no batch: this was a dry run"
        came = "were imported before as" if imported["batch"] and not imported["created"] else "are"
        self.stdout.write(
            f"{imported['stored']:,} of {imported['rows']:,} answers {came} {where}: {len(imported['models'])} models, "
            f"{imported['texts']:,} texts, {imported['empty']:,} without an answer, {imported['failed']:,} failed calls."
        )
        for reason, count in {**imported["unmatched"], **imported["passed_over"]}.items():
            self.stdout.write(f"Left out, {count:,}: {reason}.")
        if imported["listed"]:
            places = ", ".join(each["place"] for each in imported["listed"])
            self.stdout.write(f"The first that match no text: {places}.")
