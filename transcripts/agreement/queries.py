"""What is read of adjudications, and of the people around them."""

from __future__ import annotations

from collections.abc import Collection

from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Membership, Project
from transcripts.projects.roles import ROLES, Permission

JUDGING_ROLES = [role.key for role in ROLES.values() if Permission.ADJUDICATE in role.permissions]


def find_active(project: Project, family: str) -> dict[int, Adjudication]:
    """The active decisions about a family, by the number of the sentence."""
    rows = Adjudication.objects.filter(
        project=project, family_identifier=family, withdrawn_at__isnull=True, sentence__retired_by__isnull=True
    )
    return {row.sentence_id: row for row in rows.select_related("adjudicator", "chosen_coder")}


def list_versions(sentence: Sentence, family: str) -> list[Adjudication]:
    """Every decision about a sentence and family, newest first."""
    rows = Adjudication.objects.filter(sentence=sentence, family_identifier=family)
    return list(rows.select_related("adjudicator", "chosen_coder").order_by("-revision"))


def find_other_judges(project: Project, coders: Collection[int]) -> list[User]:
    """Members who may adjudicate and are none of these coders, by name."""
    memberships = Membership.objects.filter(project=project, role__in=JUDGING_ROLES).exclude(user__in=coders)
    return [each.user for each in memberships.select_related("user").order_by("user__username")]
