from __future__ import annotations

import time
from argparse import BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.urls import reverse

from auditapp.annotators.actions.annotators import ensure_annotator
from auditapp.annotators.actions.launching import launch_model, launch_offline
from auditapp.annotators.launch_review import summarise_launch
from auditapp.annotators.models import Annotator, OfflineRun
from auditapp.annotators.offline import ACTIVE, run_offline
from auditapp.annotators.pure import checking
from auditapp.annotators.pure.learning import (
    MIN_INTERVIEWS,
    MIN_POSITIVES,
    NothingToLearn,
    name_reader,
    read_texts,
    report_file,
)
from auditapp.annotators.queries.annotators import find_control_sentences
from auditapp.annotators.queries.turn_answers import count_run, count_turn_answers, read_check_report
from auditapp.batches.command_options import REPEATS, USUAL_PILOT, LaunchCommand
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Batch
from auditapp.evaluation.actions import USUAL_REPEATS, USUAL_SAMPLE, launch_check
from auditapp.evaluation.pure import label_files
from auditapp.evaluation.pure.calibration import USUAL_RESAMPLES
from auditapp.evaluation.pure.label_files import Row, list_report, read_file
from transcripts.audit_trail import trail
from transcripts.corpus.management import INTERVIEW, find_interviews
from transcripts.formats.problems import ReadError
from transcripts.statistics.figures import write_estimate
from transcripts.studies.management import find_study
from transcripts.studies.models import Study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, pick, reading, refusing, say_file

OFFLINE = (Annotator.Kind.RULES.value, Annotator.Kind.LEARNT.value)
POLL_SECONDS = 0.3
# Options of calls to a provider, which annotators without a model do not make.
FOR_MODELS = ("limit", "family", "mode", "latent", "schema", "pilot", "cap", "yes")
ANNOTATOR = Argument(
    "--annotator", required=True, metavar="NAME", help='the label of a model, or "NAME NUMBER" of an annotator'
)
FAMILY = Argument("--family", action="append", help="a code family (default: all coded by sentence); may be repeated")


