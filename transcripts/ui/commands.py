"""Commands that do what pages do, their common arguments, and the files that they read and write.

A file named ``-`` is standard input or output, as in a container without a folder to write to.
"""

from __future__ import annotations

import argparse
import atexit
import json
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar, cast

from django import forms
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Model, QuerySet

from transcripts.formats.problems import list_once
from transcripts.refusals import Refused
from transcripts.ui.forms import make_field

STANDARD = "-"
# Streams that were read to their end: a second argument would find nothing there.
_read: weakref.WeakSet[BinaryIO] = weakref.WeakSet()
# What a person gave for each temporary copy.
_copies: dict[Path, str] = {}
STANDARD_OUTPUT = {STANDARD, "/dev/stdout", "/dev/fd/1"}


def input_file(given: str) -> Path:
    """The type of a command's argument that names a file to read.

    ``-``, a pipe and a device such as /dev/stdin are copied to a temporary file first, because files are looked at more
    than once: for their format, their size and their hash. The copy is deleted when the process ends. Anything else comes
    back as it was given, also a file that is not there, so that the command can say so.
    """
    path = Path(given)
    if given != STANDARD and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    name = "standard input" if given == STANDARD else given
    folder = Path(tempfile.mkdtemp(prefix="auditapp-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / ("standard-input" if given == STANDARD else path.name)
    try:
        with copy.open("wb") as target:
            if given == STANDARD:
                _copy_standard_input(target)
            else:
                with path.open("rb") as source:
                    shutil.copyfileobj(source, target)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{name} cannot be read: {error.strerror}.") from error
    _copies[copy] = name
    return copy


def say_file(path: Path) -> str:
    """The name of a file, or of one in an archive, as the person gave it, even where a temporary copy is read."""
    for copy, name in _copies.items():
        if path.is_relative_to(copy):
            return str(Path(name) / path.relative_to(copy))
    return str(path)


def _copy_standard_input(target: BinaryIO) -> None:
    if sys.stdin.buffer in _read:
        raise argparse.ArgumentTypeError("Only one file can come by standard input. Name the others.")
    _read.add(sys.stdin.buffer)
    shutil.copyfileobj(sys.stdin.buffer, target)


class Writes(Protocol):
    """The part of a command that is used here: its two output streams."""

    stdout: Any
    stderr: Any


@contextmanager
def output_file(command: Writes, given: str) -> Iterator[Path]:
    """The file that a command writes: ``given`` itself or, for ``-``, a temporary one that goes to standard output at the end.

    With ``-``, the command's messages go to standard error, so that standard output holds only the file. Nothing is written
    there when the block ends with an exception.
    """
    if given not in STANDARD_OUTPUT:
        yield Path(given)
        return
    stream = command.stdout
    command.stdout = command.stderr
    try:
        with tempfile.TemporaryDirectory(prefix="auditapp-") as folder:
            path = Path(folder) / "standard-output"
            yield path
            binary = stream.buffer
            with path.open("rb") as written:
                shutil.copyfileobj(written, binary)
            binary.flush()
    finally:
        command.stdout = stream


MAX_NAMED = 20
Row = TypeVar("Row", bound=Model)


class Argument:
    """An argument of commands: its name, and the keywords of ``add_argument``. ``but`` gives a copy with some of them changed."""

    def __init__(self, name: str, **how: Any) -> None:
        self.name, self.how = name, how

    def but(self, **how: Any) -> Argument:
        return Argument(self.name, **self.how | how)

    def add(self, parser: Any) -> None:
        parser.add_argument(self.name, **self.how)


class OneOf:
    """Arguments of which at most one may be given, or exactly one where one is ``needed``."""

    def __init__(self, *arguments: Argument, needed: bool = True) -> None:
        self.arguments, self.needed = arguments, needed

    def add(self, parser: Any) -> None:
        group = parser.add_mutually_exclusive_group(required=self.needed)
        for each in self.arguments:
            each.add(group)


Taken = tuple[Argument | OneOf, ...]

AS_JSON = Argument("--json", action="store_true", help="print one JSON object")


def arguments_of(source: type[Model] | type[forms.BaseForm], names: str, **given: Any) -> list[Argument]:
    """``--base-url`` for the field ``base_url`` of a model or form, and so on for all ``names``, which are separated by blanks.

    They mean the same as the fields, have their choices, and are required where these are, unless something else is ``given``
    for all of them. The action checks their limits.
    """
    declared: Any = source
    found = []
    for name in names.split():
        if issubclass(source, Model):
            stored = declared._meta.get_field(name)
            field, said = cast("forms.Field", make_field(stored)), str(stored.help_text or stored.verbose_name)
        else:
            field = declared.base_fields[name]
            said = ". ".join(filter(None, [field.label, field.help_text]))
        how: dict[str, Any] = {"help": said.replace("%", "%%")}
        if isinstance(field, forms.BooleanField):
            how["action"] = "store_true"
        elif field.required and field.initial is None:
            how["required"] = True
        else:
            is_text = isinstance(field, forms.CharField | forms.ChoiceField)
            how["default"] = "" if field.initial is None and is_text else field.initial
        if isinstance(field, forms.ChoiceField):
            how["choices"] = [value for value, _ in cast("list[tuple[str, str]]", field.choices) if value]
        elif isinstance(field, forms.IntegerField) and not isinstance(field, forms.DecimalField | forms.FloatField):
            how["type"] = int
        found.append(Argument(f"--{name.replace('_', '-')}", **how | given))
    return found


def pick(source: object, names: str) -> dict[str, Any]:
    """The values that a row or mapping has under these ``names``, which are separated by blanks."""
    if isinstance(source, Mapping):
        return {name: source[name] for name in names.split()}
    return {name: getattr(source, name) for name in names.split()}


class ActCommand(BaseCommand):
    """A command whose actions may be refused: it then ends with the reason. With ``--json`` it prints one JSON object."""

    takes: ClassVar[Taken] = ()
    as_json = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        for each in self.takes:
            each.add(parser)

    def execute(self, *args: Any, **options: Any) -> str | None:
        self.as_json = options.get("json", False)
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
    """A command with a verb for each thing that can be done with its noun: ``manage.py model add``.

    Each verb is a command of its own, with its own options; ``verbs`` names their classes. All of them have ``--json``.
    """

    verbs: ClassVar[Mapping[str, type[ActCommand]]]

    def add_arguments(self, parser: CommandParser) -> None:
        # Otherwise the help begins with Django's own options, which nobody looks for.
        parser.usage = f"{parser.prog} [options] VERB ..."
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, prog=parser.prog)
        for name, verb in self.verbs.items():
            options = verbs.add_parser(name, help=verb.help, description=verb.help)
            verb().add_arguments(options)
            AS_JSON.add(options)

    def execute(self, *args: Any, verb: str, **options: Any) -> str | None:
        self.verb = self.verbs[verb]()
        self.requires_system_checks = self.verb.requires_system_checks
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        self.verb.stdout, self.verb.stderr, self.verb.as_json = self.stdout, self.stderr, options["json"]
        self.verb.handle(*args, **options)


@contextmanager
def reading(file: Path, *refusals: type[Exception]) -> Iterator[BinaryIO]:
    """The open file. If it cannot be read, or one of ``refusals`` is raised, the command ends with a sentence that names it."""
    try:
        with file.open("rb") as stream:
            yield stream
    except OSError as error:
        raise CommandError(f"{say_file(file)} cannot be read: {error.strerror}.") from error
    except refusals as error:
        sentence = " ".join(str(error).split())
        is_named = file.name in sentence or say_file(file) in sentence
        # As refusals that know their file: "interviews.csv, line 3: found …".
        joined = ", " if sentence.startswith("line ") else ": "
        raise CommandError(sentence if is_named else f"{say_file(file)}{joined}{sentence}") from error


def read_pairs(option: str, given: Iterable[str], wrong: str, *, last: bool = False) -> dict[str, str]:
    """``["a=b"]`` as ``{"a": "b"}``, each name once; ``last``: divided at the last sign.

    Raises ``Refused``, which says what is ``wrong`` with another one: "is not valid. Write NAME=FILE".
    """
    pairs: dict[str, str] = {}
    for pair in given:
        name, _, value = pair.rpartition("=") if last else pair.partition("=")
        if not name or not value or name in pairs:
            raise Refused(f"{option} {pair!r} {wrong}.")
        pairs[name] = value
    return pairs


def read_number(given: object, option: str, manner: str) -> Any:
    """A typed number as a ``Decimal``, or ``None``. Raises ``Refused``, which says in what ``manner`` to write a number."""
    if given is None:
        return None
    with suppress(InvalidOperation):
        if (number := Decimal(str(given))).is_finite():
            return number
    raise Refused(f"{option} {given!r} is not a number. Write {manner}.")


@contextmanager
def refusing(*refusals: type[Exception]) -> Iterator[None]:
    """End the command with the reason when one of these ``refusals`` is raised."""
    try:
        yield
    except refusals as error:
        raise Refused(str(error)) from error


@contextmanager
def writing(command: BaseCommand, given: str, *, overwrite: bool = True) -> Iterator[Path]:
    """The path of the file to write; "-" is standard output. If it cannot be written, or exists and may not be overwritten, the
    command ends with a sentence that names it."""
    try:
        with output_file(command, given) as path:
            if not overwrite and path.exists():
                raise Refused(f"{given} already exists. Name another file, or add --overwrite.")
            yield path
    except OSError as error:
        raise Refused(f"{given} cannot be written: {error.strerror}.") from error


def find_row(rows: QuerySet[Row], what: str, *, hint: str = "", **named: object) -> Row:
    """The row with that name or number. Raises ``CommandError`` if there is none, which lists the first of the ``rows``."""
    [(field, value)] = named.items()
    row = rows.filter(**named).first()
    if row is None:
        names = [str(name) for name in rows.values_list(field.removesuffix("__iexact"), flat=True)[: MAX_NAMED + 1]]
        known = ", ".join([*names[:MAX_NAMED], *(["…"] if len(names) > MAX_NAMED else [])]) or "none"
        raise CommandError(f"There is no {what} {value!r}. There are: {known}. {hint}".rstrip())
    return row


STUDY = Argument("--study", required=True, metavar="SLUG", help="the study")
MAYBE_STUDY = STUDY.but(required=False)
FILE = Argument("file", metavar="FILE", type=input_file)
MAYBE_FILE = FILE.but(nargs="?")
OUTPUT = Argument("--output", required=True, metavar="PATH", help="the file that is written")
OVERWRITE = Argument("--overwrite", action="store_true", help="overwrite an existing file")
DRY_RUN = Argument("--dry-run", action="store_true", help="check, and report what would be stored; store nothing")
REASON = Argument("--reason", required=True, help="why")
CODER = Argument("--coder", default="", metavar="NAME", help="whose codings are read")
SEED = Argument("--seed", type=int, default=1, metavar="N", help="seed of what is random (default: %(default)s)")
RESAMPLES = Argument(
    "--resamples", type=int, metavar="N", help="resamples for each interval, 0 for no intervals (default: %(default)s)"
)
