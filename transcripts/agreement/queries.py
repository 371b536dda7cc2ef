"""What is read of adjudications, and of the people around them."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from typing import NamedTuple

from django.db.models import QuerySet

from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Membership, Project
from transcripts.projects.roles import ROLES, Permission

JUDGING_ROLES = [role.key for role in ROLES.values() if Permission.ADJUDICATE in role.permissions]


class AdjudicatedReading(NamedTuple):
    """What holds at a sentence for a family after adjudication.

    ``codes`` are identifiers: one reading's, or another one; empty without meaning where the outcome is both or
    redefined, and empty as "none applies" otherwise. The sentence of a turn or an interview is its first.
    """

    sentence_id: int
    family: str
    outcome: str
    codes: list[str]
    reason: str
    adjudicator: str
    decided_at: datetime.datetime
    revision: int


def adjudicated_codes(project: Project) -> list[AdjudicatedReading]:
    """The adjudicated layer of the study as it stands, in the order of the text: one query."""
    rows = _standing(project).order_by(
        "sentence__turn__interview", "sentence__turn__position", "sentence__start", "family_identifier"
    )
    columns = ("sentence", "family_identifier", "outcome", "codes", "reason", "adjudicator__username", "created_at")
    return [AdjudicatedReading(*row) for row in rows.values_list(*columns, "revision")]


def find_standing(project: Project, family: str) -> dict[int, Adjudication]:
    """What stands for a family, by the number of its sentence."""
    rows = _standing(project).filter(family_identifier=family).select_related("adjudicator", "chosen_coder")
    return {row.sentence_id: row for row in rows}


def list_versions(sentence: Sentence, family: str) -> list[Adjudication]:
    """Every decision about a sentence and family, newest first."""
    rows = Adjudication.objects.filter(sentence=sentence, family_identifier=family)
    return list(rows.select_related("adjudicator", "chosen_coder").order_by("-revision"))


def find_other_judges(project: Project, coders: Collection[int]) -> list[User]:
    """Members who may adjudicate and are none of these coders, by name."""
    memberships = Membership.objects.filter(project=project, role__in=JUDGING_ROLES).exclude(user__in=coders)
    return [each.user for each in memberships.select_related("user").order_by("user__username")]


def _standing(project: Project) -> QuerySet[Adjudication]:
    return Adjudication.objects.filter(project=project, withdrawn_at__isnull=True, sentence__retired_by__isnull=True)
