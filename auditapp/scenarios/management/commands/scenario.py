from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.batches.command_options import (
    add_launch_options,
    describe_launched,
    read_launch_options,
    refuse_stopped,
    wait_for_launched,
    warn_of_limits,
)
from auditapp.batches.models import Batch
from auditapp.llm.management.finding import find_variant
from auditapp.scenarios.actions.runs import launch_scenarios
from auditapp.scenarios.actions.scripts import load_scripts
from auditapp.scenarios.actions.storing import store_plays
from auditapp.scenarios.management.finding import read_conditions
from auditapp.scenarios.pure.listing import list_report
from auditapp.scenarios.pure.measures import report_plays
from auditapp.scenarios.pure.plays_file import read_plays
from auditapp.scenarios.pure.scripts import list_halves, read_scripts
from auditapp.scenarios.pure.shipped import SHIPPED, SHIPPED_FILE
from auditapp.scenarios.queries.runs import count_states, run_plays
from transcripts.audit_trail import trail
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.formats.command_files import input_file
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand, Noun, reading


class Load(ActCommand):
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


class Launch(ActCommand):
    help = "Play every script of a suite with models under named conditions, and store what was said as masked threads."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--suite", required=True, metavar="NAME")
        parser.add_argument("--model", action="append", required=True, metavar="LABEL", help="may be repeated")
        parser.add_argument(
            "--condition",
            action="append",
            default=[],
            metavar="NAME=FILE",
            help="a condition with the file of its system text; may be repeated. unprompted, without a text, is always there",
        )
        parser.add_argument(
            "--no-unprompted", action="store_true", help="leave out the condition without a system text"
        )
        parser.add_argument("--repeats", type=int, default=1, metavar="K", help="how often each script is played")
        add_launch_options(parser)

    def handle(self, *args: object, **options: Any) -> None:
        how = replace(read_launch_options(options), repeats=options["repeats"])
        batch = launch_scenarios(
            project=find_study(options["project"]),
            suite=options["suite"],
            variants=[find_variant(label) for label in options["model"]],
            conditions=read_conditions(options["condition"]),
            has_unprompted=not options["no_unprompted"],
            by=trail.SYSTEM,
            options=how,
        )
        warn_of_limits(batch, self.stderr.write)
        if options["wait"]:
            batch = wait_for_launched(batch, says_yes=options["yes"], report=self.stderr.write)
            store_plays(batch)
        self._report(batch, options)

    def _report(self, batch: Batch, options: dict[str, Any]) -> None:
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
        self.answer(told, done if options["wait"] else describe_launched(batch))
        if options["wait"]:
            refuse_stopped(batch)


class Report(ActCommand):
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
    from auditapp.scenarios.management.finding import find_run
    from auditapp.scenarios.queries.run_report import read_run_report

    return read_run_report(find_run(options["batch"], options["project"]), coder=options["coder"])


class Command(Noun):
    help = "Scenarios: load suites, play them, report the outcomes."
    verbs = {
        "load": Load,
        "launch": Launch,
        "report": Report,
    }
