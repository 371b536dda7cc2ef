from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError

from auditapp.operations.actions import back_up, refuse_place, write_keys
from transcripts.ui.commands import AS_JSON, ActCommand, Argument


class Command(ActCommand):
    help = (
        "Write a backup of the database, the spool and uploads to a file while the site is in use. The backup does not "
        "contain the keys."
    )
    requires_system_checks = ()
    takes = (
        Argument("file", type=Path),
        Argument("--keys", type=Path, metavar="FILE", help="write the keys to this file, to be kept elsewhere"),
        AS_JSON,
    )

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
        if keys:
            where = (
                f"THE KEYS ARE IN {keys}. Keep that file apart from the backup: together they allow stored keys to be "
                "decrypted."
            )
        else:
            where = (
                "THE KEYS ARE NOT IN THE BACKUP. Without FIELD_KEY, the stored keys of providers cannot be decrypted. Write "
                "them to a file with --keys FILE, and keep it elsewhere."
            )
        done = f"{file}: {rows:,} rows in {len(manifest['counts'])} tables, {size:,} bytes."
        self.answer({"file": str(file), "bytes": size, **manifest}, [done, where])
