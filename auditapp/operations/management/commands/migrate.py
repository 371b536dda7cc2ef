"""``manage.py migrate``: Django's own, after a database from before the joined migrations was brought to them."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from auditapp.operations.year_zero import bring_to_year_zero
from transcripts.ui.commands import ActCommand


class Command(ActCommand, migrate.Command):
    """Update the database."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        bring_to_year_zero(options["database"])
        return super().handle(*args, **options)
