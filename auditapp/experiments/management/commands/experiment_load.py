from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.experiments.actions import load_enrolments
from auditapp.experiments.management.finding import find_experiment
from auditapp.experiments.pure.plans import PlanRefused, read_plan
from transcripts.audit_trail import trail
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.formats.command_files import input_file
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Load the units of an experiment whose plan is locked: all of a file, or none."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("units", type=input_file, help="CSV with unit, arm, group and outcomes")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--experiment", required=True, metavar="NAME")
        parser.add_argument("--plan", type=input_file, help="refuse unless this is the plan that was locked")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["units"]
        experiment = find_experiment(options["project"], options["experiment"])
        try:
            if options["plan"]:
                plan = read_plan(options["plan"].read_bytes(), name=options["plan"].name)
                if plan.sha256 != experiment.sha256:
                    raise CommandError(
                        f"This is not the plan of {experiment.name} that was locked. Nothing was loaded."
                    )
            loaded = load_enrolments(experiment=experiment, data=path.read_bytes(), by=trail.SYSTEM)
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
        except PlanRefused as error:
            raise CommandError(str(error)) from error
        except ReadError as error:
            raise CommandError(" ".join(str(error).split())) from error
        if options["json"]:
            self.stdout.write(json.dumps({"experiment": experiment.name, **loaded._asdict()}))
            return
        self.stdout.write(f"{loaded.new} new, {loaded.completed} completed, {loaded.unchanged} unchanged.")
