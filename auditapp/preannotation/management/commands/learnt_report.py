from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.preannotation.annotators.pure.learning import (
    MIN_INTERVIEWS,
    MIN_POSITIVES,
    LearningNotInstalled,
    name_reader,
)
from auditapp.preannotation.annotators.pure.learning_files import BadFile, read_texts, report_file
from transcripts.formats.command_files import input_file, say_file

USUAL_SEED = 1


class Command(BaseCommand):
    """Reads a file and prints; touches no database."""

    help = (
        "How well codes can be learnt from codings in a file: one half of its groups is learnt from, the other read. CSV "
        "with the columns unit, group, text and codes, or JSON lines."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=input_file, help="CSV or JSON lines in UTF-8; several codes between semicolons"
        )
        parser.add_argument(
            "--seed", type=int, default=USUAL_SEED, help="seed of the split into halves (default: %(default)s)"
        )
        parser.add_argument(
            "--minimum",
            type=int,
            default=MIN_POSITIVES,
            help="minimum number of texts with a code (default: %(default)s)",
        )
        parser.add_argument(
            "--groups", type=int, default=MIN_INTERVIEWS, help="in at least this many groups (default: %(default)s)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["minimum"] < 1 or options["groups"] < 1:
            raise CommandError("--minimum and --groups must be whole numbers of at least 1.")
        path: Path = options["file"]
        try:
            name_reader()
            found = report_file(
                read_texts(path), seed=options["seed"], minimum=options["minimum"], fewest_groups=options["groups"]
            )
        except LearningNotInstalled as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except BadFile as error:
            raise CommandError(f"{say_file(path)}: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(found, allow_nan=False))
            return
        taught, read = found["taught"], found["read"]
        self.stdout.write(
            f"Trained on {taught['units']} texts of {taught['groups']} groups; tested on {read['units']} texts of {read['groups']}."
        )
        for code, each in found["codes"].items():
            self.stdout.write(f"{code}: {_format_result(each)}")


def _format_result(found: dict[str, Any]) -> str:
    verdict = "" if found["learnt"] else f" A study would not use it. {found['reason']}"
    if found["threshold"] is None:
        return f"nothing to learn from.{verdict}"
    cells = ", ".join(f"{name} {found[name]}" for name in ("tp", "fp", "fn", "tn"))
    return f"{cells}; precision {_share(found, 'precision')}, recall {_share(found, 'recall')}.{verdict}"


def _share(found: dict[str, Any], name: str) -> str:
    if found[name] is None:
        return "undefined"
    low, high = found[f"{name}_ci"]
    return f"{found[name]:.2f} ({low:.2f} to {high:.2f})"
