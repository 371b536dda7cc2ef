from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from auditapp.benchmarks.experiments.actions import load_enrolments, lock_plan
from auditapp.benchmarks.experiments.models import Experiment
from auditapp.benchmarks.experiments.pure.effects import list_report, report_experiment, tally_units
from auditapp.benchmarks.experiments.pure.plans import Plan, PlanRefused, read_plan, read_units
from auditapp.benchmarks.experiments.queries import read_report
from transcripts.audit_trail import trail
from transcripts.formats.problems import ReadError
from transcripts.studies.management import find_study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, find_row, input_file, reading, say_file


def find_experiment(slug: str, name: str) -> Experiment:
    """The experiment of that name in a study. Raises ``CommandError``."""
    return find_row(find_study(slug).experiments.order_by("name"), f"experiment in {slug} named", name__iexact=name)


UNITS = Argument("units", metavar="UNITS", type=input_file, help="CSV with unit, arm, group and outcomes")
EXPERIMENT = Argument("--experiment", required=True, metavar="NAME", help="the experiment")
PLAN = Argument("--plan", metavar="FILE", type=input_file, help="the plan, as JSON")


def read_file(path: Path) -> Plan:
    """The plan in a file. Raises ``CommandError``."""
    with reading(path, PlanRefused, ReadError) as stream:
        return read_plan(stream.read(), name=path.name)


class Lock(ActCommand):
    help = "Lock the plan of an experiment, before there are outcomes. It cannot be changed afterwards."
    takes = (
        Argument("plan", type=input_file, help="the plan, as JSON"),
        commands.STUDY,
        Argument("--name", default="", help="of the experiment (default: that in the plan)"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["plan"]
        study = find_study(options["study"])
        experiment = lock_plan(study=study, plan=read_file(path), name=options["name"], by=trail.SYSTEM)
        told = {"experiment": experiment.name, "sha256": experiment.sha256, "locked": experiment.locked_at.isoformat()}
        self.answer(told, f"The plan of {experiment.name} is locked. SHA-256: {experiment.sha256}")


class Load(ActCommand):
    help = "Load the units of an experiment whose plan is locked: all of a file, or none."
    takes = (UNITS, commands.STUDY, EXPERIMENT, PLAN.but(help="refuse unless this is the plan that was locked"))

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["units"]
        experiment = find_experiment(options["study"], options["experiment"])
        if options["plan"] and read_file(options["plan"]).sha256 != experiment.sha256:
            raise CommandError(f"This is not the plan of {experiment.name} that was locked. Nothing was loaded.")
        with reading(path, ReadError) as units:
            loaded = load_enrolments(experiment=experiment, data=units.read(), by=trail.SYSTEM)
        self.answer(
            {"experiment": experiment.name, **loaded._asdict()},
            f"{loaded.new} new, {loaded.completed} completed, {loaded.unchanged} unchanged.",
        )


class Report(ActCommand):
    help = "Report an experiment: from a CSV of its units and its plan, without a database, or from a study."
    requires_system_checks = []
    takes = (
        UNITS.but(nargs="?"),
        PLAN,
        commands.MAYBE_STUDY.but(help="in place of files: a study"),
        EXPERIMENT.but(required=False, help="and one of its experiments"),
        commands.CODER.but(help="whose codings give the moves of the sample"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        files = options["units"], options["plan"]
        stored = options["study"], options["experiment"]
        if all(files) and not any((*stored, options["coder"])):
            plan = read_file(options["plan"])
            with reading(options["units"], ReadError) as lines:
                units = read_units(lines, plan, name=say_file(options["units"]))
                report = report_experiment(tally_units(units), plan)
        elif all(stored) and not any(files):
            report = read_report(find_experiment(*stored), coder=options["coder"])
        else:
            raise CommandError("Give UNITS and --plan, or --study and --experiment; --coder goes with these two.")
        self.answer(report, list_report(report))


class Command(Noun):
    help = "Experiments: lock a plan, load units, report."
    verbs = {"lock": Lock, "load": Load, "report": Report}
