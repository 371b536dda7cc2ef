from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.probe.management.reading import load_rules
from auditapp.probe.pure.listing import list_funnel
from auditapp.probe.pure.reviews import ReviewFile, ReviewsRefused
from auditapp.probe.pure.winnowing import RulesRefused, winnow


class Command(BaseCommand):
    """Needs no database; nothing is stored."""

    help = "Show what declared rules keep of a CSV of reviews, as a funnel by name-inferred category."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="CSV")
        parser.add_argument("--rules", required=True, metavar="FILE", help="declared rules as JSON")
        parser.add_argument("--text", default="", metavar="COLUMN", help="the heading of the text (default: text)")
        parser.add_argument(
            "--category",
            default="",
            metavar="COLUMN",
            help="the heading of the name-inferred category (default: name_inferred_category, or category)",
        )
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object, with what the file calls the kept"
        )

    def handle(self, *args: object, file: str, **options: Any) -> None:
        rules = load_rules(options["rules"])
        try:
            with Path(file).open("rb") as opened:
                reviews = ReviewFile(opened, text=options["text"], category=options["category"])
                winnowing = winnow(reviews, rules)
                kept = [review.identifier for review in winnowing]
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except (ReviewsRefused, RulesRefused) as error:
            raise CommandError(f"{file}: {error}") from error
        found = {
            "rules": rules.name,
            "rules_sha256": rules.sha256,
            "funnel": winnowing.funnel,
            "kept": kept,
            "without_text": reviews.without_text,
        }
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        for line in list_funnel(winnowing.funnel):
            self.stdout.write(line)
        if reviews.without_text:
            self.stdout.write(f"{reviews.without_text:,} rows without a text were passed over.")
