from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandParser

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
from auditapp.scenarios.actions.storing import store_plays
from auditapp.scenarios.management.finding import read_conditions
from auditapp.scenarios.queries.runs import count_states, run_plays
from transcripts.audit_trail import trail
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
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
        if options["json"]:
            self.stdout.write(json.dumps(told))
        elif options["wait"]:
            self.stdout.write(
                f"Batch {batch.pk}, {batch.get_state_display().lower()}: {told['plays']:,} plays, {told['stored']:,} stored, "
                f"{told['open']:,} open, {told['failed']:,} failed."
            )
        else:
            self.stdout.write(describe_launched(batch))
        if options["wait"]:
            refuse_stopped(batch)
