from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from auditapp.batches.actions import pause_granted
from auditapp.batches.grants import find_left
from auditapp.batches.pure.estimates import to_dollars
from auditapp.llm.grants import list_grants, revoke_grant, set_grant
from auditapp.llm.management import LABEL, find_variant
from auditapp.llm.models import Grant
from transcripts.audit_trail import trail
from transcripts.studies.management import find_study
from transcripts.ui.commands import ActCommand, Argument, Noun, read_number

# Each option, and the limit that it gives.
LIMITS = {"total": "study_usd", "day": "study_day_usd", "person_day": "person_day_usd"}


class Set(ActCommand):
    help = (
        "Let a study use the models of an account, up to three limits in US dollars, or revoke the grant. Without a model, list "
        "the grants of the study and what is left of them."
    )
    takes = (
        Argument("study", metavar="STUDY", help="the study's name in addresses"),
        LABEL.but(nargs="?", help="any model of the account; the grant covers all of its models"),
        Argument("--total", metavar="USD", help="the most that all its batches together may spend"),
        Argument("--day", metavar="USD", help="the most that may be launched in the study on one day"),
        Argument("--person-day", metavar="USD", help="the most that one person may launch on one day"),
        Argument("--free-only", action="store_true", help="without limits: only models that cost nothing"),
        Argument("--revoke", action="store_true", help="end the grant"),
        Argument("--pause", action="store_true", help="with --revoke: pause the batches that use the account"),
    )

    def handle(self, *args: object, **options: Any) -> None:
        study = find_study(str(options["study"]))
        given = {name: options[name] for name in LIMITS if options[name] is not None}
        if options["label"] is None and not (given or options["free_only"] or options["revoke"] or options["pause"]):
            grants = list_grants(study=study)
            none = f"The study {study.slug} has no grants: its members can launch only the fake provider."
            self.answer(
                [summarise(grant) for grant in grants], "\n".join(describe(grant, 0) for grant in grants) or none
            )
            return
        if options["label"] is None:
            raise CommandError("Name a model of the account after the study.")
        if sum([bool(given), bool(options["free_only"]), bool(options["revoke"])]) != 1:
            raise CommandError(
                "Give the limits (--total, --day and --person-day), or --free-only, or --revoke. Use only one of the three."
            )
        if options["pause"] and not options["revoke"]:
            raise CommandError("--pause needs --revoke.")
        account = find_variant(str(options["label"])).account
        if options["revoke"]:
            grant = revoke_grant(study=study, account=account, by=trail.SYSTEM)
        else:
            limits = {
                LIMITS[name]: read_number(amount, f"--{name.replace('_', '-')}", "US dollars, such as 20")
                for name, amount in given.items()
            }
            grant = set_grant(study=study, account=account, by=trail.SYSTEM, **limits)
        paused = pause_granted(grant=grant, by=trail.SYSTEM) if options["pause"] else 0
        self.answer(summarise(grant) | {"paused": paused}, describe(grant, paused))


def summarise(grant: Grant) -> dict[str, object]:
    """The grant in US dollars, as text, so that no amount is rounded. Reads grant.study and grant.account."""
    left, is_open = find_left(grant, trail.SYSTEM), grant.has_limits and not grant.is_revoked
    names = ("study_nano", "study_day_nano", "person_day_nano")
    limits = {name.removesuffix("_nano"): to_dollars(getattr(grant, name)) for name in names}
    return {
        "study": grant.study.slug,
        "account": grant.account.name,
        "number": grant.number,
        "revoked": grant.is_revoked,
        "limits": {name: None if limit is None else f"{limit:f}" for name, limit in limits.items()},
        "left": f"{to_dollars(left.study):f}" if is_open else None,
        "left_today": f"{to_dollars(left.study_today):f}" if is_open else None,
    }


def describe(grant: Grant, paused: int) -> str:
    """What was done, in a sentence. Reads grant.study and grant.account."""
    study, account = grant.study.slug, grant.account.name
    if grant.is_revoked:
        rest = f" {paused:,} of its batches {'was' if paused == 1 else 'were'} paused." if paused else ""
        return f"The study {study} may no longer use the account {account}.{rest}"
    if not grant.has_limits:
        return f"The study {study} may use the models of {account} that cost nothing."
    study_limit, day, person = (
        f"${to_dollars(nano):,.2f}" for nano in (grant.study_nano, grant.study_day_nano, grant.person_day_nano)
    )
    left = to_dollars(find_left(grant, trail.SYSTEM).study)
    return (
        f"The study {study} may use the models of {account}: {study_limit} in all (${left:,.2f} left), {day} a day, {person} a "
        "day for each person."
    )


class Command(Noun):
    help = "Let a study use the models of an account."
    verbs = {
        "set": Set,
    }
