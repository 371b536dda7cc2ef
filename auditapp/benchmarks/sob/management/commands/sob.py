from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from django.core.management.base import CommandError

from auditapp.batches.command_options import BATCH, MAYBE_BATCH, REPEATS, LaunchCommand
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.judging.actions import (
    FORMATTER_SIZE,
    draw_audit,
    launch_formatter,
    recount_interpretations,
)
from auditapp.benchmarks.sob.judging.kind import DEFAULT_OUTCOMES, READABLE_OUTCOMES
from auditapp.benchmarks.sob.judging.launching import NOTICE, import_answers, launch_sob, needs_notice
from auditapp.benchmarks.sob.judging.queries import write_report
from auditapp.benchmarks.sob.models import Audit, Dataset, TargetTable
from auditapp.benchmarks.sob.pure.answer_files import parse_file, read_bundle, read_observations
from auditapp.benchmarks.sob.pure.answer_words import LEXICON_VERSION
from auditapp.benchmarks.sob.pure.attributions import Rows
from auditapp.benchmarks.sob.pure.cautions import describe_readers, name_providers
from auditapp.benchmarks.sob.pure.dataset_files import MAX_FILE_BYTES, Provenance
from auditapp.benchmarks.sob.pure.dataset_texts import BY_FIELDS, DEFAULT_SEED, METHODS, Draw
from auditapp.benchmarks.sob.pure.figures import Figures, mark_score, name_pair
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, TASKS
from auditapp.benchmarks.sob.pure.ranks import explain_family
from auditapp.benchmarks.sob.pure.report import ReportOptions, build_report, published_report, relate_published
from auditapp.benchmarks.sob.pure.scores import tally_observations
from auditapp.benchmarks.sob.pure.tables import print_table, write_latex
from auditapp.benchmarks.sob.queries import IN_FORCE, KIND, LOADED, find_rows, find_target_table
from auditapp.benchmarks.sob.report.actions import write_sob_bundle
from auditapp.benchmarks.sob.report.comparisons import read_comparison
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, await_report
from auditapp.benchmarks.sob.texts.actions.derived import combine_datasets
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.management import MODEL, MODELS, find_variant
from auditapp.llm.models import ModelVariant
from transcripts.audit_trail import trail
from transcripts.charts.figures import CANNOT_TELL, judge_cases
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
from transcripts.statistics.figures import explain_marks, write_estimate, write_number, write_p
from transcripts.studies.actions import create_study
from transcripts.studies.management import find_study
from transcripts.studies.models import Study
from transcripts.ui import commands
from transcripts.ui.commands import (
    ActCommand,
    Argument,
    Noun,
    OneOf,
    find_row,
    input_file,
    pick,
    read_pairs,
    reading,
    say_file,
    writing,
)
from transcripts.ui.typed_text import MAX_SEED, find_number

BENCHMARKS = "benchmarks"


def choose_study(slug: str) -> Study:
    """The study at ``slug``. Without a slug, the only study that exists, or else `benchmarks`, which is made if it is missing.

    Raises ``CommandError`` for a slug that no study has.
    """
    if slug:
        return find_study(slug)
    studies = list(Study.objects.all()[:2])
    if len(studies) == 1:
        return studies[0]
    existing = Study.objects.filter(slug=BENCHMARKS).first()
    return existing or create_study(slug=BENCHMARKS, name="Benchmarks", by=trail.SYSTEM)


def find_batch(number: int) -> Batch:
    """The batch of the benchmark with this number. Raises ``CommandError``."""
    batches = Batch.objects.select_related("study").filter(kind=KIND).order_by("-pk")
    return find_row(batches, "sob batch", pk=number)


def find_dataset(name: str, slug: str) -> Dataset:
    """The dataset ``name``, in the study ``slug`` if that is given. Raises ``Refused`` if there is none or more than one."""
    if slug:
        choose_study(slug)
    here = Dataset.objects.filter(study__slug=slug) if slug else Dataset.objects.filter(study__isnull=False)
    datasets = list(here.filter(name=name).select_related("study"))
    if not datasets:
        raise Refused(_describe_missing(name, slug))
    if len(datasets) > 1:
        slugs = ", ".join(dataset.study.slug for dataset in datasets)
        raise Refused(f"Several studies have a dataset {name!r} ({slugs}). Say which with --study.")
    return datasets[0]


