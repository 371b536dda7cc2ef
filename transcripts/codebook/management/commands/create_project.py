from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.projects.actions import ProjectError


class Command(BaseCommand):
    """A study with the seeded codebook. It has no members until ``create_user --project`` adds some."""

    help = "Create a study with the built-in codebook, published as version 1."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="its name in web addresses: lower-case letters, digits and hyphens")
        parser.add_argument("--name", required=True, help="the name that people see")
        parser.add_argument("--description", default="", help="a short description for its members")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = start_study(
                slug=options["slug"], name=options["name"], description=options["description"], by=trail.SYSTEM
            )
        except ProjectError as error:
            raise CommandError(str(error)) from error
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
