from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.scenarios.actions.scripts import load_scripts
from auditapp.scenarios.pure.scripts import list_halves, read_scripts
from auditapp.scenarios.pure.shipped import SHIPPED, SHIPPED_FILE
from transcripts.audit_trail import trail
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.formats.command_files import input_file
from transcripts.projects.management.finding import find_study
from transcripts.refusals import Refused


class Command(BaseCommand):
    help = "Load scripts of scenarios, a JSON object on each line, into a study: all of them, or none."

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("file", type=input_file, nargs="?")
        source.add_argument("--shipped", action="store_true", help=f"the suite that comes with the program, {SHIPPED}")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--suite", default="", metavar="NAME", help="the suite of scripts that name none")
        parser.add_argument(
            "--reason", default="", help="why, where the study has a script of this name with other words"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = SHIPPED_FILE if options["shipped"] else options["file"]
        project = find_study(options["project"])
        try:
            with path.open("rb") as lines:
                scripts = read_scripts(lines, name=path.name, suite=options["suite"] or path.stem)
            loaded = load_scripts(project=project, scripts=scripts, by=trail.SYSTEM, reason=options["reason"])
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except (ReadError, Refused) as error:
            raise CommandError(" ".join(str(error).split())) from error
        waiting = list_halves(scripts)
        if options["json"]:
            told = {"loaded": len(loaded.written), "unchanged": len(loaded.unchanged), "pairs_with_one_side": waiting}
            self.stdout.write(json.dumps(told))
            return
        self.stdout.write(f"{len(loaded.written)} scripts loaded, {len(loaded.unchanged)} unchanged.")
        for pair in waiting:
            self.stdout.write(f"The pair {pair} has one side here; it is made when the other is there too.")
