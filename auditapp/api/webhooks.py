"""Webhooks: the addresses that are told what happened in a study."""

from __future__ import annotations

from typing import ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.inputs import Body, Words
from auditapp.api.outputs import RowOutput
from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ProjectView, at_one_address
from auditapp.webhooks import actions, queries
from auditapp.webhooks.models import MAX_ADDRESS, Webhook
from transcripts.accounts.models import Scope
from transcripts.projects.roles import Permission

MAX_EVENTS = 20


class ListWebhooks(ProjectView):
    """The webhooks of a study, in the order they were added, for leads. Their addresses may be secret: the token needs the
    scope manage."""

    class Output(RowOutput):
        """A webhook with the state of its deliveries."""

        waiting = serializers.IntegerField(help_text="Deliveries to be sent, or to be tried again.")
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
        return self.answer_page(queries.list_webhooks(self.project))


class AddWebhook(ProjectView):
    """Tell an address what happens in a study. The answer has the secret that signs what is sent; it is shown only there."""

    class Input(Body):
        """A new webhook."""

        address = Words(max_length=MAX_ADDRESS, help_text="Where events are to be sent: https://host/path.")
        events = serializers.ListField(
            child=Words(max_length=50),
            min_length=1,
            max_length=MAX_EVENTS,
            help_text="Names of events, such as batch.ended and round.finished.",
        )

        class Meta:
            ref_name = "NewWebhook"

    class Output(RowOutput):
        """The webhook with its secret."""

        secret = serializers.CharField(help_text="The secret that signs what is sent. It is shown only here.")

        class Meta:
            ref_name = "AddedWebhook"
            model = Webhook
            fields = "id address events"
            lists = "events"

    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    success = {201: "It was added."}

    def post(self, request: Request, slug: str) -> Response:
        webhook, secret = actions.add_webhook(project=self.project, by=self.person, **self.read_body())
        return self.answer({**vars(webhook), "secret": secret}, status=201)


Webhooks = at_one_address(get=ListWebhooks, post=AddWebhook)
