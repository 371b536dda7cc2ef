"""Whose money a study may spend on models."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.outputs import InDollars, RowOutput
from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ProjectView
from auditapp.batches.pages.granted import describe_grants
from auditapp.llm.granting import list_grants
from auditapp.llm.models import Grant
from transcripts.projects.roles import Permission


class ListGrants(ProjectView):
    """The accounts whose models the study may use, with what is left for you: the most that a cap may be now."""

    class Output(RowOutput):
        """A grant. Amounts are US dollars, what is left rounded down to cents; null: no limits, or revoked."""

        free_only = serializers.BooleanField(help_text="Whether it is for models that cost nothing only.")
        left = InDollars(source="left.study", allow_null=True, help_text="Left for the study.")
        left_today = InDollars(source="left.study_today", allow_null=True, help_text="Left for the study today.")
        left_for_you_today = InDollars(
            source="left.person_today", allow_null=True, help_text="Left for you in the study today."
        )

        class Meta:
            ref_name = "Grant"
            model = Grant
            fields = (
                "account number revoked free_only study study_day person_day left left_today left_for_you_today "
                "granted_by granted_at"
            )
            paths: ClassVar = {
                "account": ("account.name", "Name of the account."),
                "revoked": "is_revoked",
                "study": "study_nano",
                "study_day": "study_day_nano",
                "person_day": "person_day_nano",
                "granted_by": "granted_by_name",
            }

    permission = Permission.RUN_BATCHES
    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        pages = Pages()
        grants = pages.paginate_queryset(list_grants(project=self.project), request, view=self)
        return self.answer_rows(pages, [describe_grant(row) for row in describe_grants(grants, self.person)])


def describe_grant(row: dict[str, Any]) -> dict[str, object]:
    """A grant with what is left of it, for output."""
    grant = row["grant"]
    return {**vars(grant), "account": grant.account, "free_only": not grant.has_limits, "left": row["left"]}
