"""The studies that a program may see, the models granted to them, and their webhooks."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.fields import Body, InDollars, RowOutput, Words
from auditapp.api.views import ApiView, PageParameters, Pages, StudyView, at_one_address
from auditapp.batches.pages.progress import describe_grants
from auditapp.llm.grants import list_grants
from auditapp.llm.models import Grant
from auditapp.webhooks import actions
from auditapp.webhooks.models import MAX_ADDRESS, Webhook
from transcripts.accounts.models import Scope
from transcripts.studies.models import Membership
from transcripts.studies.queries import studies_of
from transcripts.studies.roles import ROLE_CHOICES, Permission

MAX_EVENTS = 20


class StudyOutput(RowOutput):
    """A study, and what the person may do in it."""

    role = serializers.ChoiceField(ROLE_CHOICES, source="role.key", help_text="Your role in it.")
    permissions = serializers.SerializerMethodField(help_text="What this role allows you to do.")

    class Meta:
        ref_name = "Study"
        model = Membership
        fields = "slug name description created_at"
        paths: ClassVar = {
            "slug": "study.slug",
            "name": "study.name",
            "description": "study.description",
            "created_at": ("study.created_at", "When it was created."),
        }

    def get_permissions(self, study: dict[str, Any]) -> list[Permission]:
        return sorted(study["role"].permissions)


class ListStudies(ApiView):
    """The studies that you may see, by name, with your role in each."""

    Query = PageParameters
    Output = StudyOutput
    pagination_class = Pages

    def get(self, request: Request) -> Response:
        return self.answer_page([{"study": study, "role": role} for study, role in studies_of(self.person)])


class ReadStudy(StudyView):
    """One study, with your role in it."""

    Output = StudyOutput

    def get(self, request: Request, slug: str) -> Response:
        return self.answer({"study": self.study, "role": self.role})


class ListGrants(StudyView):
    """The accounts whose models the study may use, with what is left for you, which is the highest cap that is possible now."""

    tag = "grants"

    class Output(RowOutput):
        """A grant. Amounts are in US dollars; what is left is rounded down to cents; null: no limits, or revoked."""

        free_only = serializers.BooleanField(help_text="Whether it covers only models that cost nothing.")
        left = InDollars(source="left.study", allow_null=True, help_text="What is left for the study.")
        left_today = InDollars(
            source="left.study_today", allow_null=True, help_text="What is left for the study today."
        )
        left_for_you_today = InDollars(
            source="left.person_today", allow_null=True, help_text="What is left for you in the study today."
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
        grants = pages.paginate_queryset(list_grants(study=self.study), request, view=self)
        return self.answer_rows(pages, [describe_grant(row) for row in describe_grants(grants, self.person)])


def describe_grant(row: dict[str, Any]) -> dict[str, object]:
    """A grant, and what is left of it, for output."""
    grant = row["grant"]
    return {**vars(grant), "account": grant.account, "free_only": not grant.has_limits, "left": row["left"]}


class ListWebhooks(StudyView):
    """The webhooks of a study, in the order they were added, for leads. Their addresses may be secret, so the token needs the
    scope manage."""

    tag = "webhooks"

    class Output(RowOutput):
        """A webhook with the state of its deliveries."""

        waiting = serializers.IntegerField(help_text="Deliveries that are still to be sent, or to be tried again.")
        given_up = serializers.IntegerField(help_text="Deliveries that were never received.")

        class Meta:
            ref_name = "Webhook"
            model = Webhook
            fields = "id address events added_at added_by turned_off_at"
            paths: ClassVar = {"added_by": "added_by_name"}
            lists = "events"

    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page(self.study.webhooks.with_counts())


class AddWebhook(StudyView):
    """Notify an address of what happens in a study. The response contains the secret that signs what is sent; it is shown only
    once."""

    tag = "webhooks"

    class Input(Body):
        """A new webhook."""

        address = Words(max_length=MAX_ADDRESS, help_text="Where events are to be sent: https://host/path.")
        events = serializers.ListField(
            child=Words(max_length=50),
            min_length=1,
            max_length=MAX_EVENTS,
            help_text="Names of events, such as batch.ended and round.completed.",
        )

        class Meta:
            ref_name = "NewWebhook"

    class Output(RowOutput):
        """The webhook with its secret."""

        secret = serializers.CharField(help_text="The secret that signs messages. It is shown only in this response.")

        class Meta:
            ref_name = "AddedWebhook"
            model = Webhook
            fields = "id address events"
            lists = "events"

    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    success = {201: "It was added."}

    def post(self, request: Request, slug: str) -> Response:
        webhook, secret = actions.add_webhook(study=self.study, by=self.person, **self.read_body())
        return self.answer({**vars(webhook), "secret": secret}, status=201)


Webhooks = at_one_address(get=ListWebhooks, post=AddWebhook)
