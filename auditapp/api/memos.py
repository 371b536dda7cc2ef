"""Memos: a person reads those that she may see, and writes, revises and withdraws her own, with the actions of the notebook."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import Q, QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.codings import SINCE, WITHDRAWN, changed_since
from auditapp.api.errors import Conflict
from auditapp.api.fields import Choice, Moment, Numeral, RowBody, RowOutput, WholeNumber, Words
from auditapp.api.views import PageParameters, Pages, StudyView, at_one_address, list_columns
from transcripts.accounts.models import Scope
from transcripts.analysis.notebook.actions import MemoChanged, revise_memo, withdraw_memo, write_memo
from transcripts.analysis.notebook.queries import PlaceNotFound, find_place
from transcripts.coding.models import Memo
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_ID

FILTERS = {"interview": "interview", "author": "author__username", "kind": "kind", "subject": "subject"}
# Named for the schema, which tells fields that are named alike apart.
MEMO_KINDS = Memo.Kind.choices
PLACES = ("sentence", "interview", "code", "theme")


class MemoOutput(RowOutput):
    """A note of one person on something."""

    class Meta:
        ref_name = "Memo"
        model = Memo
        fields = "id subject interview sentence key kind author text revision idempotency_key created_at withdrawn_at superseded_by"
        paths: ClassVar = {"key": "subject_key", "author": "author__username"}


class MemoView(StudyView):
    """What the operations on memos share."""

    Output = MemoOutput

    def visible(self) -> QuerySet[Memo]:
        """The memos of the study that the person may see. An emptied memo is a row without text."""
        return Memo.objects.visible_to(self.viewer).exclude(text="").order_by("pk")

    def find_own(self, memo_id: int) -> Memo:
        """One of her own memos. Raises ``Http404``."""
        own = self.visible().filter(author=self.person).select_related("interview", "sentence__turn", "study")
        memo = own.filter(pk=memo_id).first()
        if memo is None:
            raise Http404(f"You have no memo {memo_id} in this study.")
        return memo

    def answer_memo(self, memo: Memo, *, status: int = 200) -> Response:
        """A memo in its current state."""
        return self.answer(Memo.objects.values(*list_columns(MemoOutput)).get(pk=memo.pk), status=status)


class ListMemos(MemoView):
    """The memos of a study that you may see, in the order in which they were written: your own, and those of others that the page
    of memos shows you."""

    class Query(PageParameters):
        """Which memos to return."""

        interview = Numeral(
            required=False, min_value=1, max_value=MAX_ID, help_text="Number of an interview: only memos on or in it."
        )
        subject = Choice(Memo.Subject.values, required=False, help_text="Only memos on this kind of object.")
        kind = Choice(Memo.Kind.values, required=False, help_text="Only memos of this kind.")
        author = serializers.CharField(
            required=False, max_length=150, help_text="A user name: only this person's memos."
        )
        withdrawn = Choice(
            list(WITHDRAWN),
            default="false",
            help_text="false: active ones; true: withdrawn and earlier ones; any: both.",
        )
        since = Moment(required=False, help_text=SINCE)

    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        since = changed_since(self.query["since"]) if "since" in self.query else Q()
        memos = self.visible().filter(WITHDRAWN[self.query["withdrawn"]], since)
        memos = memos.filter(**{path: self.query[name] for name, path in FILTERS.items() if name in self.query})
        return self.answer_page(memos.values(*list_columns(MemoOutput)))


class NewText(RowBody):
    """The content of a memo."""

    class Meta(RowBody.Meta):
        ref_name = "NewText"
        model = Memo
        fields = "text kind idempotency_key"
        paths: ClassVar = {"kind": ("kind", "The kind of note; if not sent, unchanged, or reading.")}
        needed = "text"
        optional = "kind"


class WriteMemo(MemoView):
    """Write a memo on a sentence, an interview, a code or a theme; without any of these, on the study.

    You can have one memo on each sentence or interview; to change it, revise it.
    """

    class Input(NewText):
        """A new memo."""

        code = Words(required=False, max_length=100, help_text="Id of a code.")
        theme = WholeNumber(required=False, min_value=1, max_value=MAX_ID, help_text="Number of a theme.")

        class Meta(NewText.Meta):
            ref_name = "NewMemo"
            fields = f"{NewText.Meta.fields} sentence interview"
            optional = "kind sentence interview"

    scope = Scope.CODE
    permission = Permission.CODE
    success = {201: "Stored.", 200: "It was already stored."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        asked = {name: str(given[name]) for name in PLACES if name in given}
        if len(asked) > 1:
            second = list(asked)[1]
            raise serializers.ValidationError({second: [f"A memo is on one thing: send one of {', '.join(PLACES)}."]})
        key = given["idempotency_key"]
        stored_before = Memo.objects.filter(author=self.person, idempotency_key=key).exists()
        try:
            memo = write_memo(
                study=self.study,
                place=find_place(self.study, asked),
                text=given["text"],
                kind=given.get("kind", Memo.Kind.READING.value),
                by=self.person,
                idempotency_key=key,
            )
        except PlaceNotFound as error:
            raise serializers.ValidationError({next(iter(asked)): [str(error)]}) from error
        except MemoChanged as error:
            raise _explain_change(error) from error
        return self.answer_memo(memo, status=200 if stored_before else 201)


class ReviseMemo(MemoView):
    """Change a memo of your own. The earlier text is kept as an earlier version."""

    Input = NewText
    scope = Scope.CODE
    permission = Permission.CODE
    success = {200: "The memo in its current state, under its new number."}
    refusals = (409,)

    def post(self, request: Request, slug: str, memo_id: int) -> Response:
        memo, given = self.find_own(memo_id), self.read_body()
        try:
            memo = revise_memo(memo=memo, by=self.person, **{"kind": memo.kind, **given})
        except MemoChanged as error:
            raise _explain_change(error) from error
        return self.answer_memo(memo)


class WithdrawMemo(MemoView):
    """Withdraw a memo of your own. Its rows are kept; withdrawing it again changes nothing."""

    scope = Scope.CODE
    permission = Permission.CODE
    success = {200: "The memo in its current state."}
    refusals = (409,)

    def post(self, request: Request, slug: str, memo_id: int) -> Response:
        memo, _ = self.find_own(memo_id), self.read_body()
        try:
            withdraw_memo(memo=memo, by=self.person)
        except MemoChanged as error:
            raise _explain_change(error) from error
        return self.answer_memo(memo)


Memos = at_one_address(get=ListMemos, post=WriteMemo)


def _explain_change(error: MemoChanged) -> Conflict:
    """The conflict, in words for a program, which has no page that shows both versions."""
    if error.current is None:
        return Conflict("This memo was withdrawn. Write a new one.")
    return Conflict(f"The current version of your memo is number {error.current.pk}. Read it, and revise that one.")
