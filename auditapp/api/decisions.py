"""Decisions, “nothing more here”: read those the person may see; decide and reopen with the actions of the desk."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.inputs import RowBody
from auditapp.api.labels import REASON, LabelParameters, find_sentence, narrow_labels
from auditapp.api.outputs import RowOutput
from auditapp.api.pagination import Pages
from auditapp.api.views import ProjectView, at_one_address, list_columns
from transcripts.accounts.models import Scope
from transcripts.blinding.viewers import Viewer
from transcripts.coding.actions import decide_sentence, reopen_sentence
from transcripts.coding.models import Decision
from transcripts.coding.queries import find_stored
from transcripts.projects.roles import Permission


class DecisionOutput(RowOutput):
    """That one person has read a sentence and has nothing more to code there."""

    class Meta:
        ref_name = "Decision"
        model = Decision
        fields = (
            "id interview sentence coder layer none_applies idempotency_key created_at withdrawn_at withdrawal_reason"
        )
        paths: ClassVar = {"interview": "sentence__turn__interview", "coder": "coder__username"}


class ListDecisions(ProjectView):
    """The decisions of a study you may see, in the order they were stored. They are the denominator of shares of codes."""

    Output = DecisionOutput
    Query = LabelParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        visible = Decision.objects.visible_to(Viewer(self.project, self.person, self.role)).order_by("pk")
        return self.answer_page(narrow_labels(visible, self.query).values(*list_columns(self.Output)))


class DecideSentence(ProjectView):
    """Say that you have read a sentence and have nothing more to code there, as Enter does at the desk."""

    class Input(RowBody):
        """A sentence that you have read."""

        class Meta(RowBody.Meta):
            ref_name = "NewDecision"
            model = Decision
            fields = "sentence idempotency_key"

    Output = DecisionOutput
    scope = Scope.CODE
    permission = Permission.CODE
    success = {201: "Stored.", 200: "It was stored before."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        key = given["idempotency_key"]
        stored_before = find_stored(Decision, self.person.pk, key) is not None
        sentence = find_sentence(self.project, given["sentence"])
        decision = decide_sentence(project=self.project, sentence=sentence, by=self.person, idempotency_key=key)
        is_new = decision.idempotency_key == key and not stored_before
        return self.answer(read_decision(decision.pk), status=201 if is_new else 200)


class ReopenSentence(ProjectView):
    """Take back one of your own decisions. Codings stay; taking it back again changes nothing."""

    class Input(RowBody):
        """The reason, if one is required."""

        class Meta(RowBody.Meta):
            ref_name = "Reopening"
            model = Decision
            fields = "reason"
            paths: ClassVar = {"reason": ("withdrawal_reason", REASON)}

    Output = DecisionOutput
    scope = Scope.CODE
    permission = Permission.CODE
    success = {200: "The decision as it is stored now."}
    refusals = (409,)

    def post(self, request: Request, slug: str, decision_id: int) -> Response:
        given = self.read_body()
        visible = Decision.objects.visible_to(Viewer(self.project, self.person, self.role))
        own = visible.filter(coder=self.person).select_related("sentence__turn__interview")
        decision = own.filter(pk=decision_id).first()
        if decision is None:
            raise Http404(f"You have no decision {decision_id} in this study.")
        reopen_sentence(project=self.project, decision=decision, by=self.person, reason=given["reason"])
        return self.answer(read_decision(decision.pk))


Decisions = at_one_address(get=ListDecisions, post=DecideSentence)


def read_decision(pk: int) -> dict[str, Any]:
    """A decision as it is stored now."""
    found: dict[str, Any] = Decision.objects.values(*list_columns(DecisionOutput)).get(pk=pk)
    return found
