from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.audit_trail.trail import verify_streams


class Command(BaseCommand):
    help = (
        "Check every event of the audit trail against its hash and the events beside it. The exit status is 1 if "
        "one does not match."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        states = verify_streams()
        breaks = [
            {"stream": stream, "sequence": first_break} for stream, _, first_break in states if first_break is not None
        ]
        events = sum(events for _, events, _ in states)
        if options["json"]:
            self.stdout.write(json.dumps({"streams": len(states), "events": events, "breaks": breaks}))
        elif not breaks:
            self.stdout.write(f"{events} events in {len(states)} streams: the chain is intact.")
        if breaks:
            places = "; ".join(f"{each['stream']} from event {each['sequence']}" for each in breaks)
            raise CommandError(
                f"The audit trail was changed: {places}. Compare it with an earlier backup or export. The events before "
                "these still match."
            )
