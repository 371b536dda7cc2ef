from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.probe.management.reading import load_rules
from auditapp.probe.pure.listing import list_funnel
from auditapp.probe.pure.reviews import ReviewFile, ReviewsRefused
from auditapp.probe.pure.winnowing import Rules, RulesRefused, winnow
from transcripts.formats.command_files import input_file, say_file
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
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
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object, with what the file calls the reviews kept"
        )

    def handle(self, *args: object, file: Path, **options: Any) -> None:
        rules = load_rules(options["rules"])
        if options["into"]:
            self._store(file, rules, options)
            return
        try:
            with file.open("rb") as opened:
                reviews = ReviewFile(opened, text=options["text"], category=options["category"])
                winnowing = winnow(reviews, rules)
                kept = [review.identifier for review in winnowing]
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except (ReviewsRefused, RulesRefused) as error:
            raise CommandError(f"{say_file(file)}: {error}") from error
        if options["json"]:
            found = {
                "rules": rules.name,
                "rules_sha256": rules.sha256,
                "funnel": winnowing.funnel,
                "kept": kept,
                "without_text": reviews.without_text,
            }
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        for line in list_funnel(winnowing.funnel):
            self.stdout.write(line)
        if reviews.without_text:
            self.stdout.write(f"{reviews.without_text:,} rows without a text were passed over.")

    def _store(self, file: Path, rules: Rules, options: dict[str, Any]) -> None:
        from auditapp.probe.actions.reviews import load_reviews
        from transcripts.audit_trail import trail
        from transcripts.projects.management.finding import find_study

        try:
            with file.open("rb") as opened:
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
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        if options["json"]:
            found = {
                "reviews": stored.name,
                "rules": rules.name,
                "rules_sha256": stored.rules_sha256,
                "sha256": stored.sha256,
                "funnel": stored.funnel,
                "without_text": stored.without_text,
            }
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        for line in list_funnel(stored.funnel):
            self.stdout.write(line)
        self.stdout.write(f"Stored as “{stored.name}”.")