def _describe_missing(name: str, slug: str) -> str:
    """Which datasets the named study has, and which other study has the requested one."""
    here = Dataset.objects.filter(study__slug=slug) if slug else Dataset.objects.filter(study__isnull=False)
    names = ", ".join(sorted(set(here.values_list("name", flat=True)))) or "none"
    where = f" in the study {slug}" if slug else ""
    message = f"There is no dataset {name!r}{where}. The datasets are: {names}."
    others = sorted(set(Dataset.objects.filter(name=name, study__isnull=False).values_list("study__slug", flat=True)))
    if others:
        return f"{message} {name!r} is in {', '.join(others)}: name that study with --study."
    return f"{message} Load one with `manage.py sob load`."


FORMATS = ("json", "csv", "text", "latex")
FACTS = ("source", "licence", "split", "filter")
CHOSEN_STUDY = commands.MAYBE_STUDY.but(default="", help="the study (default: the only one, or that of the dataset)")
DATASET = Argument("--dataset", required=True, metavar="NAME", help="the texts that are asked about")


class Load(ActCommand):
    help = (
        "Load a file of biased texts: the prepared table of the paper, one of its five sources as published, "
        "or any CSV, JSON lines or parquet by column mapping."
    )
    takes = (
        commands.FILE,
        Argument("--name", required=True, help="name of the dataset"),
        CHOSEN_STUDY.but(help="the study (default: the only one, or `benchmarks`)"),
        Argument(
            "--column", action="append", default=[], metavar="OURS=THEIRS", help="such as text=comment or target=group"
        ),
        Argument(
            "--targets",
            default="",
            metavar="file|published|table:N",
            help="where the targets come from (default: see docs/reference/sob.md)",
        ),
        Argument(
            "--all-rows", action="store_true", help="load a published source without the benchmark's filter and draw"
        ),
        Argument("--sample", type=int, metavar="SIZE", help="draw this many texts"),
        Argument("--by", choices=tuple(BY_FIELDS), default="target", help="stratum of the sample"),
        Argument("--method", choices=tuple(METHODS), default="proportional"),
        commands.SEED.but(default=DEFAULT_SEED),
        Argument(
            "--drop-duplicates",
            action="store_true",
            help="keep only one copy of each text that occurs more than once in a source",
        ),
        *(Argument(f"--{name}", default="", help="stored with the dataset") for name in FACTS),
    )

    def handle(self, *args: object, file: Path, name: str, study: str, column: list[str], **options: object) -> None:
        with reading(file) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        chosen = choose_study(study)
        targets, target_table = read_targets(str(options["targets"]), chosen)
        texts, created = load_dataset(
            study=chosen,
            name=name,
            file_name=file.name,
            data=data,
            columns=read_pairs(
                "--column", column, "is not a mapping. Write ours=theirs, each once, such as text=comment"
            )
            or None,
            targets=targets,
            target_table=target_table,
            all_rows=bool(options["all_rows"]),
            drops_repeated=bool(options["drop_duplicates"]),
            draw=read_draw(options),
            provenance=Provenance(*(str(options[name]) for name in FACTS)),
            by=trail.SYSTEM,
        )
        answer = describe(texts, created=created)
        word = "loaded" if created else "already loaded"
        done = f"{answer['dataset']}: {answer['texts']} texts {word} into {answer['study']}."
        self.answer(answer, [done, *list_notes(answer)])


def read_targets(words: str, study: Study) -> tuple[str, TargetTable | None]:
    """The kind of targets for ``load_dataset``, and the table that ``table:2`` names. Raises ``CommandError``, ``Refused``."""
    kind, sign, number = words.partition(":")
    if words in {"", "file", "published"}:
        return words, None
    asked = find_number(number) if sign else None
    if kind != "table" or (sign and asked is None):
        raise CommandError(f"--targets {words!r} is not valid. Write file, published, or table:N with a number.")
    table = find_target_table(study, asked)
    if table is None:
        raise CommandError(f"{study.slug} has no table of targets yet.")
    return "table", table


