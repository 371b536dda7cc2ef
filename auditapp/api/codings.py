"""Codings and decisions, which are a person's own labels of a sentence, and what the operations on people's labels share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.errors import InvalidParameters
from auditapp.api.fields import Choice, Moment, Numeral, RowBody, RowOutput, Words
from auditapp.api.views import PageParameters, Pages, StudyView, at_one_address, list_columns
from transcripts.accounts.models import Scope
from transcripts.analysis.search.pure.words import split_answer
from transcripts.analysis.search.queries import read_catalog
from transcripts.codebook.models import Code
from transcripts.codebook.queries import current_version
from transcripts.coding.actions import add_coding, decide_sentence, reopen_sentence, withdraw_coding
from transcripts.coding.models import Blinding, Coding, Decision, Enactment, Level
from transcripts.coding.queries import find_stored
from transcripts.coding.values import CHOICE_FIELDS, COLUMNS, CodingValues
from transcripts.corpus.models import Sentence
from transcripts.exchange.rows import describe
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_ID, MAX_SEED

REASON = "Why, in one line; required once suggestions or colleagues' codings were seen here."
SINCE = (
    "Only rows added or withdrawn at or after this time, such as 2026-11-24T10:00:00Z. To follow changes, also send "
    "withdrawn=any."
)
WITHDRAWN = {
    "false": Q(withdrawn_at__isnull=True),
    "true": Q(withdrawn_at__isnull=False),
    "any": Q(),
}
PLACE = (
    *("turn__role", "turn__channel", "turn__interview__study_id"),
    *("turn", "turn__interview", "position", "suffix", "start", "end"),
)
LABEL_FILTERS = {"interview": "sentence__turn__interview", "coder": "coder__username", "blinding": "blinding"}


class LabelParameters(PageParameters):
    """Which codings or decisions to return."""

    interview = Numeral(
        required=False, min_value=1, max_value=MAX_ID, help_text="Number of an interview: only rows in it."
    )
    coder = serializers.CharField(required=False, max_length=150, help_text="A user name: only this person's rows.")
    blinding = Choice(
        Blinding.values, required=False, help_text="blind, or assisted: made after others' labels were seen."
    )
    withdrawn = Choice(
        list(WITHDRAWN), default="false", help_text="false: active ones; true: withdrawn ones; any: both."
    )
    since = Moment(required=False, help_text=SINCE)


def narrow_labels(
    rows: QuerySet[Any], query: dict[str, Any], *, interview: str = LABEL_FILTERS["interview"]
) -> QuerySet[Any]:
    """The rows that the ``LabelParameters`` ask for; ``interview`` is the path from a row to its interview."""
    rows = rows.filter(WITHDRAWN[query["withdrawn"]])
    if "since" in query:
        rows = rows.filter(changed_since(query["since"]))
    paths = {**LABEL_FILTERS, "interview": interview}
    return rows.filter(**{path: query[name] for name, path in paths.items() if name in query})


def check_quote(given: Mapping[str, Any]) -> None:
    """Raise ``ValidationError`` unless both ends of a quote were sent, or neither."""
    if (given["quote_start"] is None) != (given["quote_end"] is None):
        raise serializers.ValidationError({"quote_end": ["A quote has a start and an end: send both or neither."]})


def changed_since(moment: datetime) -> Q:
    """A filter for rows that were added or withdrawn at this time or later."""
    return Q(created_at__gte=moment) | Q(withdrawn_at__gte=moment)


def find_sentences(study: Study, keys: Iterable[int]) -> dict[int, Sentence]:
    """The current sentences of the study with these numbers, with what is needed for coding them."""
    sentences = Sentence.objects.current().filter(turn__interview__study=study, pk__in=set(keys))
    related = sentences.select_related("turn__interview").only(*PLACE)
    return {sentence.pk: sentence for sentence in related}


def find_sentence(study: Study, pk: int) -> Sentence:
    """The sentence of the study with this number. Raises ``ValidationError``."""
    return take_sentence(find_sentences(study, [pk]), pk)


def take_sentence(found: Mapping[int, Sentence], pk: int) -> Sentence:
    """The sentence with this number, out of those found in the study. Raises ``ValidationError``."""
    if pk not in found:
        raise serializers.ValidationError({"sentence": [f"There is no sentence {pk} in this study."]})
    return found[pk]


def find_codes(study: Study) -> QuerySet[Code]:
    """The codes that people code with now."""
    return Code.objects.filter(version=current_version(study)).select_related("family", "version")


def find_code(study: Study, identifier: str) -> Code:
    """The code that people code with under this id. Raises ``ValidationError``."""
    return take_code({code.identifier: code for code in find_codes(study).filter(identifier=identifier)}, identifier)


def take_code(found: Mapping[str, Code], identifier: str) -> Code:
    """The code with this id, out of those found. Raises ``ValidationError``."""
    if identifier not in found:
        raise serializers.ValidationError(
            {"code": ["There is no such code in the study's current codebook. Codes are named by their id."]}
        )
    return found[identifier]


# A code, a question and an answer of as many characters as each may have.
MAX_ANSWER_LENGTH = 1_200
FILTERS = {"code": "code__identifier", "level": "level", "enactment": "enactment", "version": "code__version__number"}


class CodingOutput(RowOutput):
    """One code that one person applied to one sentence."""

    attributes = serializers.DictField(child=serializers.CharField(), help_text=describe(Coding, "attributes"))

    class Meta:
        ref_name = "Coding"
        model = Coding
        fields = (
            "id interview sentence code codebook_version coder blinding note quote_start quote_end range attributes reason "
            "idempotency_key created_at withdrawn_at withdrawal_reason superseded_by level enactment grounding prompting"
        )
        paths: ClassVar = {
            "interview": "sentence__turn__interview",
            "code": "code__identifier",
            "codebook_version": "code__version__number",
            "coder": "coder__username",
            "range": "range_id",
        }


class CodingView(StudyView):
    """What the operations on codings share."""

    Output = CodingOutput

    def visible(self) -> QuerySet[Coding]:
        """The codings of the study that the person may see."""
        return Coding.objects.visible_to(self.viewer).order_by("pk")

    def answer_coding(self, coding: Coding, *, status: int = 200) -> Response:
        """A coding in its current state."""
        return self.answer(Coding.objects.values(*list_columns(CodingOutput)).get(pk=coding.pk), status=status)


class CodingPages(Pages):
    """Pages that also say in how many interviews the codings of others are hidden."""

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        page = super().get_paginated_response_schema(schema)
        meaning = (
            "In how many interviews the codings of others are left out until you unblind these interviews on a page of "
            "the study."
        )
        page["properties"]["hidden_interviews"] = {"type": "integer", "description": meaning}
        return {**page, "required": [*page["required"], "hidden_interviews"]}


class ListCodings(CodingView):
    """The codings of a study that you may see, in the order in which they were stored.

    A coder sees her own; if she names another coder, she gets none, whether or not there are any. A person who codes and may see
    all codings sees those of others in the interviews that she has unblinded. Readers see all.
    """

    class Query(LabelParameters):
        """Which codings to return."""

        code = serializers.CharField(required=False, max_length=100, help_text="A code's id: only its codings.")
        level = Choice(Level.values, required=False, help_text="Only codings of this level.")
        enactment = Choice(
            Enactment.values,
            required=False,
            help_text="Only codings of moves with this enactment; count each value separately.",
        )
        version = Numeral(
            required=False,
            min_value=1,
            max_value=MAX_SEED,
            help_text="Number of a codebook version: only codings made with its definitions.",
        )
        answer = serializers.CharField(
            required=False,
            max_length=MAX_ANSWER_LENGTH,
            help_text=(
                "Only codings with this answer to a question of their code, as in theme.compassion:direction=about self. "
                "Without = any answer matches; with nothing after it, only codings without an answer."
            ),
        )

    pagination_class = CodingPages

    def get(self, request: Request, slug: str) -> Response:
        codings = narrow_labels(self.visible(), self.query)
        codings = codings.filter(**{path: self.query[name] for name, path in FILTERS.items() if name in self.query})
        if "answer" in self.query:
            codings = self._narrow_to_answer(codings)
        answer = self.answer_page(codings.values(*list_columns(CodingOutput)))
        hidden = self.viewer.hidden_interviews if self.viewer.sees_all else ()
        answer.data["hidden_interviews"] = len(hidden)
        return answer

    def _narrow_to_answer(self, codings: QuerySet[Coding]) -> QuerySet[Coding]:
        code, key, asked_for = split_answer(self.query["answer"])
        question = read_catalog(self.study).questions.get((code, key))
        if question is None:
            raise InvalidParameters(
                {"answer": [f"No code of this study has the question {code}:{key}. Write it as code:question=answer."]}
            )
        given = Coalesce(KeyTextTransform(key, "attributes"), Value("", output_field=TextField()))
        asked = codings.filter(code__in=question.ids).alias(given=given)
        return asked.exclude(given="") if asked_for is None else asked.filter(given=asked_for)


class AddCoding(CodingView):
    """Apply a code to a sentence, as at the desk.

    Sending the same request again stores nothing more and returns 200. So does applying a code that is already active in the same
    way; with other values, the new coding supersedes the old one.
    """

    class Input(RowBody):
        """A code for a sentence."""

        attributes = serializers.DictField(
            child=Words(allow_blank=True), default=dict, help_text=describe(Coding, "attributes")
        )

        class Meta(RowBody.Meta):
            ref_name = "NewCoding"
            model = Coding
            fields = f"sentence code note quote_start quote_end range attributes reason idempotency_key {' '.join(CHOICE_FIELDS)}"
            paths: ClassVar = {
                "code": ("code__identifier", "Identifier of a code of the current codebook."),
                "quote_end": ("quote_end", "Character after the marked words; null if no words are marked."),
                "range": (
                    "range_id",
                    "A UUID shared by the codings with one code on several sentences of an interview.",
                ),
                "reason": ("reason", REASON),
            }

    scope = Scope.CODE
    permission = Permission.CODE
    success = {201: "Stored.", 200: "It was already stored."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        sentence, code = find_sentence(self.study, given["sentence"]), find_code(self.study, given["code"])
        key = given["idempotency_key"]
        stored_before = find_stored(Coding, self.person.pk, key) is not None
        coding = add_coding(
            study=self.study,
            sentence=sentence,
            code=code,
            by=self.person,
            idempotency_key=key,
            values=read_values(given),
            range_id=given["range"],
            reason=given["reason"],
        )
        is_new = coding.idempotency_key == key and not stored_before
        return self.answer_coding(coding, status=201 if is_new else 200)


class WithdrawCoding(CodingView):
    """Withdraw one of your own codings. Its row is kept; withdrawing it again changes nothing."""

    class Input(RowBody):
        """The reason, if one is required."""

        class Meta(RowBody.Meta):
            ref_name = "Withdrawal"
            model = Coding
            fields = "reason"
            paths: ClassVar = {"reason": ("withdrawal_reason", REASON)}

    scope = Scope.CODE
    permission = Permission.CODE
    success = {200: "The coding in its current state."}
    refusals = (409,)

    def post(self, request: Request, slug: str, coding_id: int) -> Response:
        given = self.read_body()
        own = self.visible().filter(coder=self.person).select_related("sentence__turn__interview")
        coding = own.filter(pk=coding_id).first()
        if coding is None:
            raise Http404(f"You have no coding {coding_id} in this study.")
        withdraw_coding(study=self.study, coding=coding, by=self.person, reason=given["reason"])
        return self.answer_coding(coding)


Codings = at_one_address(get=ListCodings, post=AddCoding)


def read_values(given: dict[str, Any]) -> CodingValues:
    """The values of a coding, from a body that ``AddCoding.Input`` has validated. Raises ``ValidationError``."""
    check_quote(given)
    return CodingValues.from_columns({name: given[name] for name in COLUMNS})


class DecisionOutput(RowOutput):
    """One person's statement that she has read a sentence and has nothing more to code there."""

    class Meta:
        ref_name = "Decision"
        model = Decision
        fields = "id interview sentence coder blinding none_applies idempotency_key created_at withdrawn_at withdrawal_reason"
        paths: ClassVar = {"interview": "sentence__turn__interview", "coder": "coder__username"}


