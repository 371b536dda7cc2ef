from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.batches.command_options import add_launch_options, read_launch_options, report_launched
from auditapp.llm.management.finding import find_variant
from auditapp.llm.models import ModelVariant
from auditapp.sob.judging.actions.launching import NOTICE, launch_sob, needs_notice
from auditapp.sob.management.choices import find_dataset
from auditapp.sob.pure.instruments import TASKS
from transcripts.audit_trail import trail
from transcripts.projects.models import Project
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
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
