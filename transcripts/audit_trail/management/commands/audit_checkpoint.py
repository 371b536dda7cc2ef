from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.audit_trail.checkpoints import add_checkpoint
from transcripts.audit_trail.pure.checkpoints import BadKey, read_private_key


class Command(BaseCommand):
    help = (
        "Write a signed statement of how far every stream of the audit trail has come, into a folder that the owner of the "
        "database cannot change (another machine's, or storage that only takes new files). verify_audit compares the trail "
        "with it. Run it every day with a key that web server and workers do not have."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="where checkpoints are kept")
        parser.add_argument(
            "--key",
            type=Path,
            required=True,
            metavar="FILE",
            help="a private key, as `openssl genpkey -algorithm ed25519 -out FILE` writes it",
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, folder: Path, key: Path, **options: object) -> None:
        try:
            private = read_private_key(key.read_bytes())
        except OSError as error:
            raise CommandError(f"The key {key} cannot be read ({error.strerror}).") from error
        except BadKey as error:
            raise CommandError(f"The key {key} cannot be used: {error}.") from error
        try:
            path = add_checkpoint(folder, private)
        except OSError as error:
            raise CommandError(f"No checkpoint was written to {folder} ({error.strerror}).") from error
        answer = {"checkpoint": str(path)}
        self.stdout.write(json.dumps(answer) if options["json"] else f"Checkpoint {path.name} was written to {folder}.")
