from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.formats.command_files import input_file, output_file

if TYPE_CHECKING:
    from auditapp.sob.pure.measures.mapping import Rows
    from auditapp.sob.pure.measures.report import ReportOptions

FORMATS = ("json", "csv", "text", "latex")


class Command(BaseCommand):
    help = "Print every figure of a batch, a file of answers, a bundle, or the published table."

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--batch", type=int, metavar="N")
        source.add_argument("--responses", type=input_file, metavar="FILE", help="JSON lines; needs no database")
        source.add_argument("--published", action="store_true", help="Table 4 of the paper; needs no database")
        source.add_argument("--bundle", type=input_file, metavar="FILE", help="needs no database")
        parser.add_argument("--format", choices=FORMATS, default="text")
        parser.add_argument("--json", action="store_true", help="the same as --format json")
        parser.add_argument("--output", metavar="PATH", help="write there instead of printing")
        parser.add_argument(
            "--targets", metavar="TABLE", help="for a batch: loaded (default), published, or table:N of the study"
        )
        parser.add_argument(
            "--mapping",
            metavar="TABLE",
            help="for a batch: the study's newest (default), published, or table:N of the study",
        )
        parser.add_argument("--seed", type=int, metavar="N", help="seed of all random draws")
        parser.add_argument(
            "--resamples", type=int, metavar="N", help="resamples for each interval; 0 for no intervals"
        )

    def handle(self, *args: object, **options: Any) -> None:
        check_options(options)
        report = read_report(options)
        if report["notice"]:
            self.stderr.write(str(report["notice"]))
        form = "json" if options["json"] else str(options["format"])
        text = write_as(form, report, find_mapping_rows(options, report) if form == "latex" else None)
        if not options["output"]:
            self.stdout.write(text)
            return
        try:
            with output_file(self, str(options["output"])) as path:
                path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise CommandError(f"{options['output']} cannot be written: {error.strerror}.") from error


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ``CommandError`` for options that do not go together, or make no sense."""
    if options["targets"] is not None and options["batch"] is None:
        raise CommandError("--targets needs --batch, because the answers of a file come with their targets.")
    if options["mapping"] is not None and options["batch"] is None:
        raise CommandError(
            "--mapping needs --batch: a file is counted with the published mapping, a bundle with its own."
        )
    if options["bundle"] is not None and (options["seed"] is not None or options["resamples"] is not None):
        raise CommandError("A bundle has its own seed and resamples. Leave out --seed and --resamples.")
    for name, highest in (("seed", 2**32 - 1), ("resamples", 100_000)):
        value = options[name]
        if value is not None and not 0 <= value <= highest:
            raise CommandError(f"--{name} must be a whole number from 0 to {highest:,}.")


def read_report(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report of the source that was named. Raises ``CommandError``."""
    if options["published"]:
        from auditapp.sob.pure.measures.report import published_report

        return published_report(choose_options(options))
    if options["responses"] is not None:
        return report_file(options["responses"], choose_options(options))
    if options["bundle"] is not None:
        return report_bundle(str(options["bundle"]))
    return report_batch(int(options["batch"]), options)


def choose_options(options: Mapping[str, Any]) -> ReportOptions:
    """What a report is computed with, as far as options say."""
    from auditapp.sob.pure.measures.report import ReportOptions

    return ReportOptions(**read_numbers(options))


