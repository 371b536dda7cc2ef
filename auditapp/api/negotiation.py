"""Case sheets, pairs of threads, the figures of trajectories, and links of codings: people read those that they may see, and add
and withdraw their own, with the actions of the desk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import Max, QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.codings import LabelParameters, check_quote, find_code, find_sentence, narrow_labels
from auditapp.api.errors import Conflict, InvalidParameters
from auditapp.api.fields import Body, Choice, Numeral, Parameters, RowBody, RowOutput, WholeNumber, Words
from auditapp.api.views import PageParameters, Pages, StudyView, at_one_address, list_columns
from transcripts.accounts.models import Scope
from transcripts.coding.actions.links import add_link, withdraw_link
from transcripts.coding.models import Coding, Link
from transcripts.corpus.models import Interview, Kind
from transcripts.corpus.pure.boundaries import Extent
from transcripts.negotiation.actions import pair_threads, withdraw_pair, write_case_sheet
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.negotiation.pure.report import TOGETHER, NotThere, make_report
from transcripts.negotiation.queries.cases import PairView, list_pairs, visible_sheets
from transcripts.negotiation.queries.records import read_records
from transcripts.negotiation.queries.scores import leave_out_coefficients
from transcripts.refusals import WrongInput
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_ID

# Named for the schema, which tells fields that are named alike apart.
EXPECTATIONS = Pair.Expect.choices
MAX_LISTED = 1_000


def _make_based_on() -> WholeNumber:
    return WholeNumber(
        required=False,
        min_value=0,
        max_value=MAX_ID,
        help_text="The latest number that you have read; required if there is one. If a newer one exists, it is not replaced, "
        "and the response is 409.",
    )


class NegotiationView(StudyView):
    """What these operations share."""

    def find_interview(self, number: int, field: str) -> Interview:
        """The interview of the study with this number. Raises ``ValidationError``."""
        interview = self.study.interviews.filter(pk=number).first()
        if interview is None:
            raise serializers.ValidationError({field: [f"There is no interview {number} in this study."]})
        return interview


class FeatureInput(Body):
    """A feature of a case, and why it is listed."""

    feature = Words(max_length=100, help_text="Id of a feature of the current codebook.")
    reason = Words(help_text="Why it is relevant or irrelevant.")

    class Meta:
        ref_name = "ListedFeature"


def find_base(given: Mapping[str, Any], newest: int, words: str) -> int:
    """The number that a program has read, or 0 if there is none, so that a number stored in the meantime is not replaced unread.

    Raises ``WrongInput`` if there is one and the program does not say that it has read it.
    """
    if newest and given.get("based_on") is None:
        raise WrongInput(f"{words} {newest}. Read it, and give its number here.", field="based_on")
    return int(given.get("based_on") or 0)


class CaseSheetOutput(RowOutput):
    """Which features matter to the case of a thread, and which do not."""

    relevant = FeatureInput(many=True, help_text="Features that matter to the case, with the reasons.")
    irrelevant = FeatureInput(many=True, help_text="Features that do not, with the reasons.")
    intents = serializers.DictField(
        source="told_intents",
        child=serializers.CharField(),
        help_text="The intents of the interviewer's turns, by position; empty for coders.",
    )

    class Meta:
        ref_name = "CaseSheet"
        model = CaseSheet
        fields = "id interview number relevant irrelevant intents reason written_at written_by"
        paths: ClassVar = {
            "reason": ("reason", "Why it replaces the previous number; empty for the first."),
            "written_by": "written_by__username",
        }


class ListCaseSheets(NegotiationView):
    """The case sheets of a study that you may read, with their earlier numbers.

    A person who codes a thread can read its case sheet once she has completed or unblinded the thread, or if she wrote the case
    sheet herself. The case sheet of a masked thread can be read only by its author.
    """

    class Query(PageParameters):
        """Which case sheets to return."""

        interview = Numeral(
            required=False, min_value=1, max_value=MAX_ID, help_text="Number of an interview: only its case sheets."
        )

    Output = CaseSheetOutput
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        sheets = visible_sheets(self.viewer)
        if "interview" in self.query:
            sheets = sheets.filter(interview=self.query["interview"])
        return self.answer_page(sheets.values(*list_columns(CaseSheetOutput)))


class WriteCaseSheet(NegotiationView):
    """Write the case sheet of a thread, or its next number, which needs a reason. Existing numbers never change."""

    class Input(RowBody):
        """A case sheet."""

        relevant = FeatureInput(many=True, required=False, help_text="Features that matter to the case.")
        irrelevant = FeatureInput(many=True, required=False, help_text="Features that do not.")
        intents = serializers.DictField(
            child=Words(),
            required=False,
            help_text="The intents of the interviewer's turns, by position; if not sent, as in the previous number.",
        )
        based_on = _make_based_on()

        class Meta(RowBody.Meta):
            ref_name = "NewCaseSheet"
            model = CaseSheet
            fields = "interview relevant irrelevant intents reason"
            paths: ClassVar = {"reason": ("reason", "Why it replaces the previous number, if there is one.")}

    Output = CaseSheetOutput
    scope = Scope.MANAGE
    permission = Permission.ADJUDICATE
    success = {201: "Stored."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        interview = self.find_interview(given["interview"], "interview")
        latest = interview.case_sheets.order_by("-number").first()
        if latest is not None and not visible_sheets(self.viewer).filter(pk=latest.pk).exists():
            raise Conflict(
                "This thread has a case sheet that is closed to you. Complete the thread, or unblind it on the page of its case "
                "sheet, before you write the next number."
            )
        based_on = find_base(given, latest.number if latest else 0, "This thread has case sheet")
        sheet = write_case_sheet(
            study=self.study,
            interview=interview,
            relevant=given.get("relevant", []),
            irrelevant=given.get("irrelevant", []),
            intents=given.get("intents"),
            reason=given["reason"],
            by=self.person,
            based_on=based_on,
        )
        return self.answer(
            visible_sheets(self.viewer).values(*list_columns(CaseSheetOutput)).get(pk=sheet.pk), status=201
        )


class PairOutput(RowOutput):
    """Two threads that differ in one thing. What differs and what is expected is hidden from you until you have decided both."""

    open = serializers.BooleanField(help_text="Whether you may see how they differ.")
    left_a = serializers.IntegerField(help_text="How many sentences of the first thread you have still to decide.")
    left_b = serializers.IntegerField(help_text="How many sentences of the second thread you have still to decide.")
    expect = serializers.ChoiceField(
        [("", "Closed"), *EXPECTATIONS],
        help_text="Whether the difference should change what the model does; empty while it is hidden.",
    )
    made_by = serializers.CharField(source="writer", help_text="Who paired them.")

    class Meta:
        ref_name = "Pair"
        model = Pair
        fields = "name number a b open left_a left_b differs expect made_at made_by withdrawn_at"
        paths: ClassVar = {
            "name": ("name", "Its name."),
            "a": ("a", "Number of the first interview."),
            "b": ("b", "Number of the second interview."),
            "differs": ("differs", "How they differ; empty while it is hidden."),
        }


class ListPairs(NegotiationView):
    """The current pairs of threads, by name."""

    Output = PairOutput
    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        pages = Pages()
        rows = Pair.objects.active().filter(study=self.study).order_by("name")
        page = pages.paginate_queryset(rows, request, view=self)
        views = list_pairs(self.viewer, Pair.objects.filter(pk__in=[pair.pk for pair in page]))
        return self.answer_rows(pages, [describe_pair(view) for view in views])


class PairThreads(NegotiationView):
    """Pair two threads. An existing pair of the same name is replaced, which needs a reason; both rows are kept."""

    class Input(RowBody):
        """A pair."""

        based_on = _make_based_on()

        class Meta(RowBody.Meta):
            ref_name = "NewPair"
            model = Pair
            fields = "name a b differs expect reason"
            paths: ClassVar = {
                "name": ("name", "Its name: letters, digits, single spaces and - _ ."),
                "a": ("a", "Number of the first interview."),
                "b": ("b", "Number of the second interview."),
                "expect": ("expect", "Whether the difference should change what the model does."),
                "reason": ("reason", "Why it replaces the previous pair, if any."),
            }

    Output = PairOutput
    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    success = {201: "Stored."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        threads = {side: self.find_interview(given[side], side) for side in ("a", "b")}
        numbers = Pair.objects.filter(study=self.study, name=given["name"].strip())
        newest = numbers.aggregate(newest=Max("number"))["newest"] or 0
        based_on = find_base(given, newest, "There is, or was, a pair of this name, number")
        pair = pair_threads(study=self.study, by=self.person, **{**given, **threads, "based_on": based_on})
        [view] = list_pairs(self.viewer, Pair.objects.filter(pk=pair.pk))
        return self.answer(describe_pair(view), status=201)


class WithdrawPair(NegotiationView):
    """Withdraw a pair. Its rows are kept."""

    Output = PairOutput
    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    success = {200: "The pair in its current state."}
    refusals = (409,)

    def post(self, request: Request, slug: str, pair_name: str) -> Response:
        self.read_body()
        pair = Pair.objects.active().filter(study=self.study, name=pair_name.replace("\x00", "")).first()
        if pair is None:
            raise Http404("This study has no pair with this name.")
        withdraw_pair(pair=pair, by=self.person)
        [view] = list_pairs(self.viewer, Pair.objects.filter(pk=pair.pk))
        return self.answer(describe_pair(view))


CaseSheets = at_one_address(get=ListCaseSheets, post=WriteCaseSheet)
Pairs = at_one_address(get=ListPairs, post=PairThreads)


def describe_pair(view: PairView) -> dict[str, object]:
    """A pair, as far as the viewer may see it, for output."""
    told = {} if view.is_open else {"differs": "", "expect": ""}
    counts = {"open": view.is_open, "left_a": view.left_a, "left_b": view.left_b}
    return {**vars(view.pair), "writer": view.pair.writer, **counts, **told}


class ReadTrajectoryReport(NegotiationView):
    """The figures of the study's threads, as ``manage.py trajectory report --json`` prints them, based on what you may see."""

    class Query(Parameters):
        """What to report on."""

        coder = serializers.CharField(required=False, max_length=150, help_text="A person's name: only hers.")
        outcome = serializers.CharField(
            required=False,
            max_length=MAX_LISTED,
            help_text="Ids of codes, separated by commas. Pairs are compared by whether any of these codes is found.",
        )
        stage = Choice(["conduct", "all"], default="conduct", help_text="all: private reasoning counts too.")
        kind = Choice(
            [*Kind.values, TOGETHER],
            required=False,
            help_text="Only threads of this kind; * for all. If not sent, interviews, or the most frequent kind among the coded "
            "threads.",
        )
        model = serializers.CharField(
            required=False,
            max_length=200,
            help_text="Label of a model: only its threads; - for unknown models, * for all together. If not sent, the model of "
            "most coded threads.",
        )

    class Output(serializers.Serializer[Any]):
        """The report."""

        threads = serializers.IntegerField(help_text="Number of threads.")
        kind = serializers.CharField(allow_null=True, help_text="The kind of the threads; null: all kinds.")
        model = serializers.CharField(allow_null=True, help_text="The model of the threads; null: all models.")
        left_out = serializers.IntegerField(help_text="How many threads of other kinds or models are not counted.")
        coders = serializers.ListField(child=serializers.CharField(), help_text="Names of the coders.")
        by_coder = serializers.JSONField(
            help_text="By coder: presence, positions, transitions, distances, episodes, ledger, links and pairs."
        )
        agreement = serializers.JSONField(
            help_text="Agreement between coders on the status of features; null if these are coded reflexively."
        )
        stances = serializers.JSONField(
            help_text="Scores, separately under each normative stance; without alpha if the study is coded reflexively."
        )
        warnings = serializers.ListField(
            child=serializers.CharField(), help_text="What to know before reading the figures."
        )

        class Meta:
            ref_name = "TrajectoryReport"

    def get(self, request: Request, slug: str) -> Response:
        records = read_records(self.study, viewer=self.viewer)
        outcomes = [each.strip() for each in self.query.get("outcome", "").split(",") if each.strip()]
        try:
            report = make_report(
                records,
                coders=[self.query["coder"]] if "coder" in self.query else (),
                outcomes=outcomes,
                all_stages=self.query["stage"] == "all",
                kind=self.query.get("kind", ""),
                model=self.query.get("model", ""),
            )
        except NotThere as error:
            asked = ("coder", "kind", "model")
            field = next((name for name in asked if str(error).startswith(f"There is no {name} ")), "outcome")
            raise InvalidParameters({field: [str(error)]}) from error
        return self.answer(leave_out_coefficients(report, self.study))


