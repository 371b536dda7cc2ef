from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

from django.core.management.base import CommandError, CommandParser

from auditapp.sob.management.choices import choose_project
from auditapp.sob.models import Dataset, TargetTable
from auditapp.sob.pure.loading.drawing import BY_FIELDS, DEFAULT_SEED, METHODS, Draw
from auditapp.sob.pure.loading.opening import MAX_FILE_BYTES
from auditapp.sob.pure.loading.published_sources import Provenance
from auditapp.sob.tables.actions import find_target_table
from auditapp.sob.texts.actions.datasets import load_dataset
from transcripts.audit_trail import trail
from transcripts.formats.command_files import input_file
from transcripts.projects.models import Project
from transcripts.ui.commands import ActCommand
from transcripts.ui.typed_text import find_number


class Command(ActCommand):
    help = (
        "Load a file of biased texts: the prepared table of the paper, one of its five sources as published, "
        "or any CSV, JSON lines or parquet by column mapping."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file)
        parser.add_argument("--name", required=True)
        parser.add_argument("--project", default="", help="slug of the study (default: the only one, or `benchmarks`)")
        parser.add_argument(
            "--column", action="append", default=[], metavar="OURS=THEIRS", help="such as text=comment or target=group"
        )
        parser.add_argument(
            "--targets",
            default="",
            metavar="file|published|table:N",
            help="where the targets come from (default: see docs/reference/sob.md)",
        )
        parser.add_argument(
            "--all-rows", action="store_true", help="load a published source without the benchmark's filter and draw"
        )
        parser.add_argument("--sample", type=int, metavar="SIZE", help="draw this many texts")
        parser.add_argument("--by", choices=tuple(BY_FIELDS), default="target", help="stratum of the sample")
        parser.add_argument("--method", choices=tuple(METHODS), default="proportional")
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
        parser.add_argument(
            "--drop-duplicates",
            action="store_true",
            help="keep only one copy of texts that occur more than once in a source",
        )
        for field in ("source", "licence", "split", "filter"):
            parser.add_argument(f"--{field}", default="", help="stored with the dataset")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, file: Path, name: str, project: str, column: list[str], **options: object) -> None:
        data = read_file(file)
        study = choose_project(project)
        targets, target_table = read_targets(str(options["targets"]), study)
        texts, created = load_dataset(
            project=study,
            name=name,
            file_name=file.name,
            data=data,
            columns=read_columns(column),
            targets=targets,
            target_table=target_table,
            all_rows=bool(options["all_rows"]),
            drops_repeated=bool(options["drop_duplicates"]),
            draw=read_draw(options),
            provenance=Provenance(*(str(options[field]) for field in ("source", "licence", "split", "filter"))),
            by=trail.SYSTEM,
        )
        answer = describe(texts, created=created)
        if options["json"]:
            self.stdout.write(json.dumps(answer))
            return
        word = "loaded" if created else "already loaded"
        self.stdout.write(f"{answer['dataset']}: {answer['texts']} texts {word} into {answer['project']}.")
        write_notes(answer, self.stdout.write)


def read_file(path: Path) -> bytes:
    """The file's bytes, unless it is larger than any file we take. Raises ``CommandError``."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error


def read_targets(words: str, project: Project) -> tuple[str, TargetTable | None]:
    """The kind of targets for ``load_dataset``, and the table that ``table:2`` names. Raises ``CommandError``, ``Refused``."""
    kind, sign, number = words.partition(":")
    if words in {"", "file", "published"}:
        return words, None
    asked = find_number(number) if sign else None
    if kind != "table" or (sign and asked is None):
        raise CommandError(f"--targets {words!r} is not valid. Write file, published, or table:N with a number.")
    table = find_target_table(project, asked)
    if table is None:
        raise CommandError(f"{project.slug} has no table of targets yet.")
    return "table", table


def read_draw(options: dict[str, object]) -> Draw | None:
    """The sample as asked for; none without ``--sample``."""
    size = options["sample"]
    if size is None:
        return None
    return Draw(cast("int", size), str(options["method"]), str(options["by"]), cast("int", options["seed"]))


def describe(dataset: Dataset, *, created: bool) -> dict[str, object]:
    """What the command prints as JSON."""
    texts = dataset.texts.count()
    sampling = dataset.sampling
    return {
        "dataset": dataset.name,
        "project": dataset.project.slug,
        "format": dataset.format,
        "sha256": dataset.sha256,
        "texts": texts,
        "created": created,
        "read": sampling.get("read", texts),
        "kept": texts,
        "dropped": sampling.get("dropped", {}),
        "strata": sampling.get("strata", {}),
        "sampling": sampling,
        "source": dataset.source_name,
        "licence": dataset.licence,
        "split": dataset.split,
        "filter": dataset.filter,
        "targets": f"table:{dataset.target_table.number}" if dataset.target_table else dataset.targets_from,
        "warnings": dataset.warnings,
    }


def write_notes(answer: dict[str, object], write: Callable[[str], object]) -> None:
    """Write which rows were left out, and the warnings."""
    if answer["dropped"]:
        dropped = ", ".join(f"{count} {reason}" for reason, count in cast("dict[str, int]", answer["dropped"]).items())
        write(f"  {answer['read']} rows read; left out: {dropped}.")
    for warning in cast("list[str]", answer["warnings"]):
        write(f"  {warning}")


def read_columns(pairs: list[str]) -> dict[str, str] | None:
    """``["text=comment"]`` as ``{"text": "comment"}``. Raises ``CommandError``."""
    columns: dict[str, str] = {}
    for pair in pairs:
        ours, sign, theirs = pair.partition("=")
        if not sign or not ours or not theirs:
            raise CommandError(f"--column {pair!r} is not a mapping. Write ours=theirs, such as text=comment.")
        columns[ours] = theirs
    return columns or None
