from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from django.core.management.base import CommandError, CommandParser

from auditapp.batches.command_options import add_launch_options, read_launch_options, report_launched
from auditapp.llm.management.finding import find_variant
from auditapp.llm.models import ModelVariant
from auditapp.sob.audits.actions import FORMATTER_SIZE, draw_audit
from auditapp.sob.audits.queries import write_report
from auditapp.sob.judging.actions.imported_answers import import_answers
from auditapp.sob.judging.actions.launching import NOTICE, launch_sob, needs_notice
from auditapp.sob.judging.actions.readings import launch_formatter
from auditapp.sob.judging.actions.recounting import recount_readings
from auditapp.sob.judging.formatter import DEFAULT_OUTCOMES, READABLE_OUTCOMES
from auditapp.sob.management.choices import choose_project, find_batch, find_dataset
from auditapp.sob.models import Audit, Dataset, TargetTable
from auditapp.sob.pure.counting import LEXICON_VERSION
from auditapp.sob.pure.instruments import BASE_TASK, TASKS
from auditapp.sob.pure.loading.drawing import BY_FIELDS, DEFAULT_SEED, METHODS, Draw
from auditapp.sob.pure.loading.opening import MAX_FILE_BYTES
from auditapp.sob.pure.loading.published_sources import Provenance
from auditapp.sob.pure.metrics import ResponseFileError, parse_file
from auditapp.sob.report.actions import write_sob_bundle
from auditapp.sob.tables.actions import find_target_table
from auditapp.sob.texts.actions.datasets import load_dataset
from auditapp.sob.texts.actions.derived import combine_datasets
from transcripts.audit_trail import trail
from transcripts.formats.command_files import input_file, output_file
from transcripts.projects.models import Project
from transcripts.ui.commands import ActCommand, Noun, find_row, reading
from transcripts.ui.typed_text import MAX_SEED, find_number

if TYPE_CHECKING:
    from auditapp.sob.pure.measures.mapping import Rows
    from auditapp.sob.pure.measures.report import ReportOptions

FORMATS = ("json", "csv", "text", "latex")


class Load(ActCommand):
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

    def handle(self, *args: object, file: Path, name: str, project: str, column: list[str], **options: object) -> None:
        with reading(file) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
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
        word = "loaded" if created else "already loaded"
        done = f"{answer['dataset']}: {answer['texts']} texts {word} into {answer['project']}."
        self.answer(answer, [done, *list_notes(answer)])


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


def describe(dataset: Dataset, *, created: bool) -> dict[str, Any]:
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


def list_notes(answer: dict[str, Any]) -> list[str]:
    """Which rows were left out, and the warnings."""
    dropped = ", ".join(f"{count} {reason}" for reason, count in answer["dropped"].items())
    left_out = [f"  {answer['read']} rows read; left out: {dropped}."] if dropped else []
    return [*left_out, *(f"  {warning}" for warning in answer["warnings"])]


def read_columns(pairs: list[str]) -> dict[str, str] | None:
    """``["text=comment"]`` as ``{"text": "comment"}``. Raises ``CommandError``."""
    columns: dict[str, str] = {}
    for pair in pairs:
        ours, sign, theirs = pair.partition("=")
        if not sign or not ours or not theirs:
            raise CommandError(f"--column {pair!r} is not a mapping. Write ours=theirs, such as text=comment.")
        columns[ours] = theirs
    return columns or None


class Combine(ActCommand):
    help = "Combine several datasets into a new one. A text that is already in the same source is left out."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "names", nargs="+", metavar="NAME", help="a dataset; give at least two, in the order of the new one"
        )
        parser.add_argument("--name", required=True, help="name of the new dataset")
        parser.add_argument(
            "--project", default="", help="slug of the study (default: the one that has these datasets)"
        )

    def handle(self, *args: object, names: list[str], name: str, project: str, **options: object) -> None:
        datasets = [find_dataset(each, project) for each in names]
        combined = combine_datasets(datasets=datasets, name=name, by=trail.SYSTEM)
        answer = describe(combined, created=True)
        done = f"{combined.name}: {answer['texts']} texts of {len(datasets)} datasets, in {answer['project']}."
        self.answer(answer, [done, *list_notes(answer)])


