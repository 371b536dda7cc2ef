"""``manage.py migrate``: Django's own, after a database from before the joined migrations was brought to them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from auditapp.operations.errors import OperationError
from auditapp.operations.year_zero import bring_to_year_zero


class Command(migrate.Command):
    """Update the database."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        try:
            bring_to_year_zero(options["database"])
        except OperationError as error:
            raise CommandError(str(error)) from error
        return super().handle(*args, **options)
