from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.batches.command_options import (
    add_launch_options,
    read_launch_options,
    report_launched,
)
from auditapp.llm.management.finding import find_variant
from auditapp.probe.actions.launching import launch_probe
from auditapp.probe.actions.rationales import PER_THREAD, store_rationales
from auditapp.probe.management.choices import find_batch, find_reviews
from auditapp.probe.management.reading import load_rules
from auditapp.probe.pure.limits import CONDITIONS, MIN_TEXTS
from auditapp.probe.pure.listing import list_funnel, list_report
from auditapp.probe.pure.parsing import parse_answer
from auditapp.probe.pure.report import make_report
from auditapp.probe.pure.reviews import ReviewFile, ReviewsRefused
from auditapp.probe.pure.tables import AXES
from auditapp.probe.pure.trials import read_themes, read_trials
from auditapp.probe.pure.winnowing import Rules, RulesRefused, winnow
from transcripts.audit_trail import trail
from transcripts.corpus.pure.readers.base import ReadError
from transcripts.corpus.pure.readers.json_lines import read_lines
from transcripts.formats.command_files import input_file
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand, Noun, reading
from transcripts.ui.typed_text import find_number


class Winnow(ActCommand):
    """Without --into it needs no database, and nothing is stored."""

    help = (
        "Show what declared rules keep of a CSV of reviews, as a funnel by name-inferred category; with --into, store that in a "
        "study."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file, metavar="CSV")
        parser.add_argument("--rules", type=input_file, required=True, metavar="FILE", help="declared rules as JSON")
        parser.add_argument("--text", default="", metavar="COLUMN", help="the heading of the text (default: text)")
        parser.add_argument(
            "--category",
            default="",
            metavar="COLUMN",
            help="the heading of the name-inferred category (default: name_inferred_category, or category)",
        )
        parser.add_argument("--into", default="", metavar="SLUG", help="store what is kept in this study")
        parser.add_argument("--name", default="", help="with --into: what the reviews are called there")
        parser.add_argument(
            "--method", default="", metavar="TEXT", help="with --into: what inferred the categories, with its version"
        )
        parser.add_argument(
            "--source",
            default="",
            metavar="TEXT",
            help="with --into: where the reviews are from, and what allows their use",
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="with --into: seed of the order in which reviews are drawn"
        )

    def handle(self, *args: object, file: Path, **options: Any) -> None:
        rules = load_rules(options["rules"])
        if options["into"]:
            self._store(file, rules, options)
            return
        with reading(file, ReviewsRefused, RulesRefused) as opened:
            reviews = ReviewFile(opened, text=options["text"], category=options["category"])
            winnowing = winnow(reviews, rules)
            kept = [review.identifier for review in winnowing]
        found = {
            "rules": rules.name,
            "rules_sha256": rules.sha256,
            "funnel": winnowing.funnel,
            "kept": kept,
            "without_text": reviews.without_text,
        }
        missing = f"{reviews.without_text:,} rows without a text were passed over."
        self.answer(found, [*list_funnel(winnowing.funnel), *([missing] if reviews.without_text else [])])

    def _store(self, file: Path, rules: Rules, options: dict[str, Any]) -> None:
        from auditapp.probe.actions.reviews import load_reviews
        from transcripts.audit_trail import trail
        from transcripts.projects.management.finding import find_study

        with reading(file) as opened:
            stored = load_reviews(
                project=find_study(options["into"]),
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
        found = {
            "reviews": stored.name,
            "rules": rules.name,
            "rules_sha256": stored.rules_sha256,
            "sha256": stored.sha256,
            "funnel": stored.funnel,
            "without_text": stored.without_text,
        }
        self.answer(found, [*list_funnel(stored.funnel), f"Stored as “{stored.name}”."])


class Launch(ActCommand):
    help = "Ask models about reviews under the conditions of the gender-cue probe."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--reviews", required=True, metavar="NAME", help="reviews that were loaded into the study")
        parser.add_argument("--model", action="append", required=True, metavar="LABEL", help="may be repeated")
        parser.add_argument(
            "--condition",
            action="append",
            required=True,
            metavar="NAME=N",
            help=f"{', '.join(CONDITIONS)}, with how many texts of each category it gets, at least {MIN_TEXTS}; may be repeated",
        )
        parser.add_argument(
            "--different-texts", action="store_true", help="each condition gets texts of its own, so nothing is paired"
        )
        parser.add_argument(
            "--androgynous", type=int, default=0, metavar="N", help="so many androgynous texts besides, not scored"
        )
        parser.add_argument(
            "--confirm-source",
            action="store_true",
            help="confirm that the source of the reviews allows sending them to the providers, whose terms you have read",
        )
        add_launch_options(parser)

    def handle(self, *args: object, **options: Any) -> None:
        how = read_launch_options(options)
        batch = launch_probe(
            reviews=find_reviews(find_study(options["project"]), options["reviews"]),
            variants=[find_variant(label) for label in options["model"]],
            texts=read_conditions(options["condition"]),
            same_texts=not options["different_texts"],
            androgynous=options["androgynous"],
            confirms_source=options["confirm_source"],
            by=trail.SYSTEM,
            options=how,
        )
        report_launched(self, batch, options)


def read_conditions(pairs: list[str]) -> dict[str, int]:
    """``["primed=200"]`` as ``{"primed": 200}``. Raises ``CommandError``."""
    found: dict[str, int] = {}
    for pair in pairs:
        name, _, typed = pair.partition("=")
        number = find_number(typed)
        if name not in CONDITIONS or number is None or name in found:
            raise CommandError(
                f"--condition {pair!r} is not valid. Write NAME=N, each of {', '.join(CONDITIONS)} at most once, such as "
                "primed=200."
            )
        found[name] = number
    return found


class Report(ActCommand):
    """Reads a file, without a database, or a batch, and prints."""

    help = "Print Table 1 and Table 2 of a gender-cue probe, with their tests."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("file", type=input_file, nargs="?", help="trials as JSON lines")
        source.add_argument("--batch", type=int, metavar="N", help="a batch of the kind probe")
        parser.add_argument(
            "--themes", type=input_file, metavar="FILE", help="of a file: themes of the rationales as JSON lines"
        )
        parser.add_argument(
            "--axis", choices=AXES, default=AXES[0], help="of Table 2: the name-inferred category, or the prediction"
        )
        parser.add_argument("--coder", default="", metavar="NAME", help="of a batch: whose codings make Table 2")

    def handle(self, *args: object, **options: Any) -> None:
        if options["batch"] is not None and options["themes"]:
            raise CommandError("--themes is for files; the themes of a batch are the codings of its rationales.")
        if options["batch"] is None and options["coder"]:
            raise CommandError("--coder is for batches; the themes of a file name nobody.")
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
    from auditapp.probe.management.choices import find_batch
    from auditapp.probe.queries.purposes import require_figures
    from auditapp.probe.queries.trials import read_report

    batch = find_batch(options["batch"])
    require_figures(batch.project)
    report, _ = read_report(batch, user=None, axis=options["axis"], coder=options["coder"])
    return report


class Parse(ActCommand):
    """Needs no database."""

    help = 'Read answers to the prompt of the gender-cue probe by rule: JSON lines, each with "id" and "raw".'
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file)
        parser.add_argument(
            "--may-abstain", action="store_true", help="the prompt allowed the answer Unclear, which is an abstention"
        )

    def handle(self, *args: object, file: Path, **options: Any) -> None:
        answers = []
        with reading(file, ReadError) as lines:
            for number, row in read_lines(lines, file.name):
                raw = row.get("raw")
                if "id" not in row:
                    raise ReadError(file.name, number, "no “id”", "“id” and “raw” in each object")
                if not (raw is None or isinstance(raw, str)):
                    raise ReadError(file.name, number, "a “raw” that is no text", "the answer as it came, or null")
                parsed = parse_answer(raw, may_abstain=options["may_abstain"])
                answers.append(
                    {
                        "id": row["id"],
                        "status": parsed.status,
                        "predicted": parsed.predicted,
                        "codes": list(parsed.codes),
                        "subset": parsed.subset,
                    }
                )
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

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, required=True, metavar="N")
        parser.add_argument("--into", required=True, metavar="SLUG", help="the study in which they are coded")
        parser.add_argument("--seed", type=int, default=0, help="seed of their order")

    def handle(self, *args: object, **options: Any) -> None:
        batch, into = find_batch(options["batch"]), find_study(options["into"])
        counts = store_rationales(batch=batch, into=into, by=trail.SYSTEM, seed=options["seed"])
        self.answer(
            counts | {"into": into.slug},
            f"{counts['rationales']} rationales are in {counts['threads']} masked threads of {into.slug}; "
            f"{counts['without_rationale']} answers named a cue and wrote no rationale.",
        )


class Command(Noun):
    help = "The gender-cue probe: select reviews, ask models about them, read and report the answers."
    verbs = {
        "winnow": Winnow,
        "launch": Launch,
        "report": Report,
        "parse": Parse,
        "store-rationales": StoreRationales,
    }
