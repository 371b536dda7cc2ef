from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import pluralize

from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_files, plan_imports
from transcripts.corpus.planning import ImportReport
from transcripts.corpus.pure.choices import read_choices
from transcripts.corpus.pure.readers import FORMATS
from transcripts.corpus.pure.unseen import drop_unseen
from transcripts.formats.command_files import input_file, say_file
from transcripts.projects.management.finding import find_study
from transcripts.refusals import Refused
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    """Stores all the files given, or none of them."""

    help = "Import files of interviews into a study. If one file fails, nothing is imported."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=input_file, metavar="FILE")
        parser.add_argument("--project", required=True, metavar="SLUG", help="the study")
        parser.add_argument(
            "--format", default="auto", choices=["auto", *FORMATS], help="default: recognised from the file"
        )
        parser.add_argument(
            "--leave-out", action="append", default=[], metavar="ID", help="a conversation to leave out"
        )
        parser.add_argument(
            "--role",
            action="append",
            default=[],
            metavar="SPEAKER=ROLE",
            help="interviewer, model, system or tool; text for a name that does not speak",
        )
        parser.add_argument(
            "--speaker",
            action="append",
            default=[],
            metavar="NAME",
            help="a name that was read as text, although somebody is called so",
        )
        parser.add_argument(
            "--title", action="append", default=[], metavar="ID=TITLE", help="another title for a conversation"
        )
        parser.add_argument("--model", default="", help="the model, where a file names none")
        parser.add_argument(
            "--consent",
            action="append",
            default=[],
            metavar="SCOPE",
            help="external, quotation or reuse; needs --basis",
        )
        parser.add_argument("--basis", default="", help="what the consent rests on")
        parser.add_argument(
            "--mask",
            action="store_true",
            help="seal models, vendors, system prompts and all else that tells the condition; each thread gets a random label",
        )
        parser.add_argument("--dry-run", action="store_true", help="check, count and describe; store nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        project = find_study(options["project"])
        paths: list[Path] = options["files"]
        files = [(path.name, path) for path in paths]
        roles = dict(given.rpartition("=")[::2] for given in options["role"])
        titles = dict(given.partition("=")[::2] for given in options["title"])
        try:
            consent = dict.fromkeys(options["consent"], True)
            choices = read_choices(
                {**options, "speakers": options["speaker"], "roles": roles, "titles": titles, "consent": consent}
            )
            if options["dry_run"]:
                reports = plan_imports(project=project, files=files, choices=choices)
            else:
                reports = import_files(project=project, files=files, by=trail.SYSTEM, choices=choices)
        except (Refused, ValueError) as error:
            raise CommandError(" ".join(str(error).split())) from error
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}. Nothing was imported.") from error
        if options["json"]:
            self.stdout.write(json.dumps(list_imports(paths, reports, dry_run=options["dry_run"])))
            return
        for path, report in match_paths(paths, reports):
            self.stdout.write(format_import(path, report, dry_run=options["dry_run"]))


def match_paths(paths: Sequence[Path], reports: Sequence[ImportReport]) -> list[tuple[Path, ImportReport]]:
    """Each report after the path of its file: of one in an archive, the archive's with the name in it."""
    matched = []
    waiting = list(paths)
    for report in reports:
        name, slash, inner = report.name.partition("/")
        while drop_unseen(waiting[0].name) != name and len(waiting) > 1:
            waiting.pop(0)
        matched.append((waiting[0] / inner if slash else waiting.pop(0) if len(waiting) > 1 else waiting[0], report))
    return matched


def list_imports(paths: Sequence[Path], reports: Sequence[ImportReport], *, dry_run: bool) -> dict[str, object]:
    """The result as JSON. ``created`` and ``skipped`` count interviews; a dry run creates none."""
    return {
        "dry_run": dry_run,
        "files": [
            {
                "path": say_file(path),
                "format": report.format,
                "sha256": report.sha256,
                "interviews": report.interviews,
                "turns": report.turns,
                "sentences": report.sentences,
                "warnings": report.warnings,
                "created": report.created and not dry_run,
                "skipped": report.skipped,
                "interview_ids": report.interview_ids,
                "grown": report.grown,
                "grown_turns": report.grown_turns,
                **({"preview": report.preview} if dry_run else {}),
            }
            for path, report in match_paths(paths, reports)
        ],
        "created": 0 if dry_run else sum(report.interviews for report in reports if report.created),
        "skipped": sum(report.already_there for report in reports),
    }


def format_import(path: Path, report: ImportReport, *, dry_run: bool) -> str:
    """The result for one file; warnings are on their own lines."""
    if report.skipped:
        said = f"{say_file(path)}: nothing new."
    else:
        verb = "would import" if dry_run else "imported"
        counted = ", ".join(
            f"{number} {noun}{pluralize(number)}"
            for number, noun in (
                (report.interviews, "interview"),
                (report.turns, "turn"),
                (report.sentences, "sentence"),
            )
            if number is not None
        )
        said = f"{say_file(path)}: {verb} {counted} (read as {report.format})."
    return "\n".join([said, *(f"  {warning}" for warning in report.warnings)])
