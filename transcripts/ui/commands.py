"""What commands share: acts that may be refused, and rows that an argument names."""

from __future__ import annotations

from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Model, QuerySet

from transcripts.refusals import Refused

MAX_NAMED = 20
Row = TypeVar("Row", bound=Model)


class ActCommand(BaseCommand):
    """A command whose acts may be refused: it then ends with the sentence."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Refused as error:
            raise CommandError(str(error)) from error


def find_row(rows: QuerySet[Row], what: str, *, hint: str = "", **named: object) -> Row:
    """The one of the ``rows`` with that name or number. Raises ``CommandError``, which lists the first of those that there are."""
    [(field, value)] = named.items()
    row = rows.filter(**named).first()
    if row is None:
        names = [str(name) for name in rows.values_list(field.removesuffix("__iexact"), flat=True)[: MAX_NAMED + 1]]
        known = ", ".join([*names[:MAX_NAMED], *(["…"] if len(names) > MAX_NAMED else [])]) or "none"
        raise CommandError(f"There is no {what} {value!r}. There are: {known}. {hint}".rstrip())
    return row