class Launch(ActCommand):
    help = "Ask models about the texts of a dataset."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--model", action="append", required=True, metavar="LABEL", help="may be repeated")
        parser.add_argument("--task", action="append", required=True, choices=[key for key, _ in TASKS])
        parser.add_argument("--instrument", default="paper", help="wording: paper, release, or one of the study's own")
        parser.add_argument(
            "--base", action="store_true", help="include the reconstructed Base prompt; it has no score"
        )
        parser.add_argument("--project", default="")
        parser.add_argument("--limit", type=int, help="use only this many texts, spread evenly over the dataset")
        parser.add_argument(
            "--repeats", type=int, default=1, help="how often each model gets each text under each task"
        )
        parser.add_argument(
            "--family",
            action="append",
            default=[],
            metavar="LABEL=NAME",
            help="treat variants with different model ids as one family in the statistics; may be repeated",
        )
        parser.add_argument(
            "--confirm-terms",
            action="store_true",
            help="confirm, once per study, that you know that the instrument tells the model not to refuse, and that you have "
            "read the terms of the providers that the texts are sent to",
        )
        add_launch_options(parser)

    def handle(self, *args: object, dataset: str, model: list[str], task: list[str], **options: Any) -> None:
        how = read_launch_options(options)
        variants = [find_variant(label) for label in model]
        texts = find_dataset(dataset, str(options["project"]))
        if not options["confirm_terms"]:
            refuse_unconfirmed(texts.project, variants)
        batch = launch_sob(
            dataset=texts,
            variants=variants,
            tasks=task,
            instrument_variant=str(options["instrument"]),
            include_base=options["base"],
            limit=options["limit"],
            confirms_terms=options["confirm_terms"],
            families=read_families(options["family"]),
            by=trail.SYSTEM,
            options=replace(how, repeats=options["repeats"]),
        )
        report_launched(self, batch, options)


def refuse_unconfirmed(project: Project, variants: Sequence[ModelVariant]) -> None:
    """Raise ``CommandError`` where nobody has confirmed the notice that the study needs."""
    if needs_notice(project, variants):
        raise CommandError(
            f"{NOTICE} Nobody has confirmed this for the study yet, so nothing was launched. Add --confirm-terms to confirm it, or "
            "confirm it on the launch page; the study is asked once and records who confirmed it."
        )


def read_families(pairs: list[str]) -> dict[str, str]:
    """The family of each label. Raises ``CommandError``."""
    families: dict[str, str] = {}
    for pair in pairs:
        label, separator, name = pair.rpartition("=")
        if not separator or not label or not name or label in families:
            raise CommandError(f"--family {pair!r} is not valid. Write LABEL=NAME, each label once.")
        families[label] = name
    return families


class Report(ActCommand):
    help = "Print every figure of a batch, a file of answers, a bundle, or the published table."

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--batch", type=int, metavar="N")
        source.add_argument("--responses", type=input_file, metavar="FILE", help="JSON lines; needs no database")
        source.add_argument("--published", action="store_true", help="Table 4 of the paper; needs no database")
        source.add_argument("--bundle", type=input_file, metavar="FILE", help="needs no database")
        parser.add_argument("--format", choices=FORMATS, default="text")
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
    with reading(path, ResponseFileError, ValueError) as lines:
        tallies = tally_observations(read_observations(lines, warnings=warnings))
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


class Recount(ActCommand):
    help = "Count the attributes of all stored answers again, after an upgrade that changed the counting rules."

    def handle(self, *args: object, **options: object) -> None:
        readings, changed = recount_readings(by=trail.SYSTEM)
        self.answer(
            {"readings": readings, "changed": changed, "lexicon": LEXICON_VERSION},
            f"{readings} attributed readings counted again under {LEXICON_VERSION}, {changed} changed.",
        )


class Format(ActCommand):
    help = "Have a small model read the answers of a sob batch that no rule could read."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--batch", type=int, required=True, metavar="N", help="the sob batch whose answers it reads"
        )
        parser.add_argument("--model", required=True, metavar="LABEL")
        parser.add_argument(
            "--outcome",
            action="append",
            choices=[str(outcome) for outcome in READABLE_OUTCOMES],
            help="which answers are sent; may be repeated (default: off_format only)",
        )
        parser.add_argument(
            "--no-schema", action="store_true", help="never hold the formatter's answers to a JSON schema"
        )
        add_launch_options(parser)

    def handle(self, *args: object, batch: int, model: str, **options: Any) -> None:
        how = read_launch_options(options)
        source = find_batch(batch)
        launched = launch_formatter(
            batch=source,
            variant=find_variant(model),
            outcomes=options["outcome"] or DEFAULT_OUTCOMES,
            without_schema=options["no_schema"],
            by=trail.SYSTEM,
            options=how,
        )
        report_launched(self, launched, options, things="answers")


