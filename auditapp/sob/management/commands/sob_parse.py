from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.sob.pure.metrics import ResponseFileError, parse_file
from transcripts.formats.command_files import input_file


class Command(BaseCommand):
    help = 'Read answers in a file of JSON lines {"id", "raw"}. Needs no database.'
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file)
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, file: Path, **options: object) -> None:
        try:
            with file.open("rb") as lines:
                answer = parse_file(lines)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except ResponseFileError as error:
            raise CommandError(f"{file.name}, {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(answer))
            return
        for response in answer["responses"]:
            self.stdout.write(f"{response['id']}\t{response['outcome']}\t{response['n_attributes']}")
