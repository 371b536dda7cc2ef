from __future__ import annotations

import json

from django.core.management.base import CommandError, CommandParser

from transcripts.audit_trail import trail
from transcripts.corpus.consent import HOW_TO_RECORD
from transcripts.corpus.listing import is_fact
from transcripts.corpus.models import RUN_FACTS, Kind
from transcripts.exchange.actions import say_long_cells, write_export
from transcripts.exchange.registry import (
    Scope,
    count_without_consent,
    find_export,
    list_exports,
    say_without_consent,
)
from transcripts.formats.command_files import output_file
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Write one export of a study to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", metavar="WHAT", help=" | ".join(export.key for export in list_exports()))
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--format", default="", help="csv, json, jsonl, or another format of this export (default: the first)"
        )
        parser.add_argument("--output", required=True, metavar="PATH")
        parser.add_argument("--exact", action="store_true", help="CSV without the apostrophes that escape formulas")
        parser.add_argument("--with-left-out", action="store_true", help="archived and excluded interviews, too")
        parser.add_argument("--kind", default="", choices=["", *Kind.values], help="only interviews of this kind")
        parser.add_argument(
            "--run", default="", metavar="KEY=VALUE", help=f"only of such a run; keys: {', '.join(RUN_FACTS)}"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, what: str, project: str, output: str, **options: object) -> None:
        export = find_export(what)
        if export is None:
            known = ", ".join(export.key for export in list_exports())
            raise CommandError(f"There is no export {what!r}. Choose one of: {known}.")
        study = find_study(project)
        run = str(options["run"])
        if run and not is_fact(run):
            raise CommandError(f"--run takes {', '.join(RUN_FACTS)}, as in task=files; found {run!r}.")
        scope = Scope(study, None, with_left_out=bool(options["with_left_out"]), kind=str(options["kind"]), run=run)
        with output_file(self, output) as path:
            written = write_export(
                export=export,
                scope=scope,
                format=str(options["format"]) or export.formats[0],
                path=path,
                by=trail.SYSTEM,
                exact=bool(options["exact"]),
            )
            if without := count_without_consent(export, scope):
                self.stderr.write(f"{say_without_consent(export, without)} {HOW_TO_RECORD}")
            if note := say_long_cells(written.long_cells):
                self.stderr.write(note)
            answer = {"path": output, **written._asdict()}
            self.stdout.write(json.dumps(answer) if options["json"] else f"{written.rows} rows in {output}")
