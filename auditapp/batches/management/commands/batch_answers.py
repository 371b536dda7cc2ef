from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.models import Batch
from auditapp.batches.routes.answer_files import AnswerFileError, import_answer_file
from transcripts.audit_trail import trail
from transcripts.formats.command_files import input_file
from transcripts.ui.commands import find_row


class Command(BaseCommand):
    help = (
        "Import answers from a file: OpenAI's batch output, Anthropic's batch results, or lines with cell and answer."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", type=int, metavar="N")
        parser.add_argument("file", type=input_file, metavar="FILE")
        parser.add_argument("--dry-run", action="store_true", help="check every line and store nothing")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, number: int, file: Path, dry_run: bool, **options: object) -> None:
        batch = find_row(Batch.objects.order_by("-pk"), "batch", pk=number)
        try:
            with file.open("rb") as stream:
                imported = import_answer_file(batch=batch, file=stream, by=trail.SYSTEM, dry_run=dry_run)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except AnswerFileError as error:
            raise CommandError("\n".join([str(error), *error.problems])) from error
        if options["json"]:
            batch.refresh_from_db()
            names = ("lines", "answered", "failed", "skipped", "waiting", "sha256")
            counts = {name: getattr(imported, name) for name in names}
            self.stdout.write(json.dumps({"batch": batch.pk, **counts, "state": batch.state, "dry_run": dry_run}))
            return
        verb = "would be stored" if dry_run else "stored"
        self.stdout.write(
            f"{imported.answered} answers and {imported.failed} errors {verb}, {imported.skipped} lines skipped; "
            f"{imported.waiting} cells wait for an answer."
        )
