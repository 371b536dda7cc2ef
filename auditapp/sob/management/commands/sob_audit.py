from __future__ import annotations

import json
import random
from typing import Any

from django.core.management.base import CommandParser

from auditapp.sob.audits.actions import FORMATTER_SIZE, draw_audit
from auditapp.sob.audits.queries import write_report
from auditapp.sob.management.choices import find_batch
from auditapp.sob.models import Audit
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand, find_row
from transcripts.ui.typed_text import MAX_SEED


class Command(ActCommand):
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
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, batch: int, **options: Any) -> None:
        source = find_batch(batch)
        if options["report"] is not None:
            audits = source.sob_audits.order_by("number")
            hint = "Draw one with --draw."
            audit = find_row(audits, f"audit of batch {batch} with the number", hint=hint, number=options["report"])
            self.stdout.write(json.dumps(write_report(audit), indent=None if options["json"] else 2))
            return
        seed = options["seed"] if options["seed"] is not None else random.randint(0, MAX_SEED)  # noqa: S311
        audit = draw_audit(batch=source, scope=options["draw"], size=options["size"], seed=seed, by=trail.SYSTEM)
        drawn = {"audit": audit.number, "scope": audit.scope, "size": audit.size, "seed": seed, "frame": audit.frame}
        if options["json"]:
            self.stdout.write(json.dumps(drawn))
        else:
            self.stdout.write(
                f"Audit {audit.number}: {audit.size:,} of {audit.frame:,} readings, seed {audit.seed}, to be marked on its page."
            )