def read_numbers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Seed and resamples where they were given."""
    return {name: options[name] for name in ("seed", "resamples") if options[name] is not None}


def report_file(path: Path, options: ReportOptions) -> Mapping[str, Any]:
    """The report of a file of answers. Raises ``CommandError``."""
    from auditapp.sob.pure.measures.report import build_report, relate_published
    from auditapp.sob.pure.measures.tallies import tally_observations
    from auditapp.sob.pure.metrics import ResponseFileError, read_observations

    warnings: list[str] = []
    try:
        with path.open("rb") as lines:
            tallies = tally_observations(read_observations(lines, warnings=warnings))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except (ResponseFileError, ValueError) as error:
        raise CommandError(f"{path.name}, {error}") from error
    models = {group.model for group in tallies.groups}
    return build_report(tallies, options=relate_published(models, replace(options, warnings=tuple(warnings))))


def report_bundle(path: str) -> Mapping[str, Any]:
    """The report of a bundle, derived again from the answers in it. Raises ``CommandError``."""
    from auditapp.sob.pure.outputs.bundle import BundleRefused, read_bundle

    try:
        return read_bundle(path).report()
    except BundleRefused as error:
        raise CommandError(str(error)) from error


def report_batch(number: int, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report of a batch: the stored one, or a new one if that is stale. Raises ``CommandError``."""
    from auditapp.sob.management.choices import find_batch
    from auditapp.sob.report.computing import ReportChoice
    from auditapp.sob.report.requests import await_report
    from auditapp.sob.tables.mappings import IN_FORCE, UnknownMapping
    from auditapp.sob.tables.queries import LOADED, UnknownTargets

    batch = find_batch(number)
    choice = ReportChoice(
        **read_numbers(options), targets=options["targets"] or LOADED, mapping=options["mapping"] or IN_FORCE
    )
    try:
        return await_report(batch, options=choice).report
    except (UnknownTargets, UnknownMapping) as error:
        raise CommandError(str(error)) from error


def find_mapping_rows(options: Mapping[str, Any], report: Mapping[str, Any]) -> Rows | None:
    """The lists of values behind the report (Table 12), where they are a study's own; ``None`` where they are published."""
    if options["bundle"] is not None:
        from auditapp.sob.pure.outputs.bundle import read_bundle

        return read_bundle(str(options["bundle"])).mapping_rows
    if options["batch"] is None:
        return None
    from auditapp.batches.models import Batch
    from auditapp.sob.tables.mappings import find_rows

    batch = Batch.objects.select_related("project").get(pk=options["batch"])
    return find_rows(batch.project, str(report["versions"]["mapping"]))


def write_as(form: str, report: Mapping[str, Any], mapping: Rows | None = None) -> str:
    """The report in one of ``FORMATS``."""
    if form == "json":
        return json.dumps(report)
    if form == "latex":
        from auditapp.sob.pure.outputs.latex_tables import write_latex

        return write_latex(report, mapping=mapping)
    if form == "csv":
        from auditapp.sob.pure.outputs.csv_tables import print_table

        return print_table(report, "cells")
    return write_text(report)


def write_text(report: Mapping[str, Any]) -> str:
    """Scores for a terminal: a row per task and model, a column per target, two decimals, a dash where undefined."""
    from auditapp.sob.pure.measures.cautions import FEW_SENTENCE, describe_cell_readers, name_providers
    from auditapp.sob.pure.showing.figures import Figures, mark_few, write_decimals

    cautions = [f"Notice: {report['notice']}" if report["notice"] else "", name_providers(report["providers"])]
    if not report["cells"]:
        return "\n".join(["No answers yet.", *filter(None, cautions), ""])
    import pandas

    frame = pandas.DataFrame(report["cells"], columns=["model", "task", "target"])
    frame["sob"] = [
        "–" if cell["sob"] is None else f"{write_decimals(cell['sob'])}{mark_few(cell)}" for cell in report["cells"]
    ]
    order = list(dict.fromkeys(frame["target"]))
    table = frame.pivot(index=["task", "model"], columns="target", values="sob")
    table = table.reindex(index=list(dict.fromkeys(zip(frame["task"], frame["model"], strict=True))), columns=order)
    figures = Figures(report)
    readers = [
        f"{cell['model']}, {cell['task']}: {read}."
        for cell in report["cells"]
        if cell["target"] == "overall" and (read := describe_cell_readers(cell))
    ]
    written = [
        str(table.to_string(na_rep="–")),
        *filter(None, cautions),
        *([FEW_SENTENCE] if figures.has_few else []),
        *(readers or filter(None, [figures.readers])),
        *(f"Alarm: {sentence}" for sentence in [*figures.list_alarms(), *figures.list_base_alarms()]),
        *(f"Note: {sentence}" for sentence in report["warnings"]),
        *(f"Read with it: {sentence}" for sentence in report["reading"]),
    ]
    return "\n".join([*written, ""])
