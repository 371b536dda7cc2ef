from __future__ import annotations

import json
import sys

from django.core.management.base import BaseCommand, CommandParser

from auditapp.operations.doctor import OK, WRONG, examine


class Command(BaseCommand):
    help = (
        "Examine the running site: settings, disk, broker, database, migrations, clock, worker, spool, keys, backup, audit trail, "
        "batches. Changes nothing. The exit status is 1 if something is wrong; warnings do not count."
    )
    # They load every page of the site, and would end the command before it can tell what is wrong.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")
        parser.add_argument(
            "--without-trail",
            action="store_true",
            help="do not check the audit trail, which takes a second for some 50,000 events",
        )

    def handle(self, *args: object, **options: object) -> None:
        findings = examine(with_trail=not options["without_trail"])
        wrong = sum(finding.state == WRONG for finding in findings)
        if options["json"]:
            checks = [finding._asdict() for finding in findings]
            self.stdout.write(json.dumps({"ok": not wrong, "checks": checks}))
        else:
            for finding in findings:
                self.stdout.write(f"{finding.state:8}{finding.name:12}{finding.found}")
                if finding.state != OK and finding.advice:
                    self.stdout.write(f"{'':20}{finding.advice}")
            doubtful = sum(finding.state not in {OK, WRONG} for finding in findings)
            self.stdout.write(f"{wrong} wrong, {doubtful} to look at, {len(findings) - wrong - doubtful} in order.")
        if wrong:
            sys.exit(1)
