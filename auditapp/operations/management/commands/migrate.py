"""``manage.py migrate``: Django's own, after a database from before the joined migrations was brought to them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from auditapp.operations.year_zero import bring_to_year_zero, needs_year_zero
from transcripts.ui.commands import ActCommand


class Command(ActCommand, migrate.Command):
    """Update the database."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        if (options["check_unapplied"] or options["plan"]) and needs_year_zero(options["database"]):
            raise CommandError(
                "The list of migrations is from before those of each room were joined. Run manage.py migrate."
            )
        if bring_to_year_zero(options["database"]) and options["verbosity"]:
            self.stdout.write("The list of migrations was written again: those of each room are one now.")
        return super().handle(*args, **options)
