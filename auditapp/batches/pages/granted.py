"""What a study was granted and what is left of it, for its page, the owner of the site, and those who are about to launch."""

from __future__ import annotations

from collections.abc import Iterable

from auditapp.batches.grants import Left, find_asked_at, find_grants, find_left, needs_no_grant, round_down
from auditapp.batches.launching import LaunchPlan
from auditapp.llm.models import Grant
from auditapp.llm.queries import find_prices
from transcripts.audit_trail import trail
from transcripts.projects.models import Project


def describe_grants(grants: Iterable[Grant], by: trail.Actor) -> list[dict[str, object]]:
    """Each grant with what is left of it for ``by``; ``None`` where it has no limits or was revoked."""
    return [{"grant": grant, "left": _find_shown(grant, by)} for grant in grants]


def describe_money(plan: LaunchPlan, project: Project, by: trail.Actor) -> list[dict[str, object]]:
    """The grants that a launch would commit its cap to, in the same form; none for a person who needs no grant."""
    if needs_no_grant(by):
        return []
    variants = {arm.variant.pk: arm.variant for arm in plan.arms}.values()
    paid = [each for each in find_asked_at(variants, find_prices(variants)) if each.is_paid]
    grants = find_grants(project, paid)
    return describe_grants((grants[each.account.pk] for each in paid if each.account.pk in grants), by)


def _find_shown(grant: Grant, by: trail.Actor) -> Left | None:
    if grant.is_revoked or not grant.has_limits:
        return None
    return Left(*(round_down(nano) for nano in find_left(grant, by)))
