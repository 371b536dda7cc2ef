"""Whose money a study may spend on models."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ProjectView
from auditapp.batches.pages.granted import describe_grants
from auditapp.batches.pure.money import to_dollars
from auditapp.llm.granting import list_grants
from transcripts.projects.roles import Permission


class ListGrants(ProjectView):
    """The accounts whose models the study may use, with what is left for you: the most that a cap may be now."""

    class Output(serializers.Serializer[Any]):
        """A grant. Amounts are US dollars, what is left rounded down to cents; null: no limits, or revoked."""

        account = serializers.CharField(help_text="Name of the account.")
        number = serializers.IntegerField(help_text="Number of the grant; a change has the next one.")
        revoked = serializers.BooleanField(help_text="Whether it was revoked.")
        free_only = serializers.BooleanField(help_text="Whether it is for models that cost nothing only.")
        study = serializers.FloatField(allow_null=True, help_text="The most that all batches of the study may spend.")
        study_day = serializers.FloatField(allow_null=True, help_text="The most that may be launched on one day.")
        person_day = serializers.FloatField(allow_null=True, help_text="The most that one person may launch on a day.")
        left = serializers.FloatField(allow_null=True, help_text="Left for the study.")
        left_today = serializers.FloatField(allow_null=True, help_text="Left for the study today.")
        left_for_you_today = serializers.FloatField(allow_null=True, help_text="Left for you in the study today.")
        granted_by = serializers.CharField(help_text="Who granted it, or revoked it.")
        granted_at = serializers.DateTimeField(help_text="When.")

        class Meta:
            ref_name = "Grant"

    permission = Permission.RUN_BATCHES
    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        pages = Pages()
        grants = pages.paginate_queryset(list_grants(project=self.project), request, view=self)
        return self.answer_rows(pages, [describe_grant(row) for row in describe_grants(grants, self.person)])


def describe_grant(row: dict[str, Any]) -> dict[str, object]:
    """A grant with what is left of it, for output."""
    grant, left = row["grant"], row["left"]
    return {
        "account": grant.account.name,
        "number": grant.number,
        "revoked": grant.is_revoked,
        "free_only": not grant.has_limits,
        "study": to_dollars(grant.study_nano),
        "study_day": to_dollars(grant.study_day_nano),
        "person_day": to_dollars(grant.person_day_nano),
        "left": to_dollars(left.study) if left else None,
        "left_today": to_dollars(left.study_today) if left else None,
        "left_for_you_today": to_dollars(left.person_today) if left else None,
        "granted_by": grant.granted_by_name,
        "granted_at": grant.granted_at,
    }
