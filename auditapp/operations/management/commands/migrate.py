"""``manage.py migrate``: Django's command, except that it leaves a database from before release 1.0 as it is."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from auditapp.operations.actions import MOVE_STUDIES, is_older_than_release
from transcripts.refusals import Refused
from transcripts.ui.commands import ActCommand


class Command(ActCommand, migrate.Command):
    """Update the database."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        applied = MigrationRecorder(connections[options["database"]]).applied_migrations()
        if is_older_than_release(app for app, _ in applied):
            raise Refused(
                f"This database was made before release 1.0, whose tables have other names. Nothing was changed. {MOVE_STUDIES}"
            )
        return super().handle(*args, **options)
