"""What commands share: a noun with its verbs, acts that may be refused, files, JSON, and rows that an argument names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Model, QuerySet

from transcripts.formats.command_files import say_file
from transcripts.formats.problems import list_once
from transcripts.refusals import Refused

MAX_NAMED = 20
Row = TypeVar("Row", bound=Model)


class ActCommand(BaseCommand):
    """A command whose acts may be refused: it then ends with the sentence. With ``--json`` it prints one JSON object."""

    as_json = False

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Refused as error:
            raise CommandError("\n".join(list_once(str(error), map(str, getattr(error, "problems", ()))))) from error

    def answer(self, found: object, words: str | Iterable[str]) -> None:
        """Print what was found or done: as JSON if that was asked for, otherwise in words."""
        if self.as_json:
            self.stdout.write(json.dumps(found, ensure_ascii=False, allow_nan=False))
        else:
            # In one write: a reader of only the beginning closes the pipe before more could be written.
            self.stdout.write(words if isinstance(words, str) else "\n".join(words))


class Noun(ActCommand):
    """A command that has a word for each thing that can be done with its noun: ``manage.py model add``.

    Each verb is a command of its own, with its own options; ``verbs`` names their classes. All of them have ``--json``.
    """

    verbs: ClassVar[Mapping[str, type[ActCommand]]]

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        for name, verb in self.verbs.items():
            options = verbs.add_parser(name, help=verb.help, description=verb.help)
            verb().add_arguments(options)
            options.add_argument("--json", action="store_true", help="print one JSON object")

    def execute(self, *args: Any, verb: str, **options: Any) -> str | None:
        self.verb = self.verbs[verb]()
        self.requires_system_checks = self.verb.requires_system_checks
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        self.verb.stdout, self.verb.stderr, self.verb.as_json = self.stdout, self.stderr, options["json"]
        self.verb.handle(*args, **options)


@contextmanager
def reading(file: Path, *refusals: type[Exception]) -> Iterator[BinaryIO]:
    """The file, open. If it cannot be read, or one of ``refusals`` is raised, the command ends with a sentence that names it."""
    try:
        with file.open("rb") as stream:
            yield stream
    except OSError as error:
        raise CommandError(f"{say_file(file)} cannot be read: {error.strerror}.") from error
    except refusals as error:
        sentence = " ".join(str(error).split())
        joint = ", " if sentence.startswith("line ") else ": "
        raise CommandError(sentence if file.name in sentence else f"{say_file(file)}{joint}{sentence}") from error


def find_row(rows: QuerySet[Row], what: str, *, hint: str = "", **named: object) -> Row:
    """The one of the ``rows`` with that name or number. Raises ``CommandError``, which lists the first of those that there are."""
    [(field, value)] = named.items()
    row = rows.filter(**named).first()
    if row is None:
        names = [str(name) for name in rows.values_list(field.removesuffix("__iexact"), flat=True)[: MAX_NAMED + 1]]
        known = ", ".join([*names[:MAX_NAMED], *(["…"] if len(names) > MAX_NAMED else [])]) or "none"
        raise CommandError(f"There is no {what} {value!r}. There are: {known}. {hint}".rstrip())
    return row
