from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from auditapp.operations.actions import back_up, refuse_place, write_keys
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Write a backup of the database, the spool and uploads to a file while the site is used. Keys are not in it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--keys", type=Path, metavar="FILE", help="write the keys to this file, to be kept elsewhere"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, file: Path, keys: Path | None, **options: object) -> None:
        try:
            if keys:
                # Before the backup, which takes its time.
                refuse_place(keys.expanduser().absolute())
            manifest = back_up(file.expanduser().absolute())
            if keys:
                write_keys(keys.expanduser().absolute())
        except OSError as error:
            raise CommandError(
                f"The backup could not be written ({error}). Make room, or name another place."
            ) from None
        rows, size = sum(manifest["counts"].values()), file.expanduser().stat().st_size
        if options["json"]:
            self.stdout.write(json.dumps({"file": str(file), "bytes": size, **manifest}))
            return
        self.stdout.write(f"{file}: {rows:,} rows in {len(manifest['counts'])} tables, {size:,} bytes.")
        if keys:
            self.stdout.write(
                f"THE KEYS ARE IN {keys}. Keep that file apart from the backup: together they open stored keys."
            )
        else:
            self.stdout.write(
                "THE KEYS ARE NOT IN THE BACKUP. Without FIELD_KEY, the stored keys of providers cannot be opened. Write them to "
                "a file with --keys FILE, and keep it elsewhere."
            )
