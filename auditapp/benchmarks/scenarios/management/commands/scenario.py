from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from auditapp.batches.command_options import MAYBE_BATCH, REPEATS, LaunchCommand
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.actions.scripts import launch_scenarios, load_scripts
from auditapp.benchmarks.scenarios.actions.storing import store_sessions
from auditapp.benchmarks.scenarios.pure.measures import list_report, read_sessions, report_sessions
from auditapp.benchmarks.scenarios.pure.scripts import SHIPPED, SHIPPED_FILE, list_halves, read_scripts
from auditapp.benchmarks.scenarios.queries.runs import KIND, count_states, read_run_report, run_sessions
from auditapp.llm.management import MODELS, find_variant
from transcripts.audit_trail import trail
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
from transcripts.studies.management import find_study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, find_row, input_file, read_pairs, reading


def find_run(number: int, slug: str = "") -> Batch:
    """The batch of scenarios with this number, in the study ``slug`` if one is given. Raises ``CommandError``."""
    batches = Batch.objects.select_related("study").filter(kind=KIND).order_by("-pk")
    if slug:
        batches = batches.filter(study__slug=slug)
    return find_row(batches, f"batch of scenarios{f' in {slug}' if slug else ''} with the number", pk=number)


def read_conditions(given: list[str]) -> dict[str, str]:
    """Arguments such as ``["prompted=team.txt"]`` as names with the texts of the files. Raises ``CommandError``, ``Refused``."""
    found: dict[str, str] = {}
    for name, path in read_pairs(
        "--condition", given, "is not valid. Write NAME=FILE, each name once, such as prompted=team.txt"
    ).items():
        with reading(input_file(path)) as stream:
            try:
                found[name] = stream.read().decode("utf-8")
            except UnicodeDecodeError:
                raise Refused(f"{path} is not UTF-8 text.") from None
    return found


class Load(ActCommand):
    help = "Load scenario scripts, one JSON object per line, into a study: all of them, or none."
    takes = (
        OneOf(
            commands.MAYBE_FILE,
            Argument("--shipped", action="store_true", help=f"the suite that comes with the program, {SHIPPED}"),
        ),
        commands.STUDY,
        Argument("--suite", default="", metavar="NAME", help="the suite of scripts that name none"),
        commands.REASON.but(
            required=False, default="", help="the reason, if the study has a script of this name with another wording"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = SHIPPED_FILE if options["shipped"] else options["file"]
        study = find_study(options["study"])
        with reading(path, ReadError) as lines:
            scripts = read_scripts(lines, name=path.name, suite=options["suite"] or path.stem)
        loaded = load_scripts(study=study, scripts=scripts, by=trail.SYSTEM, reason=options["reason"])
        waiting = list_halves(scripts)
        self.answer(
            {"loaded": len(loaded.written), "unchanged": len(loaded.unchanged), "pairs_with_one_side": waiting},
            [
                f"{len(loaded.written)} scripts loaded, {len(loaded.unchanged)} unchanged.",
                *(
                    f"Only one side of the pair {pair} is loaded; the pair is made once the other side is loaded."
                    for pair in waiting
                ),
            ],
        )


class Launch(LaunchCommand):
    help = "Run every script of a suite with models under named conditions, and store the sessions as masked threads."
    takes = (
        commands.STUDY,
        Argument("--suite", required=True, metavar="NAME"),
        MODELS,
        Argument(
            "--condition",
            action="append",
            default=[],
            metavar="NAME=FILE",
            help="a condition and the file with its system text; may be repeated. unprompted, which has no text, is always "
            "included",
        ),
        Argument("--no-unprompted", action="store_true", help="leave out the condition without a system text"),
        REPEATS.but(help="how often each script is run under each condition (default: %(default)s)"),
    )

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        return launch_scenarios(
            study=find_study(options["study"]),
            suite=options["suite"],
            variants=[find_variant(label) for label in options["model"]],
            conditions=read_conditions(options["condition"]),
            has_unprompted=not options["no_unprompted"],
            by=trail.SYSTEM,
            options=replace(how, repeats=options["repeats"]),
        )

    def watch(self, batch: Batch, *, says_yes: bool) -> Batch:
        batch = super().watch(batch, says_yes=says_yes)
        store_sessions(batch)
        return batch

    def conclude(self, batch: Batch) -> tuple[dict[str, Any], str]:
        told: dict[str, Any] = {
            "batch": batch.pk,
            "sessions": run_sessions(batch).count(),
            "cells": batch.cells.count(),
            "state": str(batch.state),
            **count_states(batch),
        }
        done = (
            f"Batch {batch.pk}, {batch.get_state_display().lower()}: {told['sessions']:,} sessions, {told['stored']:,} stored, "
            f"{told['open']:,} open, {told['failed']:,} failed."
        )
        return told, done


class Report(ActCommand):
    """Reads a file, without a database, or a batch, and prints."""

    help = "Report the outcomes of scenario sessions: how much remains without a prompt, and how outcomes differ between groups."
    requires_system_checks = []
    takes = (
        OneOf(
            Argument("--sessions", type=input_file, metavar="FILE", help="outcomes of sessions, as JSON lines"),
            MAYBE_BATCH.but(help="a batch that ran a suite"),
        ),
        commands.MAYBE_STUDY.but(default="", help="for a batch: the study to look for it in"),
        commands.CODER.but(
            help="for a batch: the one coder whose codings give the outcome of cases that name a code (default: all coders and "
            "adjudications)"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["batch"] is None and (options["coder"] or options["study"]):
            raise CommandError("--coder and --study can be used only with a batch; a file contains everything needed.")
        report = _report_file(options["sessions"]) if options["batch"] is None else _report_batch(options)
        self.answer(report, list_report(report))


def _report_file(path: Path) -> dict[str, Any]:
    with reading(path, ReadError) as lines:
        return report_sessions(read_sessions(lines, name=path.name))


def _report_batch(options: dict[str, Any]) -> dict[str, Any]:
    return read_run_report(find_run(options["batch"], options["study"]), coder=options["coder"])


class Command(Noun):
    help = "Load suites of scenarios, run them, and report the outcomes."
    verbs = {"load": Load, "launch": Launch, "report": Report}
