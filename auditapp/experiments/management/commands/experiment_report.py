from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.experiments.pure.effects import report_experiment, tally_units
from auditapp.experiments.pure.listing import list_report
from auditapp.experiments.pure.plans import PlanRefused, read_plan
from auditapp.experiments.pure.units import UnitsRefused, read_units
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.formats.command_files import input_file
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Report an experiment: from a CSV of its units and its plan, without a database, or as a study holds it."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("units", nargs="?", type=input_file, help="CSV with unit, arm, group and outcomes")
        parser.add_argument("--plan", type=input_file, help="the plan, as JSON")
        parser.add_argument("--project", metavar="SLUG", help="in place of files: a study")
        parser.add_argument("--experiment", metavar="NAME", help="and one of its experiments")
        parser.add_argument("--coder", default="", metavar="NAME", help="whose codings give the moves of the sample")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        files = options["units"], options["plan"]
        stored = options["project"], options["experiment"]
        if all(files) and not any((*stored, options["coder"])):
            report = _report_files(*files)
        elif all(stored) and not any(files):
            report = _report_stored(*stored, coder=options["coder"])
        else:
            raise CommandError("Give UNITS and --plan, or --project and --experiment; --coder goes with these two.")
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False, allow_nan=False))
            return
        for line in list_report(report):
            self.stdout.write(line)


def _report_files(units: Path, plan_path: Path) -> dict[str, Any]:
    try:
        plan = read_plan(plan_path.read_bytes(), name=plan_path.name)
        with units.open(encoding="utf-8-sig", newline="") as lines:
            return report_experiment(tally_units(read_units(lines, plan)), plan)
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
    except UnitsRefused as error:
        raise CommandError(f"{units.name}: {error}") from error
    except PlanRefused as error:
        raise CommandError(f"{plan_path.name}: {error}") from error
    except ReadError as error:
        raise CommandError(" ".join(str(error).split())) from error


def _report_stored(slug: str, name: str, *, coder: str) -> dict[str, Any]:
    from auditapp.experiments.management.finding import find_experiment
    from auditapp.experiments.queries import read_report

    return read_report(find_experiment(slug, name), coder=coder)
