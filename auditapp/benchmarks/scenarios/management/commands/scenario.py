from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from auditapp.batches.command_options import MAYBE_BATCH, REPEATS, LaunchCommand
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.actions.scripts import launch_scenarios, load_scripts
from auditapp.benchmarks.scenarios.actions.storing import store_plays
from auditapp.benchmarks.scenarios.management.finding import read_conditions
from auditapp.benchmarks.scenarios.pure.measures import report_plays
from auditapp.benchmarks.scenarios.pure.outputs import list_report, read_plays
from auditapp.benchmarks.scenarios.pure.scripts import SHIPPED, SHIPPED_FILE, list_halves, read_scripts
from auditapp.benchmarks.scenarios.queries.runs import count_states, run_plays
from auditapp.llm.management.finding import MODELS, find_variant
from transcripts.audit_trail import trail
from transcripts.formats.command_files import input_file
from transcripts.formats.problems import ReadError
from transcripts.studies.management.finding import find_study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, reading


class Load(ActCommand):
    help = "Load scripts of scenarios, a JSON object on each line, into a study: all of them, or none."
    takes = (
        OneOf(
            commands.MAYBE_FILE,
            Argument("--shipped", action="store_true", help=f"the suite that comes with the program, {SHIPPED}"),
        ),
        commands.STUDY,
        Argument("--suite", default="", metavar="NAME", help="the suite of scripts that name none"),
        commands.REASON.but(
            required=False, default="", help="why, where the study has a script of this name with other words"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = SHIPPED_FILE if options["shipped"] else options["file"]
        project = find_study(options["project"])
        with reading(path, ReadError) as lines:
            scripts = read_scripts(lines, name=path.name, suite=options["suite"] or path.stem)
        loaded = load_scripts(project=project, scripts=scripts, by=trail.SYSTEM, reason=options["reason"])
        waiting = list_halves(scripts)
        self.answer(
            {"loaded": len(loaded.written), "unchanged": len(loaded.unchanged), "pairs_with_one_side": waiting},
            [
                f"{len(loaded.written)} scripts loaded, {len(loaded.unchanged)} unchanged.",
                *(f"The pair {pair} has one side here; it is made when the other is there too." for pair in waiting),
            ],
        )


class Launch(LaunchCommand):
    help = "Play every script of a suite with models under named conditions, and store what was said as masked threads."
    takes = (
        commands.STUDY,
        Argument("--suite", required=True, metavar="NAME"),
        MODELS,
        Argument(
            "--condition",
            action="append",
            default=[],
            metavar="NAME=FILE",
            help="a condition with the file of its system text; may be repeated. unprompted, without a text, is always there",
        ),
        Argument("--no-unprompted", action="store_true", help="leave out the condition without a system text"),
        REPEATS.but(help="how often each script is played under each condition (default: %(default)s)"),
    )

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        return launch_scenarios(
            project=find_study(options["project"]),
            suite=options["suite"],
            variants=[find_variant(label) for label in options["model"]],
            conditions=read_conditions(options["condition"]),
            has_unprompted=not options["no_unprompted"],
            by=trail.SYSTEM,
            options=replace(how, repeats=options["repeats"]),
        )

    def watch(self, batch: Batch, *, says_yes: bool) -> Batch:
        batch = super().watch(batch, says_yes=says_yes)
        store_plays(batch)
        return batch

    def conclude(self, batch: Batch) -> tuple[dict[str, Any], str]:
        told: dict[str, Any] = {
            "batch": batch.pk,
            "plays": run_plays(batch).count(),
            "cells": batch.cells.count(),
            "state": str(batch.state),
            **count_states(batch),
        }
        done = (
            f"Batch {batch.pk}, {batch.get_state_display().lower()}: {told['plays']:,} plays, {told['stored']:,} stored, "
            f"{told['open']:,} open, {told['failed']:,} failed."
        )
        return told, done


class Report(ActCommand):
    """Reads a file, without a database, or a batch, and prints."""

    help = "Report how plays of scenarios came out: what stays without a prompt, and how groups fare."
    requires_system_checks = []
    takes = (
        OneOf(
            Argument("--plays", type=input_file, metavar="FILE", help="outcomes of plays, as JSON lines"),
            MAYBE_BATCH.but(help="a batch that ran a suite"),
        ),
        commands.MAYBE_STUDY.but(default="", help="of a batch: the study that it is looked for in"),
        commands.CODER.but(
            help="of a batch: whose codings alone give the outcome of cases that name a code (default: everybody's, and what was "
            "adjudicated)"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["batch"] is None and (options["coder"] or options["project"]):
            raise CommandError("--coder and --project are for batches; a file says all by itself.")
        report = _report_file(options["plays"]) if options["batch"] is None else _report_batch(options)
        self.answer(report, list_report(report))


def _report_file(path: Path) -> dict[str, Any]:
    with reading(path, ReadError) as lines:
        return report_plays(read_plays(lines, name=path.name))


def _report_batch(options: dict[str, Any]) -> dict[str, Any]:
    # Only here, so that a file is reported without a database.
    from auditapp.benchmarks.scenarios.management.finding import find_run
    from auditapp.benchmarks.scenarios.queries.run_report import read_run_report

    return read_run_report(find_run(options["batch"], options["project"]), coder=options["coder"])


class Command(Noun):
    help = "Scenarios: load suites, play them, report the outcomes."
    verbs = {
        "load": Load,
        "launch": Launch,
        "report": Report,
    }