# Named for the schema, which tells fields that are named alike apart.
LINK_KINDS = Link.Kind.choices


class LinkOutput(RowOutput):
    """What a coding acts on, rests on or revises."""

    class Meta:
        ref_name = "Link"
        model = Link
        fields = "id interview coding kind code sentence quote_start quote_end coder blinding created_at withdrawn_at"
        paths: ClassVar = {
            "interview": "coding__sentence__turn__interview",
            "code": "code__identifier",
            "coder": "coder__username",
        }


class LinkView(NegotiationView):
    """What the operations on links share."""

    Output = LinkOutput

    def visible(self) -> QuerySet[Link]:
        """The links of codings that the person may see."""
        links = Link.objects.filter(coding__sentence__turn__interview__study=self.study).order_by("pk")
        if not self.viewer.sees_all:
            return links.filter(coder=self.person)
        if self.viewer.visible_interviews is None:
            return links
        own, shown = links.filter(coder=self.person), self.viewer.visible_interviews
        return own | links.filter(coding__sentence__turn__interview__in=shown)

    def answer_link(self, link: Link, *, status: int = 200) -> Response:
        """A link in its current state."""
        return self.answer(Link.objects.values(*list_columns(LinkOutput)).get(pk=link.pk), status=status)


class ListLinks(LinkView):
    """The links of a study that you may see, by the same rules as for codings, in the order in which they were stored."""

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

    Sending the same request again stores nothing more and returns 200. So does a link that is already active.
    """

    class Input(RowBody):
        """A link."""

        class Meta(RowBody.Meta):
            ref_name = "NewLink"
            model = Link
            fields = "coding kind code sentence quote_start quote_end idempotency_key"
            paths: ClassVar = {
                "code": ("code__identifier", "Identifier of the feature, for acts_on."),
                "sentence": ("sentence", "Number of the sentence to which it leads, for warrant and revises."),
            }

        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            check_quote(attrs)
            return attrs

    scope = Scope.CODE
    permission = Permission.CODE
    success = {201: "Stored.", 200: "It was already stored."}
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
    success = {200: "The link in its current state."}
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
