from __future__ import annotations

import sys

from auditapp.operations.health import OK, WRONG, examine
from transcripts.ui.commands import AS_JSON, ActCommand, Argument


class Command(ActCommand):
    help = (
        "Check the running site: settings, disk, broker, database, migrations, clock, worker, spool, keys, backup, audit trail, "
        "batches. Changes nothing. The exit status is 1 if something is wrong; warnings do not count."
    )
    # They load every page of the site, and would end the command before it can tell what is wrong.
    requires_system_checks = ()
    takes = (
        AS_JSON,
        Argument(
            "--without-trail",
            action="store_true",
            help="do not check the audit trail; checking it takes about a second for 50,000 events",
        ),
    )

    def handle(self, *args: object, **options: object) -> None:
        findings = examine(with_trail=not options["without_trail"])
        wrong = sum(finding.state == WRONG for finding in findings)
        words = []
        for finding in findings:
            words.append(f"{finding.state:8}{finding.name:12}{finding.found}")
            if finding.state != OK and finding.advice:
                words.append(f"{'':20}{finding.advice}")
        doubtful = sum(finding.state not in {OK, WRONG} for finding in findings)
        words.append(f"{wrong} wrong, {doubtful} to look at, {len(findings) - wrong - doubtful} in order.")
        self.answer({"ok": not wrong, "checks": [finding._asdict() for finding in findings]}, words)
        if wrong:
            sys.exit(1)
