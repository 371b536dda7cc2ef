from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.preannotation.evaluation.pure.calibrating import USUAL_RESAMPLES
from auditapp.preannotation.evaluation.pure.label_files import Row, list_figures, list_report, read_file, report_file
from transcripts.agreement.pure.label_files import LabelFileError
from transcripts.formats.command_files import input_file, say_file

USUAL_SEED = 1


class Command(BaseCommand):
    """Reads a file and prints; touches no database."""

    help = (
        "Accuracy of a machine's labels and their agreement with people's, from a CSV file with the columns unit, code, "
        "human, machine, blind, sampled and, optionally, turn."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=input_file, help="CSV in UTF-8; values are 1 or 0, human is empty where not labelled"
        )
        parser.add_argument("--seed", type=int, default=USUAL_SEED, help="seed of the resamples (default: %(default)s)")
        parser.add_argument(
            "--resamples",
            type=int,
            default=USUAL_RESAMPLES,
            help="number of resamples of turns for the intervals, 0 for none (default: %(default)s)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        rows, has_turns = _read(options["file"])
        try:
            reports = report_file(rows, has_turns=has_turns, seed=options["seed"], resamples=options["resamples"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            codes = {code: list_figures(report) for code, report in reports.items()}
            self.stdout.write(json.dumps({"codes": codes}, allow_nan=False))
            return
        for line in list_report(reports):
            self.stdout.write(line)


def _read(path: Path) -> tuple[dict[str, list[Row]], bool]:
    try:
        with path.open("rb") as lines:
            return read_file(lines)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except LabelFileError as error:
        raise CommandError(f"{say_file(path)}, {error}" if error.line else f"{say_file(path)}: {error}") from error
