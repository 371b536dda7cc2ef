from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from auditapp.batches.command_options import (
    add_launch_options,
    describe_launched,
    read_launch_options,
    refuse_stopped,
    wait_for_launched,
)
from auditapp.batches.pages.progress import read_progress
from auditapp.batches.pages.summaries import summarise_batch
from auditapp.preannotation.annotators.actions.annotators import ensure_annotator
from auditapp.preannotation.evaluation.actions.checks import USUAL_REPEATS, USUAL_SAMPLE, launch_check
from auditapp.preannotation.evaluation.pure.check_verdicts import judge_check, list_figures
from auditapp.preannotation.evaluation.queries.checks import read_check_report
from auditapp.preannotation.launching.queries import summarise_launch
from auditapp.preannotation.models import Annotator
from transcripts.audit_trail import trail
from transcripts.projects.management.finding import find_study
from transcripts.projects.models import Project
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Ask an annotator about a few answers in several ways. Labels that change depend on something other than the sentence."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--annotator", required=True, metavar="NAME", help='the label of a model, or "NAME NUMBER" of an annotator'
        )
        parser.add_argument("--sample", type=int, default=USUAL_SAMPLE, metavar="N", help="about this many sentences")
        parser.add_argument(
            "--repeats", type=int, default=USUAL_REPEATS, metavar="K", help="how often the same question is asked"
        )
        parser.add_argument(
            "--family", action="append", help="code family to ask about (default: all coded by sentence)"
        )
        add_launch_options(parser)

    def handle(self, *args: object, project: str, annotator: str, **options: Any) -> None:
        how = read_launch_options(options)
        if how.uses_cache:
            raise CommandError(
                "A check does not use cached answers, because they would hide changes. Leave out --cache."
            )
        study = find_study(project)
        _refuse_offline(study, annotator)
        # Nothing is sent before the end of this block, so that the summary is printed first.
        with transaction.atomic():
            batch = launch_check(
                project=study,
                annotator=ensure_annotator(project=study, name=annotator, by=trail.SYSTEM),
                sample=options["sample"],
                repeats=options["repeats"],
                families=options["family"],
                by=trail.SYSTEM,
                options=how,
            )
            self.stderr.write(summarise_launch(batch))
        if options["wait"]:
            batch = wait_for_launched(batch, says_yes=options["yes"], report=self.stderr.write)
        report = read_check_report(batch)
        if not options["wait"] and not options["json"]:
            self.stdout.write(describe_launched(batch))
            return
        if options["json"]:
            summary = summarise_batch(batch, read_progress(batch), is_whole=True)
            self.stdout.write(json.dumps(summary | {"check": list_figures(report)}))
        else:
            self.stdout.write(f"Batch {batch.pk}: {report['answers']} answers, {batch.get_state_display().lower()}.")
            for verdict in judge_check(report) if report["answers"] else []:
                self.stdout.write("{title}: {words} ({said}; threshold: {line})".format(**verdict))
        if options["wait"]:
            refuse_stopped(batch)


def _refuse_offline(study: Project, name: str) -> None:
    offline = study.annotators.exclude(kind=Annotator.Kind.MODEL)
    if name in {Annotator.Kind.RULES, Annotator.Kind.LEARNT} or name in [str(each) for each in offline]:
        raise CommandError(
            f"{name} needs no check. Rules and learnt annotators label a sentence the same way every time, whatever the "
            "names and the order of the codes. Calibration shows their agreement with blind human labels."
        )