class Run(LaunchCommand):
    pilot = USUAL_PILOT
    help = "Annotate a study's interviews with a machine. Its suggestions are kept apart from people's codings."
    takes = (
        commands.STUDY,
        ANNOTATOR.but(help=f"{ANNOTATOR.how['help']}; rules or learnt, which need no model"),
        INTERVIEW,
        Argument("--limit", type=int, help="annotate only the first turns of each side, up to this number"),
        FAMILY,
        Argument("--mode", choices=Annotator.Mode.values, help="one call per turn and family, or per turn and code"),
        Argument("--minimum", type=int, help=f"minimum number of blind examples for a code (default: {MIN_POSITIVES})"),
        Argument("--latent", metavar="REASON", help="annotate latent meaning too; give the reason"),
        Argument(
            "--schema",
            action=BooleanOptionalAction,
            help="require answers to follow a JSON schema (default: if a probe found that the model's server honours one)",
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["annotator"] in OFFLINE:
            self._read_offline(options["annotator"], options)
        else:
            super().handle(*args, **options)

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        if options["minimum"] is not None:
            raise CommandError("--minimum is only for --annotator learnt; a model does not learn from codings.")
        if options["latent"] is not None and not options["latent"].strip():
            raise CommandError("--latent needs the reason why the model should annotate latent meaning too.")
        # Nothing is sent before the end of this block, so that the summary is printed first.
        with transaction.atomic():
            batch = launch_model(
                name=options["annotator"],
                **find_chosen(options),
                mode=options["mode"],
                reads_latent=True if options["latent"] else None,
                answer_schema=options["schema"],
                reason=options["latent"] or "",
                families=options["family"],
                limit=options["limit"],
                by=trail.SYSTEM,
                options=how,
            )
            self.stderr.write(summarise_launch(batch))
        return batch

    def conclude(self, batch: Batch) -> tuple[dict[str, Any], list[str]]:
        summary, done = super().conclude(batch)
        summary |= _describe(batch) | count_turn_answers(batch)
        return summary, [str(done), *list_counts(summary)]

    def _read_offline(self, kind: str, options: dict[str, Any]) -> None:
        needless = [f"--{name}" for name in FOR_MODELS if options[name] not in (None, False)]
        if needless:
            raise CommandError(f"{', '.join(needless)} can be used only with a model, not with the annotator {kind}.")
        if kind == Annotator.Kind.RULES and options["minimum"] is not None:
            raise CommandError("--minimum is only for --annotator learnt; rules are not trained.")
        minimum = MIN_POSITIVES if options["minimum"] is None else options["minimum"]
        run = launch_offline(kind=kind, **find_chosen(options), minimum=minimum, by=trail.SYSTEM)
        if not options["wait"] and not options["json"]:
            address = reverse("annotators:run", args=[options["study"], run.pk])
            self.stdout.write(
                f"Run {run.pk} by {run.annotator} was launched for a worker to run. Watch it at {settings.BASE_URL}{address}. With "
                "--wait, the command runs it itself if no worker is running, and prints the counts."
            )
            return
        while options["wait"] and run.state in ACTIVE:
            # Returns at once if a worker is running it.
            run_offline(run.pk)
            run.refresh_from_db()
            if run.state in ACTIVE:
                time.sleep(POLL_SECONDS)
        summary, done = count_run(run), f"Run {run.pk} by {run.annotator}: {run.get_state_display().lower()}."
        self.answer(summary, [done, *list_counts(summary)])
        if options["wait"] and run.state != OfflineRun.State.DONE:
            raise CommandError(run.problem or f"Run {run.pk} is {run.get_state_display().lower()}.")


def list_counts(summary: dict[str, Any]) -> list[str]:
    """The result of a launch, in words."""
    counted = {
        "answer": summary["turn_answers"],
        "suggestion": summary["suggestions"],
        "rejected item": summary["rejected_items"],
        "missing sentence": summary["missing_sentences"],
    }
    parts = [f"{count:,} {thing}{'' if count == 1 else 's'}" for thing, count in counted.items()]
    rejected = (f"  rejected: {reason}: {count:,}" for reason, count in summary["rejected_by_reason"].items())
    return [f"{', '.join(parts)}.", *rejected]


def find_chosen(options: dict[str, Any]) -> dict[str, Any]:
    """The study, and its interviews where some are named. Raises ``CommandError``, ``Refused``."""
    study = find_study(options["study"])
    return {
        "study": study,
        "interviews": find_interviews(study, options["interview"]) if options["interview"] else None,
    }


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
        "control_sentences": find_control_sentences(batch.study).count(),
    }


class Check(LaunchCommand):
    help = (
        "Ask an annotator about a few answers in several ways. If its labels change, they depend on something other than the "
        "sentence."
    )
    takes = (
        commands.STUDY,
        ANNOTATOR,
        Argument("--sample", type=int, default=USUAL_SAMPLE, metavar="N", help="approximate number of sentences"),
        REPEATS.but(default=USUAL_REPEATS),
        FAMILY,
    )

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        if how.uses_cache:
            raise CommandError(
                "A check does not use cached answers, because they would hide changes. Leave out --cache."
            )
        study, annotator = find_study(options["study"]), options["annotator"]
        _refuse_offline(study, annotator)
        # Nothing is sent before the end of this block, so that the summary is printed first.
        with transaction.atomic():
            batch = launch_check(
                study=study,
                annotator=ensure_annotator(study=study, name=annotator, by=trail.SYSTEM),
                sample=options["sample"],
                repeats=options["repeats"],
                families=options["family"],
                by=trail.SYSTEM,
                options=how,
            )
            self.stderr.write(summarise_launch(batch))
        return batch

    def conclude(self, batch: Batch) -> tuple[dict[str, Any], list[str]]:
        summary, _ = super().conclude(batch)
        report = read_check_report(batch)
        done = f"Batch {batch.pk}: {report['answers']} answers, {batch.get_state_display().lower()}."
        verdicts = checking.judge_check(report) if report["answers"] else []
        words = ("{title}: {words} ({said}; threshold: {line})".format(**verdict) for verdict in verdicts)
        return summary | {"check": checking.list_figures(report)}, [done, *words]


def _refuse_offline(study: Study, name: str) -> None:
    offline = study.annotators.exclude(kind=Annotator.Kind.MODEL)
    if name in {Annotator.Kind.RULES, Annotator.Kind.LEARNT} or name in [str(each) for each in offline]:
        raise CommandError(
            f"{name} needs no check. Rules and learnt annotators label a sentence in the same way every time, whatever the names "
            "and the order of the codes. Calibration shows their agreement with blind human labels."
        )


class Calibrate(ActCommand):
    """Reads a file and prints the result; does not use the database."""

    help = (
        "Accuracy of a machine's labels and their agreement with people's, from a CSV file with the columns unit, code, "
        "human, machine, blind, sampled and, optionally, turn."
    )
    requires_system_checks = []
    takes = (
        commands.FILE.but(help="CSV in UTF-8; values are 1 or 0; human is empty if there is no label"),
        commands.SEED,
        commands.RESAMPLES.but(default=USUAL_RESAMPLES),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        rows, has_turns = _read(options["file"])
        with refusing(ValueError):
            reports = label_files.report_file(rows, has_turns=has_turns, **pick(options, "seed resamples"))
        codes = {code: label_files.list_figures(report) for code, report in reports.items()}
        self.answer({"codes": codes}, list_report(reports))


def _read(path: Path) -> tuple[dict[str, list[Row]], bool]:
    with reading(path, ReadError) as lines:
        return read_file(lines, name=say_file(path))


class Learn(ActCommand):
    """Reads a file and prints the result; does not use the database."""

    help = (
        "Measure how well codes can be learnt from codings in a file: half of its groups are for training, the other half for "
        "testing. CSV with the columns unit, group, text and codes, or JSON lines."
    )
    requires_system_checks = []
    takes = (
        commands.FILE.but(help="CSV or JSON lines in UTF-8; several codes are separated by semicolons"),
        commands.SEED,
        Argument(
            "--minimum",
            type=int,
            default=MIN_POSITIVES,
            help="minimum number of texts with a code (default: %(default)s)",
        ),
        Argument(
            "--groups", type=int, default=MIN_INTERVIEWS, help="in at least this many groups (default: %(default)s)"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["minimum"] < 1 or options["groups"] < 1:
            raise CommandError("--minimum and --groups must be whole numbers of at least 1.")
        path: Path = options["file"]
        name_reader()
        with reading(path, ReadError, NothingToLearn):
            found = report_file(
                read_texts(path), seed=options["seed"], minimum=options["minimum"], fewest_groups=options["groups"]
            )
        taught, read = found["taught"], found["read"]
        begin = f"Trained on {taught['units']} texts of {taught['groups']} groups; "
        begin += f"tested on {read['units']} texts of {read['groups']}."
        self.answer(found, [begin, *(f"{code}: {_format_result(each)}" for code, each in found["codes"].items())])


def _format_result(found: dict[str, Any]) -> str:
    verdict = "" if found["learnt"] else f" A study would not use it. {found['reason']}"
    if found["threshold"] is None:
        return f"nothing to learn from.{verdict}"
    cells = ", ".join(f"{name} {found[name]}" for name in ("tp", "fp", "fn", "tn"))
    return f"{cells}; precision {_share(found, 'precision')}, recall {_share(found, 'recall')}.{verdict}"


def _share(found: dict[str, Any], name: str) -> str:
    return "not defined" if found[name] is None else write_estimate(found[name], found[f"{name}_ci"], 2)


class Command(Noun):
    help = "Annotate interviews with a model, rules or a classifier, and measure how well it does."
    verbs = {
        "run": Run,
        "check": Check,
        "calibrate": Calibrate,
        "learn": Learn,
    }
