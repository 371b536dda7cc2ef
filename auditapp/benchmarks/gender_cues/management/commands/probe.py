from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from auditapp.batches.command_options import BATCH, MAYBE_BATCH, LaunchCommand
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.actions import PER_THREAD, launch_probe, load_reviews, store_rationales
from auditapp.benchmarks.gender_cues.models import ReviewSet
from auditapp.benchmarks.gender_cues.pure.outputs import list_funnel, list_report, make_report
from auditapp.benchmarks.gender_cues.pure.parsing import CONDITIONS, MIN_TEXTS, parse_answer
from auditapp.benchmarks.gender_cues.pure.reviews import ReviewFile, Rules, RulesRefused, read_rules, winnow
from auditapp.benchmarks.gender_cues.pure.tables import AXES, RAW, read_themes, read_trials
from auditapp.benchmarks.gender_cues.queries import KIND, read_report, require_figures
from auditapp.llm.management import MODELS, find_variant
from transcripts.audit_trail import trail
from transcripts.formats.json_lines import Row, read_each, read_lines, refuse_field, take_words
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
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
)
from transcripts.ui.typed_text import find_number


def find_batch(number: int) -> Batch:
    """The probe of that number. Raises ``CommandError``."""
    batches = Batch.objects.select_related("study").filter(kind=KIND).order_by("-pk")
    return find_row(batches, "probe with the number", pk=number)


def find_reviews(study: Study, name: str) -> ReviewSet:
    """The reviews of that name. Raises ``CommandError``."""
    sets = ReviewSet.objects.select_related("study").filter(study=study).order_by("name")
    return find_row(sets, f"set of reviews in {study.slug} named", name=name)


MAX_RULES_BYTES = 1_000_000


def load_rules(path: Path) -> Rules:
    """The rules of a file. Raises ``CommandError``, ``Refused``."""
    with reading(path, RulesRefused) as file:
        data = file.read(MAX_RULES_BYTES + 1)
        if len(data) > MAX_RULES_BYTES:
            raise Refused(f"{say_file(path)} is larger than a megabyte, so it cannot be a file of rules.")
        return read_rules(data)


class Winnow(ActCommand):
    """Without --into it needs no database, and nothing is stored."""

    help = (
        "Show which reviews in a CSV the declared rules keep, as a funnel by name-inferred category; with --into, store them in "
        "a study."
    )
    requires_system_checks = []
    takes = (
        commands.FILE.but(metavar="CSV"),
        Argument("--rules", type=input_file, required=True, metavar="FILE", help="declared rules as JSON"),
        Argument("--text", default="", metavar="COLUMN", help="the heading of the text (default: text)"),
        Argument(
            "--category",
            default="",
            metavar="COLUMN",
            help="the heading of the name-inferred category (default: name_inferred_category, or category)",
        ),
        Argument("--into", default="", metavar="SLUG", help="store what is kept in this study"),
        Argument("--name", default="", help="with --into: the name of the reviews there"),
        Argument(
            "--method",
            default="",
            metavar="TEXT",
            help="with --into: the method that inferred the categories, with its version",
        ),
        Argument(
            "--source",
            default="",
            metavar="TEXT",
            help="with --into: where the reviews are from, and what permits their use",
        ),
        commands.SEED.but(
            default=0, help="with --into: seed of the order in which reviews are drawn (default: %(default)s)"
        ),
    )

    def handle(self, *args: object, file: Path, **options: Any) -> None:
        rules = load_rules(options["rules"])
        if options["into"]:
            self._store(file, rules, options)
            return
        with reading(file, ReadError, RulesRefused) as opened:
            reviews = ReviewFile(opened, name=say_file(file), text=options["text"], category=options["category"])
            winnowing = winnow(reviews, rules)
            kept = [review.identifier for review in winnowing]
        found = {
            "rules": rules.name,
            "rules_sha256": rules.sha256,
            "funnel": winnowing.funnel,
            "kept": kept,
            "without_text": reviews.without_text,
        }
        missing = f"{reviews.without_text:,} rows without a text were ignored."
        self.answer(found, [*list_funnel(winnowing.funnel), *([missing] if reviews.without_text else [])])

    def _store(self, file: Path, rules: Rules, options: dict[str, Any]) -> None:
        with reading(file) as opened:
            stored = load_reviews(
                study=find_study(options["into"]),
                name=options["name"] or file.stem,
                file=opened,
                rules=rules,
                category_method=options["method"],
                source=options["source"],
                seed=options["seed"],
                by=trail.SYSTEM,
                text=options["text"],
                category=options["category"],
            )
        facts = pick(stored, "rules_sha256 sha256 funnel without_text")
        found = {"reviews": stored.name, "rules": rules.name, **facts}
        self.answer(found, [*list_funnel(stored.funnel), f"Stored as “{stored.name}”."])


class Launch(LaunchCommand):
    help = "Ask models about reviews under the conditions of the gender-cue probe."
    takes = (
        commands.STUDY,
        Argument("--reviews", required=True, metavar="NAME", help="reviews that were loaded into the study"),
        MODELS,
        Argument(
            "--condition",
            action="append",
            required=True,
            metavar="NAME=N",
            help=f"{', '.join(CONDITIONS)}, with how many texts of each category it gets, at least {MIN_TEXTS}; may be repeated",
        ),
        Argument(
            "--different-texts", action="store_true", help="each condition gets its own texts, so nothing is paired"
        ),
        Argument(
            "--androgynous", type=int, default=0, metavar="N", help="androgynous texts to add; they are not scored"
        ),
        Argument(
            "--confirm-source",
            action="store_true",
            help="confirm that the source of the reviews permits sending them to the providers, and that you have read the "
            "providers' terms",
        ),
    )

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        return launch_probe(
            reviews=find_reviews(find_study(options["study"]), options["reviews"]),
            variants=[find_variant(label) for label in options["model"]],
            texts=read_conditions(options["condition"]),
            same_texts=not options["different_texts"],
            androgynous=options["androgynous"],
            confirms_source=options["confirm_source"],
            by=trail.SYSTEM,
            options=how,
        )


