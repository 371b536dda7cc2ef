from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.probe.pure.listing import list_report
from auditapp.probe.pure.report import make_report
from auditapp.probe.pure.tables import AXES
from auditapp.probe.pure.trials import read_themes, read_trials
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.formats.command_files import input_file
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    """Reads a file, without a database, or a batch, and prints."""

    help = "Print Table 1 and Table 2 of a gender-cue probe, with their tests."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("file", type=input_file, nargs="?", help="trials as JSON lines")
        source.add_argument("--batch", type=int, metavar="N", help="a batch of the kind probe")
        parser.add_argument(
            "--themes", type=input_file, metavar="FILE", help="of a file: themes of the rationales as JSON lines"
        )
        parser.add_argument(
            "--axis", choices=AXES, default=AXES[0], help="of Table 2: the name-inferred category, or the prediction"
        )
        parser.add_argument("--coder", default="", metavar="NAME", help="of a batch: whose codings make Table 2")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: object, **options: Any) -> None:
        if options["batch"] is not None and options["themes"]:
            raise CommandError("--themes is for files; the themes of a batch are the codings of its rationales.")
        if options["batch"] is None and options["coder"]:
            raise CommandError("--coder is for batches; the themes of a file name nobody.")
        report = _report_file(options) if options["batch"] is None else _report_batch(options)
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False, allow_nan=False))
            return
        for line in list_report(report):
            self.stdout.write(line)


def _report_file(options: dict[str, Any]) -> dict[str, Any]:
    try:
        with options["file"].open("rb") as lines:
            trials, inside = read_trials(lines, name=options["file"].name)
        themes = inside or None
        if options["themes"]:
            with options["themes"].open("rb") as lines:
                themes = read_themes(lines, trials, name=options["themes"].name)
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
    except ReadError as error:
        raise CommandError(" ".join(str(error).split())) from error
    return make_report(trials, themes, axis=options["axis"])


def _report_batch(options: dict[str, Any]) -> dict[str, Any]:
    from auditapp.probe.management.choices import find_batch
    from auditapp.probe.queries.purposes import require_figures
    from auditapp.probe.queries.trials import read_report

    batch = find_batch(options["batch"])
    require_figures(batch.project)
    report, _ = read_report(batch, user=None, axis=options["axis"], coder=options["coder"])
    return report
