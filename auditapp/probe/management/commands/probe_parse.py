from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.probe.pure.parsing import parse_answer
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.corpus.pure.readers.json_lines import read_lines
from transcripts.formats.command_files import input_file


class Command(BaseCommand):
    """Needs no database."""

    help = 'Read answers to the prompt of the gender-cue probe by rule: JSON lines, each with "id" and "raw".'
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file)
        parser.add_argument(
            "--may-abstain", action="store_true", help="the prompt allowed the answer Unclear, which is an abstention"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: object, file: Path, **options: Any) -> None:
        answers = []
        try:
            with file.open("rb") as lines:
                for number, row in read_lines(lines, file.name):
                    raw = row.get("raw")
                    if "id" not in row:
                        raise ReadError(file.name, number, "no “id”", "“id” and “raw” in each object")
                    if not (raw is None or isinstance(raw, str)):
                        raise ReadError(file.name, number, "a “raw” that is no text", "the answer as it came, or null")
                    parsed = parse_answer(raw, may_abstain=options["may_abstain"])
                    answers.append(
                        {
                            "id": row["id"],
                            "status": parsed.status,
                            "predicted": parsed.predicted,
                            "codes": list(parsed.codes),
                            "subset": parsed.subset,
                        }
                    )
            if not answers:
                raise ReadError(file.name, None, "no answer", "JSON lines, each with “id” and “raw”")
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except ReadError as error:
            raise CommandError(" ".join(str(error).split())) from error
        if options["json"]:
            self.stdout.write(json.dumps({"answers": answers}, ensure_ascii=False))
            return
        for answer in answers:
            codes = ", ".join(answer["codes"]) or "none"
            self.stdout.write(
                f"{answer['id']}: {answer['status']}, {answer['predicted'] or 'no prediction'}, codes: {codes}"
            )
