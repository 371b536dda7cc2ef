from __future__ import annotations

import json

from django.core.management.base import CommandParser

from auditapp.sob.management.choices import find_dataset
from auditapp.sob.management.commands.sob_load import describe, write_notes
from auditapp.sob.texts.actions.derived import combine_datasets
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Combine several datasets into a new one. A text that is already in the same source is left out."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "names", nargs="+", metavar="NAME", help="a dataset; give at least two, in the order of the new one"
        )
        parser.add_argument("--name", required=True, help="name of the new dataset")
        parser.add_argument(
            "--project", default="", help="slug of the study (default: the one that has these datasets)"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, names: list[str], name: str, project: str, **options: object) -> None:
        datasets = [find_dataset(each, project) for each in names]
        combined = combine_datasets(datasets=datasets, name=name, by=trail.SYSTEM)
        answer = describe(combined, created=True)
        if options["json"]:
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(
            f"{combined.name}: {answer['texts']} texts of {len(datasets)} datasets, in {answer['project']}."
        )
        write_notes(answer, self.stdout.write)
