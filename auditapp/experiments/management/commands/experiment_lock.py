from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.experiments.actions import lock_plan
from auditapp.experiments.pure.plans import PlanRefused, read_plan
from transcripts.audit_trail import trail
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.formats.command_files import input_file
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Lock the plan of an experiment, before its outcomes come in. It cannot be changed afterwards."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("plan", type=input_file, help="the plan, as JSON")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--name", default="", help="of the experiment (default: that in the plan)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["plan"]
        project = find_study(options["project"])
        try:
            plan = read_plan(path.read_bytes(), name=path.name)
            experiment = lock_plan(project=project, plan=plan, name=options["name"], by=trail.SYSTEM)
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except PlanRefused as error:
            raise CommandError(str(error)) from error
        except ReadError as error:
            raise CommandError(" ".join(str(error).split())) from error
        if options["json"]:
            told = {
                "experiment": experiment.name,
                "sha256": experiment.sha256,
                "locked": experiment.locked_at.isoformat(),
            }
            self.stdout.write(json.dumps(told))
            return
        self.stdout.write(f"The plan of {experiment.name} is locked. SHA-256: {experiment.sha256}")
