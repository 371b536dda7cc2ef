from __future__ import annotations

from pathlib import Path

from django.core.management import call_command
from django.core.management.base import CommandError

from auditapp.llm.queries import find_broken_seals
from auditapp.operations.actions import restore
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument


class Command(ActCommand):
    help = "Restore a backup into an empty data folder and an empty database. Batches are paused."
    requires_system_checks = ()
    takes = (
        commands.FILE,
        Argument("--verify", action="store_true", help="check the audit trail and the batches afterwards"),
    )

    def handle(self, *args: object, file: Path, verify: bool, **options: object) -> None:
        try:
            manifest = restore(file.expanduser().absolute())
        except OSError as error:
            raise CommandError(
                f"The backup could not be restored ({error}). Make room, or name another place."
            ) from None
        rows = sum(manifest["counts"].values())
        self.stdout.write(
            f"Restored the backup of {manifest['made_at']}. Checked: the hash of every file, {rows:,} rows in "
            f"{len(manifest['counts'])} tables, {len(manifest['migrations'])} migrations and the heads of "
            f"{len(manifest['audit_heads'])} audit streams."
        )
        self.stdout.write(
            f"Batches paused: {manifest['batches_paused']}. Answers that arrived after the backup are not in it; if you resume a "
            "batch, you pay for them again."
        )
        if broken := find_broken_seals():
            self.stdout.write(
                f"FIELD_KEY does not decrypt the stored keys of: {', '.join(broken)}. Put the former FIELD_KEY back, or set "
                "these keys again."
            )
        if verify:
            call_command("audit", "verify", "--rows", stdout=self.stdout)
            call_command("batch", "verify", stdout=self.stdout)
