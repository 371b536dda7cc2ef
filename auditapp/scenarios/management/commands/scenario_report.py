from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.scenarios.pure.listing import list_report
from auditapp.scenarios.pure.measures import report_plays
from auditapp.scenarios.pure.plays_file import read_plays
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.formats.command_files import input_file
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    """Reads a file, without a database, or a batch, and prints."""

    help = "Report how plays of scenarios came out: what stays without a prompt, and how groups fare."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--plays", type=input_file, metavar="FILE", help="outcomes of plays, as JSON lines")
        source.add_argument("--batch", type=int, metavar="N", help="a batch that ran a suite")
        parser.add_argument(
            "--project", default="", metavar="SLUG", help="of a batch: the study that it is looked for in"
        )
        parser.add_argument(
            "--coder",
            default="",
            metavar="NAME",
            help="of a batch: whose codings alone give the outcome of cases that name a code (default: everybody's, and what was "
            "adjudicated)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["batch"] is None and (options["coder"] or options["project"]):
            raise CommandError("--coder and --project are for batches; a file says all by itself.")
        report = _report_file(options["plays"]) if options["batch"] is None else _report_batch(options)
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False, allow_nan=False))
            return
        for line in list_report(report):
            self.stdout.write(line)


def _report_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as lines:
            return report_plays(read_plays(lines, name=path.name))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except ReadError as error:
        raise CommandError(" ".join(str(error).split())) from error


def _report_batch(options: dict[str, Any]) -> dict[str, Any]:
    # Only here, so that a file is reported without a database.
    from auditapp.scenarios.management.finding import find_run
    from auditapp.scenarios.queries.run_report import read_run_report

    return read_run_report(find_run(options["batch"], options["project"]), coder=options["coder"])