def read_draw(options: dict[str, object]) -> Draw | None:
    """The requested sample; ``None`` without ``--sample``."""
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
        "study": dataset.study.slug,
        **pick(dataset, "format sha256"),
        "texts": texts,
        "created": created,
        "read": sampling.get("read", texts),
        "kept": texts,
        "dropped": sampling.get("dropped", {}),
        "strata": sampling.get("strata", {}),
        "sampling": sampling,
        "source": dataset.source_name,
        **pick(dataset, "licence split filter"),
        "targets": f"table:{dataset.target_table.number}" if dataset.target_table else dataset.targets_from,
        "warnings": dataset.warnings,
    }


def list_notes(answer: dict[str, Any]) -> list[str]:
    """The lines that say which rows were left out, and the warnings."""
    dropped = ", ".join(f"{count} {reason}" for reason, count in answer["dropped"].items())
    left_out = [f"  {answer['read']} rows read; left out: {dropped}."] if dropped else []
    return [*left_out, *(f"  {warning}" for warning in answer["warnings"])]


class Combine(ActCommand):
    help = "Combine several datasets into a new one. A text that is already in the same source is left out."
    takes = (
        Argument("names", nargs="+", metavar="NAME", help="a dataset; give at least two, in the order of the new one"),
        Argument("--name", required=True, help="name of the new dataset"),
        CHOSEN_STUDY,
    )

    def handle(self, *args: object, names: list[str], name: str, study: str, **options: object) -> None:
        datasets = [find_dataset(each, study) for each in names]
        combined = combine_datasets(datasets=datasets, name=name, by=trail.SYSTEM)
        answer = describe(combined, created=True)
        done = f"{combined.name}: {answer['texts']} texts of {len(datasets)} datasets, in {answer['study']}."
        self.answer(answer, [done, *list_notes(answer)])


class Launch(LaunchCommand):
    help = "Ask models about the texts of a dataset."
    takes = (
        DATASET,
        MODELS,
        Argument("--task", action="append", required=True, choices=[key for key, _ in TASKS]),
        Argument("--instrument", default="paper", help="wording: paper, release, or one of the study's own"),
        Argument("--base", action="store_true", help="include the reconstructed Base prompt; it has no score"),
        CHOSEN_STUDY,
        Argument("--limit", type=int, help="use only this many texts, spread evenly over the dataset"),
        REPEATS,
        Argument(
            "--family",
            action="append",
            default=[],
            metavar="LABEL=NAME",
            help="treat variants with different model ids as one family in the statistics; may be repeated",
        ),
        Argument(
            "--confirm-terms",
            action="store_true",
            help="confirm, once per study, that you know that the instrument tells the model not to refuse, and that you have "
            "read the terms of the providers that the texts are sent to",
        ),
    )

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        variants = [find_variant(label) for label in options["model"]]
        texts = find_dataset(options["dataset"], options["study"])
        if not options["confirm_terms"]:
            refuse_unconfirmed(texts.study, variants)
        return launch_sob(
            dataset=texts,
            variants=variants,
            tasks=options["task"],
            instrument_variant=options["instrument"],
            include_base=options["base"],
            limit=options["limit"],
            confirms_terms=options["confirm_terms"],
            families=read_pairs(
                "--family", options["family"], "is not valid. Write LABEL=NAME, each label once", last=True
            ),
            by=trail.SYSTEM,
            options=replace(how, repeats=options["repeats"]),
        )


def refuse_unconfirmed(study: Study, variants: Sequence[ModelVariant]) -> None:
    """Raise ``CommandError`` if nobody has confirmed the notice for the study although it is needed."""
    if needs_notice(study, variants):
        raise CommandError(
            f"{NOTICE} Nobody has confirmed this for the study yet, so nothing was launched. Add --confirm-terms to confirm it, or "
            "confirm it on the launch page; the study is asked once and records who confirmed it."
        )


