from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.audit_trail.checkpoints import compare_with_checkpoints, list_checkpoints
from transcripts.audit_trail.pure.checkpoints import BadKey, read_public_key
from transcripts.audit_trail.trail import verify_streams


class Command(BaseCommand):
    help = (
        "Check every event of the audit trail against its hash and the events beside it, and, with --checkpoints, the trail "
        "against signed checkpoints. The exit status is 1 if something does not match."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--checkpoints", type=Path, metavar="FOLDER", help="a folder written by audit_checkpoint")
        parser.add_argument(
            "--public-key",
            type=Path,
            metavar="FILE",
            help="the public key, as `openssl pkey -in KEY -pubout` writes it",
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        folder, key = options["checkpoints"], options["public_key"]
        if (folder is None) != (key is None):
            raise CommandError("--checkpoints and --public-key go together: name both or neither.")
        compared, problems = 0, list[str]()
        if isinstance(folder, Path) and isinstance(key, Path):
            compared, problems = compare(folder, key)
        states = verify_streams()
        breaks = [
            {"stream": stream, "sequence": first_break} for stream, _, first_break in states if first_break is not None
        ]
        events = sum(events for _, events, _ in states)
        if options["json"]:
            answer = {"streams": len(states), "events": events, "breaks": breaks}
            if folder is not None:
                answer |= {"checkpoints": compared, "problems": problems}
            self.stdout.write(json.dumps(answer))
        elif not breaks and not problems:
            agreeing = (
                f" It agrees with {compared} checkpoint{'' if compared == 1 else 's'}." if folder is not None else ""
            )
            self.stdout.write(f"{events} events in {len(states)} streams: the chain is intact.{agreeing}")
        places = "; ".join(f"{each['stream']} from event {each['sequence']}" for each in breaks)
        if breaks:
            problems.insert(0, f"{places}. The events before these still match.")
        if problems:
            raise CommandError(
                f"The audit trail was changed: {' '.join(problems)} Compare it with an earlier backup or export."
            )


def compare(folder: Path, key: Path) -> tuple[int, list[str]]:
    """How many checkpoints there are, and what speaks against them or the trail. Raises ``CommandError``."""
    try:
        public = read_public_key(key.read_bytes())
    except OSError as error:
        raise CommandError(f"The key {key} cannot be read ({error.strerror}).") from error
    except BadKey as error:
        raise CommandError(f"The key {key} cannot be used: {error}.") from error
    count = len(list_checkpoints(folder))
    if not count:
        raise CommandError(f"There is no checkpoint in {folder}. Write one with audit_checkpoint.")
    return count, list(compare_with_checkpoints(folder, public))
