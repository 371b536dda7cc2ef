from __future__ import annotations

import json
import time
from argparse import BooleanOptionalAction
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.urls import reverse

from auditapp.batches.command_options import (
    add_launch_options,
    describe_launched,
    read_launch_options,
    refuse_stopped,
    wait_for_launched,
    warn_of_limits,
)
from auditapp.batches.models import Batch
from auditapp.batches.pages.progress import read_progress
from auditapp.batches.pages.summaries import summarise_batch
from auditapp.preannotation.annotators.actions.launching import launch_model
from auditapp.preannotation.annotators.actions.offline import launch_offline
from auditapp.preannotation.annotators.pure.learning import MIN_POSITIVES
from auditapp.preannotation.annotators.queries.offline import ACTIVE
from auditapp.preannotation.annotators.queries.planted import find_planted
from auditapp.preannotation.annotators.queries.readings import count_readings, count_run
from auditapp.preannotation.annotators.runner.offline import run_offline
from auditapp.preannotation.launching.queries import summarise_launch
from auditapp.preannotation.models import Annotator, OfflineRun
from transcripts.audit_trail import trail
from transcripts.corpus.models import Interview
from transcripts.projects.management.finding import find_study
from transcripts.projects.models import Project
from transcripts.ui.commands import ActCommand

OFFLINE = (Annotator.Kind.RULES.value, Annotator.Kind.LEARNT.value)
POLL_SECONDS = 0.3
# Options of calls to a provider, which annotators without a model do not make.
FOR_MODELS = ("limit", "family", "mode", "latent", "schema", "pilot", "cap", "yes")


class Command(ActCommand):
    help = "Annotate a study's interviews with a machine. Its suggestions are kept apart from people's codings."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--annotator",
            required=True,
            metavar="NAME",
            help='the label of a model, or "NAME NUMBER" of an annotator; rules or learnt, which need no model',
        )
        parser.add_argument(
            "--interview", action="append", metavar="ID", help="an interview to annotate, by its id (default: all)"
        )
        parser.add_argument("--limit", type=int, help="annotate only this many turns of each side, from the beginning")
        parser.add_argument(
            "--family",
            action="append",
            help="code family to annotate, coded by sentence or by turn (default: all coded by sentence)",
        )
        parser.add_argument(
            "--mode", choices=Annotator.Mode.values, help="one call per turn and family, or per turn and code"
        )
        parser.add_argument(
            "--minimum", type=int, help=f"minimum number of blind examples for a code (default: {MIN_POSITIVES})"
        )
        parser.add_argument("--latent", metavar="REASON", help="annotate latent meaning too; give the reason")
        parser.add_argument(
            "--schema",
            action=BooleanOptionalAction,
            help="hold answers to a JSON schema (default: where a probe found that the model's server honours one)",
        )
        add_launch_options(parser, has_pilot=True)

    def handle(self, *args: object, project: str, annotator: str, **options: Any) -> None:
        study = find_study(project)
        interviews = _find_interviews(study, options["interview"])
        if annotator in OFFLINE:
            self._read_offline(study, annotator, interviews, options)
        else:
            self._ask_model(study, annotator, interviews, options)

    def _ask_model(self, study: Project, name: str, interviews: list[Interview] | None, options: Any) -> None:
        how = read_launch_options(options)
        if options["minimum"] is not None:
            raise CommandError("--minimum is only for --annotator learnt; a model does not learn from codings.")
        if options["latent"] is not None and not options["latent"].strip():
            raise CommandError("--latent needs the reason why the model should annotate latent meaning too.")
        # Nothing is sent before the end of this block, so that the summary is printed first.
        with transaction.atomic():
            batch = launch_model(
                project=study,
                name=name,
                mode=options["mode"],
                reads_latent=True if options["latent"] else None,
                answer_schema=options["schema"],
                reason=options["latent"] or "",
                interviews=interviews,
                families=options["family"],
                limit=options["limit"],
                by=trail.SYSTEM,
                options=how,
            )
            self.stderr.write(summarise_launch(batch))
            warn_of_limits(batch, self.stderr.write)
        if options["wait"]:
            batch = wait_for_launched(batch, says_yes=options["yes"], report=self.stderr.write)
        summary = summarise_batch(batch, read_progress(batch), is_whole=True) | _describe(batch) | count_readings(batch)
        if not options["wait"] and not options["json"]:
            self.stdout.write(describe_launched(batch))
            return
        self._print_summary(
            summary, options, f"Batch {batch.pk}: {summary['cells']} cells, {batch.get_state_display().lower()}."
        )
        if options["wait"]:
            refuse_stopped(batch)

    def _read_offline(self, study: Project, kind: str, interviews: list[Interview] | None, options: Any) -> None:
        needless = [f"--{name}" for name in FOR_MODELS if options[name] not in (None, False)]
        if needless:
            raise CommandError(f"{', '.join(needless)} can be used only with a model, not with the annotator {kind}.")
        if kind == Annotator.Kind.RULES and options["minimum"] is not None:
            raise CommandError("--minimum is only for --annotator learnt; rules are not trained.")
        minimum = MIN_POSITIVES if options["minimum"] is None else options["minimum"]
        run = launch_offline(project=study, kind=kind, interviews=interviews, minimum=minimum, by=trail.SYSTEM)
        if not options["wait"] and not options["json"]:
            address = reverse("preannotation:run", args=[study.slug, run.pk])
            self.stdout.write(
                f"Run {run.pk} by {run.annotator} was launched, and a worker does it. Watch it at {settings.BASE_URL}{address}. "
                "With --wait, the command does it itself if no worker runs, and prints its counts."
            )
            return
        while options["wait"] and run.state in ACTIVE:
            # Returns at once if a worker is running it.
            run_offline(run.pk)
            run.refresh_from_db()
            if run.state in ACTIVE:
                time.sleep(POLL_SECONDS)
        self._print_summary(
            count_run(run), options, f"Run {run.pk} by {run.annotator}: {run.get_state_display().lower()}."
        )
        if options["wait"] and run.state != OfflineRun.State.DONE:
            raise CommandError(run.problem or f"Run {run.pk} is {run.get_state_display().lower()}.")

    def _print_summary(self, summary: dict[str, Any], options: Any, line: str) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(summary))
            return
        self.stdout.write(line)
        counted = {
            "answer": summary["readings"],
            "suggestion": summary["suggestions"],
            "rejected item": summary["rejected_items"],
            "missing sentence": summary["missing_sentences"],
        }
        parts = [f"{count:,} {thing}{'' if count == 1 else 's'}" for thing, count in counted.items()]
        self.stdout.write(f"{', '.join(parts)}.")
        for reason, count in summary["rejected_by_reason"].items():
            self.stdout.write(f"  rejected: {reason}: {count:,}")


def _find_interviews(study: Project, ids: list[str] | None) -> list[Interview] | None:
    if ids is None:
        return None
    found = list(study.interviews.filter(external_id__in=ids))
    unknown = sorted(set(ids) - {interview.external_id for interview in found})
    if unknown:
        raise CommandError(f"The study has no interview {', '.join(unknown)}.")
    return found


def _describe(batch: Batch) -> dict[str, object]:
    annotator = Annotator.objects.get(pk=batch.parameters["annotators"][0])
    return {
        "annotator": str(annotator),
        "annotator_number": annotator.number,
        "annotator_hash": annotator.hash,
        "codebook": batch.parameters["codebook"],
        "turns": batch.parameters["turns"],
        "interviews_left_out": batch.parameters["left_out"],
        "turns_asked_again": batch.parameters["asked_again"],
        "planted_sentences": find_planted(batch.project).count(),
    }
