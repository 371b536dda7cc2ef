from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.batches.command_options import (
    add_launch_options,
    read_launch_options,
    report_launched,
)
from auditapp.llm.management.finding import find_variant
from auditapp.probe.actions.launching import launch_probe
from auditapp.probe.management.choices import find_reviews
from auditapp.probe.pure.limits import CONDITIONS, MIN_TEXTS
from transcripts.audit_trail import trail
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand
from transcripts.ui.typed_text import find_number


class Command(ActCommand):
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
