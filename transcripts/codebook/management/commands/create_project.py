from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from transcripts.audit_trail import trail
from transcripts.codebook.actions import CodebookRefused, start_study
from transcripts.codebook.models import Beginning
from transcripts.formats.command_files import input_file
from transcripts.formats.problems import list_once
from transcripts.projects.models import MethodStance
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    """A study with a codebook. It has no members until ``create_user --project`` adds some."""

    help = "Create a study with the built-in codebook, an empty one, or that of a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="its name in web addresses: lower-case letters, digits and hyphens")
        parser.add_argument("--name", required=True, help="the name that people see")
        parser.add_argument("--description", default="", help="a short description for its members")
        parser.add_argument("--codebook", metavar="FILE", help="a codebook as CSV, JSON or .qdc; or: empty")
        parser.add_argument("--method", choices=MethodStance.Stance.values, default=MethodStance.Stance.REFLEXIVE.value)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        beginning, file = read_codebook(options["codebook"])
        try:
            project = start_study(
                slug=options["slug"],
                name=options["name"],
                description=options["description"],
                codebook=beginning,
                file=file,
                stance=options["method"],
                by=trail.SYSTEM,
            )
        except CodebookRefused as error:
            raise CommandError("\n".join(list_once(str(error), error.problems))) from error
        version = project.codebook_versions.get()
        codes = version.codes.count()
        if options["json"]:
            answer = {
                "id": project.pk,
                "slug": project.slug,
                "name": project.name,
                "codebook": version.number,
                "codes": codes,
            }
            self.stdout.write(json.dumps(answer))
        else:
            self.stdout.write(f"Study {project.slug} is set up with codebook {version} ({codes} codes).")


def read_codebook(given: str | None) -> tuple[str, tuple[str, bytes] | None]:
    """With which codebook the study begins, and its file. Raises ``CommandError``."""
    if given is None or given == Beginning.EMPTY:
        return given or Beginning.BUILT_IN, None
    try:
        path = input_file(given)
        return Beginning.FILE, (path.name, path.read_bytes())
    except OSError as error:
        raise CommandError(f"{given} cannot be read: {error.strerror}. Name a file, or: empty.") from error
