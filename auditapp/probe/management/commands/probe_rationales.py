from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from auditapp.probe.actions.rationales import PER_THREAD, store_rationales
from auditapp.probe.management.choices import find_batch
from transcripts.audit_trail import trail
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = (
        "Store the rationales of a probe's primed answers as masked threads of another study, to be coded there for Table 2: "
        f"{PER_THREAD} to a thread, shuffled."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, required=True, metavar="N")
        parser.add_argument("--into", required=True, metavar="SLUG", help="the study in which they are coded")
        parser.add_argument("--seed", type=int, default=0, help="seed of their order")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: object, **options: Any) -> None:
        batch, into = find_batch(options["batch"]), find_study(options["into"])
        counts = store_rationales(batch=batch, into=into, by=trail.SYSTEM, seed=options["seed"])
        if options["json"]:
            self.stdout.write(json.dumps(counts | {"into": into.slug}))
            return
        self.stdout.write(
            f"{counts['rationales']} rationales are in {counts['threads']} masked threads of {into.slug}; "
            f"{counts['without_rationale']} answers named a cue and wrote no rationale."
        )