class ListDecisions(StudyView):
    """The decisions of a study that you may see, in the order in which they were stored. They are the denominator for the shares
    of codes."""

    tag = "decisions"

    Output = DecisionOutput
    Query = LabelParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        visible = Decision.objects.visible_to(self.viewer).order_by("pk")
        return self.answer_page(narrow_labels(visible, self.query).values(*list_columns(self.Output)))


class DecideSentence(StudyView):
    """Record that you have read a sentence and have nothing more to code there, as Enter does at the desk."""

    tag = "decisions"

    class Input(RowBody):
        """A sentence that you have read."""

        class Meta(RowBody.Meta):
            ref_name = "NewDecision"
            model = Decision
            fields = "sentence idempotency_key"

    Output = DecisionOutput
    scope = Scope.CODE
    permission = Permission.CODE
    success = {201: "Stored.", 200: "It was already stored."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        key = given["idempotency_key"]
        stored_before = find_stored(Decision, self.person.pk, key) is not None
        sentence = find_sentence(self.study, given["sentence"])
        decision = decide_sentence(study=self.study, sentence=sentence, by=self.person, idempotency_key=key)
        is_new = decision.idempotency_key == key and not stored_before
        return self.answer(read_decision(decision.pk), status=201 if is_new else 200)


class ReopenSentence(StudyView):
    """Take back one of your own decisions. Codings stay; taking it back again changes nothing."""

    tag = "decisions"

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
    success = {200: "The decision in its current state."}
    refusals = (409,)

    def post(self, request: Request, slug: str, decision_id: int) -> Response:
        given = self.read_body()
        visible = Decision.objects.visible_to(self.viewer)
        own = visible.filter(coder=self.person).select_related("sentence__turn__interview")
        decision = own.filter(pk=decision_id).first()
        if decision is None:
            raise Http404(f"You have no decision {decision_id} in this study.")
        reopen_sentence(study=self.study, decision=decision, by=self.person, reason=given["reason"])
        return self.answer(read_decision(decision.pk))


Decisions = at_one_address(get=ListDecisions, post=DecideSentence)


def read_decision(pk: int) -> dict[str, Any]:
    """A decision in its current state."""
    found: dict[str, Any] = Decision.objects.values(*list_columns(DecisionOutput)).get(pk=pk)
    return found
