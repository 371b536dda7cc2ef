from __future__ import annotations

import json

from django.core.management.base import CommandError, CommandParser

from auditapp.sob.management.choices import find_batch
from auditapp.sob.report.actions import write_sob_bundle
from transcripts.audit_trail import trail
from transcripts.formats.command_files import output_file
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Write a bundle: one archive from which every figure of a batch can be derived without a database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, required=True, metavar="N")
        parser.add_argument("--output", required=True, metavar="FILE.zip")
        parser.add_argument("--without-texts", action="store_true", help="leave out the texts, but keep their hashes")
        parser.add_argument("--overwrite", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, batch: int, output: str, **options: object) -> None:
        found = find_batch(batch)
        with output_file(self, output) as path:
            if path.exists() and not options["overwrite"]:
                raise CommandError(f"{output} already exists. Choose another name, or add --overwrite.")
            facts = write_sob_bundle(batch=found, path=path, by=trail.SYSTEM, with_texts=not options["without_texts"])
            if options["json"]:
                self.stdout.write(json.dumps({**facts, "path": output}))
                return
            self.stdout.write(
                f"{output}: {facts['answers']:,} answers, {facts['attempts']:,} attempts, {facts['texts']:,} texts"
                f"{' as hashes' if options['without_texts'] else ''}. SHA-256 {facts['sha256']}"
            )
