from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.models import Batch
from auditapp.batches.routes.answer_files import FORMS, AnswerFileError, export_requests
from auditapp.llm.management.finding import find_variant
from transcripts.audit_trail import trail
from transcripts.formats.command_files import output_file
from transcripts.ui.commands import find_row


class Command(BaseCommand):
    help = "Write the requests of a batch whose answers come from a file, one line of JSON each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", type=int, metavar="N")
        parser.add_argument("--output", required=True, metavar="PATH")
        parser.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
        parser.add_argument("--model", default="", metavar="LABEL", help="only the requests to this model")
        parser.add_argument(
            "--form", choices=FORMS, default=FORMS[0], help="the provider whose batch service the file is for"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, number: int, output: str, model: str, form: str, **options: object) -> None:
        batch = find_row(Batch.objects.order_by("-pk"), "batch", pk=number)
        variant = find_variant(model) if model else None
        with output_file(self, output) as path:
            if path.exists() and not options["overwrite"]:
                raise CommandError(f"{output} already exists. Name another file, or add --overwrite.")
            try:
                cells, lines = export_requests(batch=batch, by=trail.SYSTEM, variant=variant, form=form)
                write_whole(path, lines)
            except AnswerFileError as error:
                raise CommandError(str(error)) from error
            except OSError as error:
                raise CommandError(f"{output} cannot be written: {error.strerror}.") from error
            answer = {"batch": batch.pk, "requests": cells, "path": output}
            self.stdout.write(json.dumps(answer) if options["json"] else f"{cells} requests in {output}")


def write_whole(path: Path, lines: Iterable[bytes]) -> None:
    """Write the file completely or not at all, readable by its owner only: it contains the texts."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(lines)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