def read_conditions(pairs: list[str]) -> dict[str, int]:
    """``["primed=200"]`` as ``{"primed": 200}``. Raises ``Refused``."""
    wrong = f"is not valid. Write NAME=N, each of {', '.join(CONDITIONS)} at most once, such as primed=200"
    found: dict[str, int] = {}
    for name, typed in read_pairs("--condition", pairs, wrong).items():
        number = find_number(typed)
        if name not in CONDITIONS or number is None:
            raise Refused(f"--condition '{name}={typed}' {wrong}.")
        found[name] = number
    return found


class Report(ActCommand):
    """Reads a file, without a database, or a batch, and prints."""

    help = "Print Table 1 and Table 2 of a gender-cue probe, and its models and conditions compared, with their tests."
    requires_system_checks = []
    takes = (
        OneOf(commands.MAYBE_FILE.but(help="trials as JSON lines"), MAYBE_BATCH.but(help="a batch of the kind probe")),
        Argument("--themes", type=input_file, metavar="FILE", help="of a file: themes of the rationales as JSON lines"),
        Argument(
            "--axis", choices=AXES, default=AXES[0], help="of Table 2: the name-inferred category, or the prediction"
        ),
        commands.CODER.but(help="of a batch: whose codings make Table 2"),
        Argument(
            "--with", type=int, metavar="N", dest="other", help="of a batch: compare with this probe of the study too"
        ),
    )

    def handle(self, *args: object, **options: Any) -> None:
        if options["batch"] is not None and options["themes"]:
            raise CommandError(
                "--themes can be used only with a file; the themes of a batch are the codings of its rationales."
            )
        if options["batch"] is None and options["coder"]:
            raise CommandError("--coder can be used only with a batch; the themes in a file name no coder.")
        if options["batch"] is None and options["other"]:
            raise CommandError(
                "--with can be used only with a batch; if a file has several models, they are always compared."
            )
        report = _report_file(options) if options["batch"] is None else _report_batch(options)
        self.answer(report, list_report(report))


def _report_file(options: dict[str, Any]) -> dict[str, Any]:
    with reading(options["file"], ReadError) as lines:
        trials, inside = read_trials(lines, name=options["file"].name)
    themes = inside or None
    if options["themes"]:
        with reading(options["themes"], ReadError) as lines:
            themes = read_themes(lines, trials, name=options["themes"].name)
    return make_report(trials, themes, axis=options["axis"])


def _report_batch(options: dict[str, Any]) -> dict[str, Any]:
    batch = find_batch(options["batch"])
    require_figures(batch.study)
    probes, other = batch.study.batches.filter(kind=KIND), None
    if options["other"] is not None:
        other = find_row(probes, f"probe of the study {batch.study.slug}", pk=options["other"])
    report, _ = read_report(batch, user=None, axis=options["axis"], coder=options["coder"], other=other)
    return report


class Parse(ActCommand):
    """Needs no database."""

    help = 'Read answers to the prompt of the gender-cue probe by rule: JSON lines, each with "id" and "raw".'
    requires_system_checks = []
    takes = (
        commands.FILE,
        Argument(
            "--may-abstain", action="store_true", help="the prompt allowed the answer Unclear, which is an abstention"
        ),
    )

    def handle(self, *args: object, file: Path, **options: Any) -> None:
        def read(row: Row) -> dict[str, Any]:
            if "id" not in row:
                raise refuse_field(row, ["id"], "“id” and “raw” in each object")
            parsed = parse_answer(take_words(row, "raw", RAW), may_abstain=options["may_abstain"])
            return {"id": row["id"], **pick(parsed, "status predicted codes subset")}

        with reading(file, ReadError) as lines:
            answers = [answer for _, answer in read_each(read_lines(lines, file.name), file.name, read)]
            if not answers:
                raise ReadError(file.name, None, "no answer", "JSON lines, each with “id” and “raw”")
        words = (
            f"{each['id']}: {each['status']}, {each['predicted'] or 'no prediction'}, codes: {', '.join(each['codes']) or 'none'}"
            for each in answers
        )
        self.answer({"answers": answers}, words)


class StoreRationales(ActCommand):
    help = (
        "Store the rationales of a probe's primed answers as masked threads of another study, to be coded there for Table 2: "
        f"{PER_THREAD} to a thread, shuffled."
    )
    takes = (
        BATCH,
        Argument("--into", required=True, metavar="SLUG", help="the study in which they are coded"),
        commands.SEED.but(default=0),
    )

    def handle(self, *args: object, **options: Any) -> None:
        batch, into = find_batch(options["batch"]), find_study(options["into"])
        counts = store_rationales(batch=batch, into=into, by=trail.SYSTEM, seed=options["seed"])
        self.answer(
            counts | {"into": into.slug},
            f"{counts['rationales']} rationales are in {counts['threads']} masked threads of {into.slug}; "
            f"{counts['without_rationale']} answers named a cue but gave no rationale.",
        )


class Command(Noun):
    help = "The gender-cue probe: select reviews, ask models about them, read and report the answers."
    verbs = {"winnow": Winnow, "launch": Launch, "report": Report, "parse": Parse, "store-rationales": StoreRationales}
