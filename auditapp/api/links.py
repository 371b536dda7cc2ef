"""Links of codings: read those the person may see; add and withdraw her own, with the actions of the desk."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.inputs import Choice, RowBody
from auditapp.api.labels import LabelParameters, check_quote, find_code, find_sentence, narrow_labels
from auditapp.api.negotiation import NegotiationView
from auditapp.api.outputs import RowOutput
from auditapp.api.views import Pages, at_one_address, list_columns
from transcripts.accounts.models import Scope
from transcripts.coding.actions.links import add_link, withdraw_link
from transcripts.coding.models import Coding, Link
from transcripts.corpus.pure.boundaries import Extent
from transcripts.refusals import WrongInput
from transcripts.studies.roles import Permission

# Named for the schema, which tells fields that are named alike apart.
LINK_KINDS = Link.Kind.choices


class LinkOutput(RowOutput):
    """What a coding acts on, rests on or revises."""

    class Meta:
        ref_name = "Link"
        model = Link
        fields = "id interview coding kind code sentence quote_start quote_end coder layer created_at withdrawn_at"
        paths: ClassVar = {
            "interview": "coding__sentence__turn__interview",
            "code": "code__identifier",
            "coder": "coder__username",
        }


class LinkView(NegotiationView):
    """What the operations on links share."""

    Output = LinkOutput

    def visible(self) -> QuerySet[Link]:
        """The links of codings that she may see."""
        links = Link.objects.filter(coding__sentence__turn__interview__study=self.study).order_by("pk")
        if not self.viewer.sees_all:
            return links.filter(coder=self.person)
        if self.viewer.visible_interviews is None:
            return links
        own, shown = links.filter(coder=self.person), self.viewer.visible_interviews
        return own | links.filter(coding__sentence__turn__interview__in=shown)

    def answer_link(self, link: Link, *, status: int = 200) -> Response:
        """A link as it is stored now."""
        return self.answer(Link.objects.values(*list_columns(LinkOutput)).get(pk=link.pk), status=status)


class ListLinks(LinkView):
    """The links of a study you may see, by the rules of codings, in the order they were stored."""

    class Query(LabelParameters):
        """Which links to return."""

        kind = Choice(LINK_KINDS, required=False, help_text="Only links of this kind.")

    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        links = narrow_labels(self.visible(), self.query, interview="coding__sentence__turn__interview")
        if "kind" in self.query:
            links = links.filter(kind=self.query["kind"])
        return self.answer_page(links.values(*list_columns(LinkOutput)))


class AddLink(LinkView):
    """Link one of your own codings: a move to the feature that it acts on, an entry or a Revise to an earlier sentence.

    The same request sent again stores nothing more and answers 200. So does a link that is active already.
    """

    class Input(RowBody):
        """A link."""

        class Meta(RowBody.Meta):
            ref_name = "NewLink"
            model = Link
            fields = "coding kind code sentence quote_start quote_end idempotency_key"
            paths: ClassVar = {
                "code": ("code__identifier", "Identifier of the feature, for acts_on."),
                "sentence": ("sentence", "Number of the sentence that it leads to, for warrant and revises."),
            }

        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            check_quote(attrs)
            return attrs

    scope = Scope.CODE
    permission = Permission.CODE
    success = {201: "Stored.", 200: "It had been stored before."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        related = Coding.objects.select_related("code__family", "sentence__turn__interview")
        coding = related.filter(sentence__turn__interview__study=self.study, coder=self.person).filter(
            pk=given["coding"]
        )
        found = coding.first()
        if found is None:
            raise serializers.ValidationError({"coding": [f"You have no coding {given['coding']} in this study."]})
        key = given["idempotency_key"]
        stored_before = Link.objects.filter(coder=self.person, idempotency_key=key).exists()
        quote = Extent(given["quote_start"], given["quote_end"]) if given["quote_start"] is not None else None
        try:
            link = add_link(
                study=self.study,
                coding=found,
                kind=given["kind"],
                code=find_code(self.study, given["code"]) if given["code"] is not None else None,
                sentence=find_sentence(self.study, given["sentence"]) if given["sentence"] is not None else None,
                quote=quote,
                by=self.person,
                idempotency_key=key,
            )
        except WrongInput as error:
            # The desk has one field for what a link leads to.
            end = "code" if given["kind"] == Link.Kind.ACTS_ON else "sentence"
            names = {"target": end, "quote_from": "quote_start", "quote_to": "quote_end"}
            raise WrongInput(str(error), field=names.get(error.field, error.field)) from error
        is_new = link.idempotency_key == key and not stored_before
        return self.answer_link(link, status=201 if is_new else 200)


class WithdrawLink(LinkView):
    """Withdraw one of your own links. Its row is kept; withdrawing it again changes nothing."""

    scope = Scope.CODE
    permission = Permission.CODE
    success = {200: "The link as it is stored now."}
    refusals = (409,)

    def post(self, request: Request, slug: str, link_id: int) -> Response:
        self.read_body()
        own = self.visible().filter(coder=self.person).select_related("coding__sentence__turn__interview")
        link = own.filter(pk=link_id).first()
        if link is None:
            raise Http404(f"You have no link {link_id} in this study.")
        withdraw_link(study=self.study, link=link, by=self.person)
        return self.answer_link(link)


Links = at_one_address(get=ListLinks, post=AddLink)
