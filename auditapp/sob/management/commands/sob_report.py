from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.models import Arm, Batch
from auditapp.sob.kind import KIND
from auditapp.sob.metrics import Cell, ResponseFileError, read_responses, report, score_cells
from auditapp.sob.queries import score_batch
from auditapp.sob.tables import write_csv, write_pivot


class Command(BaseCommand):
    help = "Scores per model, task and target, of a batch or of a file of answers."

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--batch", type=int, metavar="N")
        source.add_argument("--responses", metavar="FILE")
        parser.add_argument("--format", choices=["json", "csv", "text"], default="text")
        parser.add_argument("--json", action="store_true", help="the same as --format json")
        parser.add_argument("--output", metavar="PATH", help="write there instead of printing")

    def handle(self, *args: object, batch: int | None, responses: str | None, **options: object) -> None:
        cells = score_file(responses) if responses else score_stored(batch)
        form = "json" if options["json"] else str(options["format"])
        if batch and has_fake_answers(batch):
            self.stderr.write("Fake provider: some or all answers of this batch are invented by this program.")
        text = {
            "json": lambda: json.dumps(report(cells)),
            "csv": lambda: write_csv(cells),
            "text": lambda: write_pivot(cells),
        }[form]()
        if options["output"]:
            Path(str(options["output"])).write_text(text, encoding="utf-8", newline="")
        else:
            self.stdout.write(text)


def has_fake_answers(number: int) -> bool:
    """Whether a model of the batch invents its answers."""
    return Arm.objects.filter(batch=number, variant__account__provider="fake").exists()


def score_file(path: str) -> list[Cell]:
    """Scores of a file of answers. Raises ``CommandError``."""
    try:
        with Path(path).open("rb") as lines:
            return score_cells(read_responses(lines))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except (ResponseFileError, ValueError) as error:
        raise CommandError(f"{Path(path).name}, {error}") from error


def score_stored(number: int | None) -> list[Cell]:
    """Scores of a batch. Raises ``CommandError``."""
    batch = Batch.objects.filter(pk=number or 0, kind=KIND).first()
    if batch is None:
        raise CommandError(f"There is no sob batch {number}.")
    return score_batch(batch)
