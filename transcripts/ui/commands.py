"""What commands share: acts that may be refused, and rows that an argument names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
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


class Noun(ActCommand):
    """A command that has a word for each thing that can be done with its noun: ``manage.py model add``.

    Each verb is a command of its own, with its own options; ``verbs`` names their classes.
    """

    verbs: ClassVar[Mapping[str, type[BaseCommand]]]

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        for name, verb in self.verbs.items():
            verb().add_arguments(verbs.add_parser(name, help=verb.help, description=verb.help))

    def execute(self, *args: Any, verb: str, **options: Any) -> str | None:
        self.verb = self.verbs[verb]()
        self.requires_system_checks = self.verb.requires_system_checks
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        self.verb.stdout, self.verb.stderr = self.stdout, self.stderr
        self.verb.handle(*args, **options)


def find_row(rows: QuerySet[Row], what: str, *, hint: str = "", **named: object) -> Row:
    """The one of the ``rows`` with that name or number. Raises ``CommandError``, which lists the first of those that there are."""
    [(field, value)] = named.items()
    row = rows.filter(**named).first()
    if row is None:
        names = [str(name) for name in rows.values_list(field.removesuffix("__iexact"), flat=True)[: MAX_NAMED + 1]]
        known = ", ".join([*names[:MAX_NAMED], *(["…"] if len(names) > MAX_NAMED else [])]) or "none"
        raise CommandError(f"There is no {what} {value!r}. There are: {known}. {hint}".rstrip())
    return row