class AuditReadings(ActCommand):
    help = "Draw a sample of readings for people to mark, or print the results of an audit."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, required=True, metavar="N")
        act = parser.add_mutually_exclusive_group(required=True)
        act.add_argument("--draw", choices=Audit.Scope.values, help="draw from these readings")
        act.add_argument(
            "--report", type=int, metavar="NUMBER", help="print the results of this audit of the batch as JSON"
        )
        parser.add_argument("--size", type=int, default=FORMATTER_SIZE, help=f"answers to draw ({FORMATTER_SIZE})")
        parser.add_argument("--seed", type=int, help="if not given, a seed is chosen and printed")

    def handle(self, *args: object, batch: int, **options: Any) -> None:
        source = find_batch(batch)
        if options["report"] is not None:
            audits = source.sob_audits.order_by("number")
            hint = "Draw one with --draw."
            audit = find_row(audits, f"audit of batch {batch} with the number", hint=hint, number=options["report"])
            report = write_report(audit)
            self.answer(report, json.dumps(report, indent=2))
            return
        seed = options["seed"] if options["seed"] is not None else random.randint(0, MAX_SEED)  # noqa: S311
        audit = draw_audit(batch=source, scope=options["draw"], size=options["size"], seed=seed, by=trail.SYSTEM)
        drawn = {"audit": audit.number, "scope": audit.scope, "size": audit.size, "seed": seed, "frame": audit.frame}
        self.answer(
            drawn,
            f"Audit {audit.number}: {audit.size:,} of {audit.frame:,} readings, seed {audit.seed}, to be marked on its page.",
        )


class Bundle(ActCommand):
    help = "Write a bundle: one archive from which every figure of a batch can be derived without a database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, required=True, metavar="N")
        parser.add_argument("--output", required=True, metavar="FILE.zip")
        parser.add_argument("--without-texts", action="store_true", help="leave out the texts, but keep their hashes")
        parser.add_argument("--overwrite", action="store_true")

    def handle(self, *args: object, batch: int, output: str, **options: object) -> None:
        found = find_batch(batch)
        with output_file(self, output) as path:
            if path.exists() and not options["overwrite"]:
                raise CommandError(f"{output} already exists. Choose another name, or add --overwrite.")
            facts = write_sob_bundle(batch=found, path=path, by=trail.SYSTEM, with_texts=not options["without_texts"])
            self.answer(
                {**facts, "path": output},
                f"{output}: {facts['answers']:,} answers, {facts['attempts']:,} attempts, {facts['texts']:,} texts"
                f"{' as hashes' if options['without_texts'] else ''}. SHA-256 {facts['sha256']}",
            )


class Import(ActCommand):
    help = "Import answers from another run: the authors' sob_results.csv, or an Inspect log (.json, .eval)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file)
        parser.add_argument("--dataset", required=True, help="the texts that were asked about")
        parser.add_argument("--project", default="")
        parser.add_argument(
            "--task",
            default="",
            choices=["", BASE_TASK, *(key for key, _ in TASKS)],
            help="used if the file names none",
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would be imported; store nothing")

    def handle(self, *args: object, file: Path, dataset: str, **options: Any) -> None:
        with reading(file) as stream:
            data = stream.read()
        imported = import_answers(
            dataset=find_dataset(dataset, options["project"]),
            file_name=file.name,
            data=data,
            by=trail.SYSTEM,
            task=options["task"],
            dry_run=options["dry_run"],
        )
        self.answer({**imported, "batch": imported["batch"] and imported["batch"].pk}, self.list_words(imported))

    def list_words(self, imported: dict[str, Any]) -> Iterator[str]:
        where = f"batch {imported['batch'].pk}" if imported["batch"] else "no batch: this was a dry run"
        came = "were imported before as" if imported["batch"] and not imported["created"] else "are"
        yield (
            f"{imported['stored']:,} of {imported['rows']:,} answers {came} {where}: {len(imported['models'])} models, "
            f"{imported['texts']:,} texts, {imported['empty']:,} without an answer, {imported['failed']:,} failed calls."
        )
        for reason, count in {**imported["unmatched"], **imported["passed_over"]}.items():
            yield f"Left out, {count:,}: {reason}."
        if imported["listed"]:
            places = ", ".join(each["place"] for each in imported["listed"])
            yield f"The first that match no text: {places}."


class Parse(ActCommand):
    help = 'Read answers in a file of JSON lines {"id", "raw"}. Needs no database.'
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file)

    def handle(self, *args: object, file: Path, **options: object) -> None:
        with reading(file, ResponseFileError) as lines:
            answer = parse_file(lines)
        self.answer(answer, ("{id}\t{outcome}\t{n_attributes}".format(**each) for each in answer["responses"]))


class Command(Noun):
    help = "The second-order bias benchmark: load texts, launch batches, read, audit and report the answers."
    verbs = {
        "load": Load,
        "combine": Combine,
        "launch": Launch,
        "report": Report,
        "recount": Recount,
        "format": Format,
        "audit": AuditReadings,
        "bundle": Bundle,
        "import": Import,
        "parse": Parse,
    }
