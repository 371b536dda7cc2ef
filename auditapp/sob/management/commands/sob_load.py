from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.sob.actions import SobError, load_dataset
from auditapp.sob.projects import choose_project
from transcripts.audit_trail import trail
from transcripts.projects.actions import ProjectError


class Command(BaseCommand):
    help = "Load a file of biased texts: the prepared table of the paper, or any CSV or JSON lines by column mapping."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file")
        parser.add_argument("--name", required=True)
        parser.add_argument("--project", default="", help="slug of the study (default: the only one, or `benchmarks`)")
        parser.add_argument(
            "--column", action="append", default=[], metavar="OURS=THEIRS", help="such as text=comment or target=group"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, file: str, name: str, project: str, column: list[str], **options: object) -> None:
        try:
            data = Path(file).read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        try:
            loaded = load_dataset(
                project=choose_project(project),
                name=name,
                file_name=Path(file).name,
                data=data,
                columns=read_columns(column),
                by=trail.SYSTEM,
            )
        except (SobError, ProjectError) as error:
            raise CommandError(str(error)) from error
        dataset = loaded.dataset
        answer = {
            "dataset": dataset.name,
            "project": dataset.project.slug,
            "format": dataset.format,
            "sha256": dataset.sha256,
            "texts": dataset.texts.count(),
            "created": loaded.created,
            "warnings": dataset.warnings,
        }
        if options["json"]:
            self.stdout.write(json.dumps(answer))
            return
        word = "loaded" if loaded.created else "already loaded"
        self.stdout.write(f"{dataset.name}: {answer['texts']} texts {word} into {dataset.project.slug}.")
        for warning in dataset.warnings:
            self.stdout.write(f"  {warning}")


def read_columns(pairs: list[str]) -> dict[str, str] | None:
    """``["text=comment"]`` as ``{"text": "comment"}``. Raises ``CommandError``."""
    columns: dict[str, str] = {}
    for pair in pairs:
        ours, sign, theirs = pair.partition("=")
        if not sign or not ours or not theirs:
            raise CommandError(f"--column {pair!r} is no mapping. Write ours=theirs, such as text=comment.")
        columns[ours] = theirs
    return columns or None