class Report(ActCommand):
    help = "Print every figure of a batch, a file of answers, a bundle, or the published table."
    takes = (
        OneOf(
            MAYBE_BATCH,
            Argument("--responses", type=input_file, metavar="FILE", help="JSON lines; needs no database"),
            Argument("--published", action="store_true", help="Table 4 of the paper; needs no database"),
            Argument("--bundle", type=input_file, metavar="FILE", help="needs no database"),
        ),
        Argument("--format", choices=FORMATS, default="text"),
        commands.OUTPUT.but(required=False, help="write there instead of printing"),
        Argument(
            "--targets", metavar="TABLE", help="for a batch: loaded (default), published, or table:N of the study"
        ),
        Argument(
            "--mapping",
            metavar="TABLE",
            help="for a batch: the study's newest (default), published, or table:N of the study",
        ),
        commands.SEED.but(default=None, help="seed of all random draws"),
        commands.RESAMPLES.but(help="resamples for each interval; 0 for no intervals"),
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
        with writing(self, options["output"]) as path:
            path.write_text(text, encoding="utf-8", newline="")


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ``CommandError`` for options that cannot be combined, and for numbers out of range."""
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
        return published_report(ReportOptions(**read_numbers(options)))
    if options["responses"] is not None:
        return report_file(options["responses"], ReportOptions(**read_numbers(options)))
    if options["bundle"] is not None:
        return read_bundle(str(options["bundle"])).report()
    return report_batch(int(options["batch"]), options)


def read_numbers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Seed and number of resamples, if they were given."""
    return {name: options[name] for name in ("seed", "resamples") if options[name] is not None}


def report_file(path: Path, options: ReportOptions) -> Mapping[str, Any]:
    """The report of a file of answers. Raises ``CommandError``."""
    warnings: list[str] = []
    with reading(path, ReadError, ValueError) as lines:
        tallies = tally_observations(read_observations(lines, name=say_file(path), warnings=warnings))
    models = {group.model for group in tallies.groups}
    return build_report(tallies, options=relate_published(models, replace(options, warnings=tuple(warnings))))


def report_batch(number: int, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report of a batch: the stored one, or a new one if the stored one is stale. Raises ``Refused``."""
    batch = find_batch(number)
    choice = ReportChoice(
        **read_numbers(options), targets=options["targets"] or LOADED, mapping=options["mapping"] or IN_FORCE
    )
    return await_report(batch, options=choice).report


def find_mapping_rows(options: Mapping[str, Any], report: Mapping[str, Any]) -> Rows | None:
    """The lists of values behind the report (Table 12) if they are a study's own; ``None`` if they are the published ones."""
    if options["bundle"] is not None:
        return read_bundle(str(options["bundle"])).mapping_rows
    if options["batch"] is None:
        return None
    batch = Batch.objects.select_related("study").get(pk=options["batch"])
    return find_rows(batch.study, str(report["versions"]["mapping"]))


def write_as(form: str, report: Mapping[str, Any], mapping: Rows | None = None) -> str:
    """The report in one of ``FORMATS``."""
    if form == "json":
        return json.dumps(report)
    if form == "latex":
        return write_latex(report, mapping=mapping)
    if form == "csv":
        return print_table(report, "cells")
    return write_text(report)


def write_text(report: Mapping[str, Any]) -> str:
    """Scores for a terminal: a row per task and model, a column per target, two decimals, and a dash for an undefined score."""
    cautions = [f"Notice: {report['notice']}" if report["notice"] else "", name_providers(report["providers"])]
    if not report["cells"]:
        return "\n".join(["No answers yet.", *filter(None, cautions), ""])
    import pandas

    frame = pandas.DataFrame(report["cells"], columns=["model", "task", "target"])
    frame["sob"] = [
        "–" if cell["sob"] is None else f"{write_number(cell['sob'])}{mark_score(cell)}" for cell in report["cells"]
    ]
    order = list(dict.fromkeys(frame["target"]))
    table = frame.pivot(index=["task", "model"], columns="target", values="sob")
    table = table.reindex(index=list(dict.fromkeys(zip(frame["task"], frame["model"], strict=True))), columns=order)
    figures = Figures(report)
    readers = [
        f"{cell['model']}, {cell['task']}: {read}."
        for cell in report["cells"]
        if cell["target"] == "overall" and (read := describe_readers(cell))
    ]
    written = [
        str(table.to_string(na_rep="–")),
        *filter(None, cautions),
        *figures.mark_sentences,
        *(readers or filter(None, [figures.readers])),
        *(f"Alarm: {sentence}" for sentence in [*figures.list_alarms(), *figures.list_base_alarms()]),
        *list_pairs([test for test in report["paired"] if test["target"] == "overall"]),
        *(f"Note: {sentence}" for sentence in report["warnings"]),
        *(f"Caveat: {sentence}" for sentence in report["caveats"]),
    ]
    return "\n".join([*written, ""])


class Compare(ActCommand):
    help = "Compare the models of two batches over the texts that both asked about."
    takes = (
        BATCH,
        Argument(
            "--with",
            type=int,
            required=True,
            metavar="N",
            dest="other_batch",
            help="the other batch, of the same study",
        ),
        Argument("--model", metavar="LABEL", help="a model of the batch (default: every model that both have)"),
        Argument("--other", metavar="LABEL", help="a model of the other batch (default: the same model)"),
    )

    def handle(self, *args: object, batch: int, other_batch: int, **options: Any) -> None:
        here = find_batch(batch)
        batches = here.study.batches.select_related("study").filter(kind=here.kind)
        there = find_row(batches, f"sob batch of the study {here.study.slug}", pk=other_batch)
        compared = read_comparison(here, there, model=options["model"] or "", other=options["other"] or "")
        self.answer(compared, describe_comparison(compared))


def describe_comparison(compared: Mapping[str, Any]) -> Iterator[str]:
    """What `sob compare` prints: the number of common texts, the differences in setup, and a line for each comparison."""
    texts = compared["texts"]
    yield (
        f"{texts['common']:,} texts are common; left out: {texts['only_here']:,} of batch {compared['batch']} alone, "
        f"{texts['only_there']:,} of batch {compared['other']} alone."
    )
    for each in compared["differences"]:
        effect = "not comparable" if each["breaks"] else "still comparable"
        yield f"Different ({effect}): {each['what']}: {each['here']} | {each['there']}"
    yield from (f"Alarm: {sentence}" for sentence in compared["alarms"])
    yield from list_pairs(compared["paired"])


def list_pairs(tests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each comparison of two models, the number of tests over which P is adjusted, and what the marks mean."""
    yield from map(write_pair, tests)
    if family := explain_family(tests):
        yield family
    yield from explain_marks((test["mark"] for test in tests), "texts")


def write_pair(test: Mapping[str, Any]) -> str:
    """A comparison of two models in one line."""

    place = f"{name_pair(test)}, {test['task']}, {test['target']}"
    if test["difference"] is None:
        return f"{place}: no text in common"
    mark = f" ({test['mark']})" if test["mark"] else ""
    said = f"{place}: {write_estimate(test['difference'], test['ci'], 2)} over {test['n_items']:,} texts{mark}"
    if few := judge_cases(test["n_items"], things="texts"):
        return f"{said}; {few.words}"
    chances = f"P {write_p(test['p'])}, adjusted by Holm {write_p(test['p_adjusted'])}"
    return f"{said}, {chances}; {test['verdict'] or CANNOT_TELL}"


class Recount(ActCommand):
    help = "Count the attributes of all stored answers again, after an upgrade that changed the counting rules."

    def handle(self, *args: object, **options: object) -> None:
        interpretations, changed = recount_interpretations(by=trail.SYSTEM)
        self.answer(
            {"interpretations": interpretations, "changed": changed, "lexicon": LEXICON_VERSION},
            f"{interpretations} attributed interpretations counted again under {LEXICON_VERSION}, {changed} changed.",
        )


class Format(LaunchCommand):
    things = "answers"
    help = "Have a small model read the answers of a sob batch that no rule could read."
    takes = (
        BATCH.but(help="the sob batch whose answers it reads"),
        MODEL,
        Argument(
            "--outcome",
            action="append",
            choices=[str(outcome) for outcome in READABLE_OUTCOMES],
            help="which answers are sent; may be repeated (default: off_format only)",
        ),
        Argument(
            "--no-schema", action="store_true", help="never require the formatter's answers to follow a JSON schema"
        ),
    )

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        return launch_formatter(
            batch=find_batch(options["batch"]),
            variant=find_variant(options["model"]),
            outcomes=options["outcome"] or DEFAULT_OUTCOMES,
            without_schema=options["no_schema"],
            by=trail.SYSTEM,
            options=how,
        )


class AuditInterpretations(ActCommand):
    help = "Draw a sample of interpretations for people to mark, or print the results of an audit."
    takes = (
        BATCH,
        OneOf(
            Argument("--draw", choices=Audit.Scope.values, help="draw from these interpretations"),
            Argument(
                "--report", type=int, metavar="NUMBER", help="print the results of this audit of the batch as JSON"
            ),
        ),
        Argument("--size", type=int, default=FORMATTER_SIZE, help=f"answers to draw ({FORMATTER_SIZE})"),
        commands.SEED.but(default=None, help="if not given, a seed is chosen and printed"),
    )

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
        self.answer(
            {"audit": audit.number, **pick(audit, "scope size seed frame")},
            f"Audit {audit.number}: {audit.size:,} of {audit.frame:,} interpretations, seed {audit.seed}, to mark on its page.",
        )


class Bundle(ActCommand):
    help = "Write a bundle: one archive from which every figure of a batch can be derived without a database."
    takes = (
        BATCH,
        commands.OUTPUT.but(metavar="FILE.zip"),
        Argument("--without-texts", action="store_true", help="leave out the texts, but keep their hashes"),
        commands.OVERWRITE,
    )

    def handle(self, *args: object, batch: int, output: str, **options: object) -> None:
        found = find_batch(batch)
        with writing(self, output, overwrite=bool(options["overwrite"])) as path:
            facts = write_sob_bundle(batch=found, path=path, by=trail.SYSTEM, with_texts=not options["without_texts"])
            self.answer(
                {**facts, "path": output},
                f"{output}: {facts['answers']:,} answers, {facts['attempts']:,} attempts, {facts['texts']:,} texts"
                f"{' as hashes' if options['without_texts'] else ''}. SHA-256 {facts['sha256']}",
            )


class Import(ActCommand):
    help = "Import answers from another run: the authors' sob_results.csv, or an Inspect log (.json, .eval)."
    takes = (
        commands.FILE,
        DATASET,
        CHOSEN_STUDY,
        Argument(
            "--task",
            default="",
            choices=["", BASE_TASK, *(key for key, _ in TASKS)],
            help="used if the file names none",
        ),
        commands.DRY_RUN,
    )

    def handle(self, *args: object, file: Path, dataset: str, **options: Any) -> None:
        with reading(file) as stream:
            data = stream.read()
        imported = import_answers(
            dataset=find_dataset(dataset, options["study"]),
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
    takes = (commands.FILE,)

    def handle(self, *args: object, file: Path, **options: object) -> None:
        with reading(file, ReadError) as lines:
            answer = parse_file(lines, name=say_file(file))
        self.answer(answer, ("{id}\t{outcome}\t{n_attributes}".format(**each) for each in answer["responses"]))


class Command(Noun):
    help = "The second-order bias benchmark: load texts, launch batches, read, audit and report the answers."
    verbs = {
        "load": Load,
        "combine": Combine,
        "launch": Launch,
        "report": Report,
        "compare": Compare,
        "recount": Recount,
        "format": Format,
        "audit": AuditInterpretations,
        "bundle": Bundle,
        "import": Import,
        "parse": Parse,
    }
