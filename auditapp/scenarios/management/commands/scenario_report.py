from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.scenarios.pure.listing import list_report
from auditapp.scenarios.pure.measures import report_plays
from auditapp.scenarios.pure.plays_file import read_plays
from transcripts.corpus.pure.readers.base import ReadError


class Command(BaseCommand):
    help = "Report how plays of scenarios came out: what stays without a prompt, and how groups fare."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--plays", type=Path, metavar="FILE", required=True, help="outcomes of plays, as JSON lines"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["plays"]
        try:
            with path.open("rb") as lines:
                report = report_plays(read_plays(lines, name=path.name))
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except ReadError as error:
            raise CommandError(" ".join(str(error).split())) from error
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False, allow_nan=False))
            return
        for line in list_report(report):
            self.stdout.write(line)
