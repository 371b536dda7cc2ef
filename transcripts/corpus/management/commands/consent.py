from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import pluralize

from transcripts.audit_trail import trail
from transcripts.corpus.consent import record_consent
from transcripts.corpus.models import Consent, Interview
from transcripts.corpus.queries import STATES, count_states, list_consents
from transcripts.projects.management.finding import find_study
from transcripts.projects.models import Project
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    """Records for all the interviews named, or for none of them."""

    help = "Record consent for interviews. Without a scope, count the records."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the study")
        parser.add_argument(
            "--scope", choices=Consent.Scope.values, help="the scope of the consent; without it, nothing is recorded"
        )
        said = parser.add_mutually_exclusive_group()
        said.add_argument("--given", action="store_true", help="it may be done")
        said.add_argument("--withdrawn", action="store_true", help="it may not be done: refused or withdrawn")
        parser.add_argument(
            "--basis", default="", metavar="TEXT", help="the basis of the consent; required to record consent"
        )
        parser.add_argument(
            "--interview",
            nargs="+",
            action="extend",
            default=[],
            metavar="ID",
            help="the interviews, by the identifiers they were imported with (default: all interviews of the study)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        project = find_study(options["project"])
        if not options["scope"]:
            if options["given"] or options["withdrawn"] or options["basis"] or options["interview"]:
                raise CommandError("Give the scope with --scope. Nothing was recorded.")
            self._count(project, as_json=options["json"])
            return
        if not (options["given"] or options["withdrawn"]):
            raise CommandError("Say whether consent is --given or --withdrawn. Nothing was recorded.")
        rows = record_consent(
            project=project,
            interviews=find_interviews(project, options["interview"]),
            scope=options["scope"],
            is_given=options["given"],
            basis=options["basis"],
            by=trail.SYSTEM,
        )
        if options["json"]:
            summary = {"scope": options["scope"], "given": options["given"], "recorded": len(rows)}
            interviews = [row.interview.external_id for row in rows]
            self.stdout.write(json.dumps({"project": project.slug, **summary, "interviews": interviews}))
            return
        said = "given" if options["given"] else "not given"
        count = f"{len(rows)} interview{pluralize(len(rows))}"
        self.stdout.write(f"{Consent.Scope(options['scope']).label}: {said}, recorded for {count}.")

    def _count(self, project: Project, *, as_json: bool) -> None:
        counts = count_states(list_consents(project))
        if as_json:
            scopes = {each["scope"]: {state: each[state] for state in STATES} for each in counts}
            self.stdout.write(json.dumps({"project": project.slug, "scopes": scopes}))
            return
        for each in counts:
            self.stdout.write(
                "{label}: {given} given, {refused} not given, {unknown} with nothing on record.".format(**each)
            )


def find_interviews(project: Project, identifiers: list[str]) -> list[Interview]:
    """The interviews of the study by their identifiers; all of them when none is named."""
    if not identifiers:
        return list(project.interviews.all())
    found = {each.external_id: each for each in project.interviews.filter(external_id__in=identifiers)}
    missing = sorted(set(identifiers) - set(found))
    if missing:
        named = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise CommandError(f"There is no interview {named} in {project.slug}. Nothing was recorded.")
    return list(found.values())
