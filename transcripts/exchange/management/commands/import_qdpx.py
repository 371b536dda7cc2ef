from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.audit_trail import trail
from transcripts.exchange.actions import StudyRefused, import_qdpx
from transcripts.exchange.refi.report import StudyReport
from transcripts.formats.command_files import input_file
from transcripts.formats.problems import list_once
from transcripts.projects.management.finding import find_study


class Command(BaseCommand):
    help = "Import a REFI-QDA project from another program into a study. If any part fails, nothing is imported."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=input_file)
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--dry-run", action="store_true", help="show what would be imported; store nothing")
        parser.add_argument(
            "--apart",
            action="append",
            default=[],
            metavar="NAME",
            help="a person in the file who has a member's name but is somebody else",
        )
        parser.add_argument(
            "--same-names",
            action="store_true",
            help="codes of the file that have other GUIDs are the study's codes with the same names",
        )
        parser.add_argument("--json", action="store_true")

    def handle(
        self, *args: object, file: Path, project: str, apart: list[str], dry_run: bool, **options: object
    ) -> None:
        study = find_study(project)
        try:
            with file.open("rb") as stream:
                report = import_qdpx(
                    project=study,
                    stream=stream,
                    name=file.name,
                    by=trail.SYSTEM,
                    apart=apart,
                    same_names=bool(options["same_names"]),
                    dry_run=dry_run,
                )
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except StudyRefused as error:
            raise CommandError("\n".join(list_once(str(error), error.problems))) from error
        words = _in_words(report, dry_run=dry_run, same_names=bool(options["same_names"]))
        self.stdout.write(json.dumps(_as_answer(report, dry_run)) if options["json"] else words)


def _as_answer(report: StudyReport, dry_run: bool) -> dict[str, object]:
    people = [
        {"name": person.name, "member": person.member.username if person.member else None} for person in report.people
    ]
    return {
        "sha256": report.sha256,
        "dry_run": dry_run,
        "new": dict(report.new),
        "known": dict(report.known),
        "people": people,
        "notes": report.notes,
        "left_out": report.left_out,
        "namesakes": report.namesakes,
        "codebook_version": report.codebook_version,
    }


def _in_words(report: StudyReport, *, dry_run: bool, same_names: bool) -> str:
    kinds = ", ".join(f"{new:,} new and {known:,} known {kind}" for kind, new, known in report.kinds) or "nothing"
    begin = "Nothing was stored. The import would add" if dry_run else "Imported"
    ask = []
    if report.namesakes and not same_names:
        ask = ["With --same-names, the codes of this study are used for those that have their names."]
    return "\n".join(
        [f"{begin}: {kinds}.", *report.notes, *ask, *(f"Not imported: {each}" for each in report.left_out)]
    )
