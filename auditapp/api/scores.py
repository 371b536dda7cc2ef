"""Normative stances, and scores given under them. Nothing is averaged, and no machine writes a score."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.codings import LabelParameters, check_quote, narrow_labels, take_sentence
from auditapp.api.fields import Choice, RowBody, RowOutput, WholeNumber
from auditapp.api.negotiation import NegotiationView
from auditapp.api.views import PageParameters, Pages, at_one_address, list_columns
from transcripts.accounts.models import Scope
from transcripts.corpus.models import Sentence, Turn
from transcripts.negotiation.actions import MAX_EVIDENCE, Evidence, put_score, withdraw_score, write_stance
from transcripts.negotiation.models import NormativeStance, Score, ScoreEvidence
from transcripts.negotiation.queries.scores import visible_scores
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_SEED

# Named for the schema, which tells fields that are named alike apart.
CRITERIA = Score.Criterion.choices


class StanceOutput(RowOutput):
    """A wording of a normative stance."""

    class Meta:
        ref_name = "NormativeStance"
        model = NormativeStance
        fields = f"id name number {' '.join(NormativeStance.wording)} reason sha256 written_at written_by"
        paths: ClassVar = {
            "written_by": "written_by__username",
            "reason": ("reason", "Why it was written again; empty for the first."),
        }


class ListStances(NegotiationView):
    """The normative stances of a study, with every wording of each."""

    Output = StanceOutput
    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        stances = NormativeStance.objects.filter(study=self.study).order_by("name", "number")
        return self.answer_page(stances.values(*list_columns(StanceOutput)))


class WriteStance(NegotiationView):
    """Write a normative stance, or the next wording of one, which needs a reason. Existing wordings never change."""

    class Input(RowBody):
        """A wording."""

        based_on = WholeNumber(
            required=False,
            min_value=0,
            max_value=MAX_SEED,
            default=0,
            help_text="The latest number of this name that you have read; 0 or nothing for a new name.",
        )

        class Meta(RowBody.Meta):
            ref_name = "NewNormativeStance"
            model = NormativeStance
            fields = f"name {' '.join(NormativeStance.wording)} based_on reason"
            paths: ClassVar = {"reason": ("reason", "Why the wording changes, if it does.")}

    Output = StanceOutput
    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    success = {201: "Stored."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        based_on = given.pop("based_on")
        stance = write_stance(stance=NormativeStance(study=self.study, **given), by=self.person, based_on=based_on)
        return self.answer(NormativeStance.objects.values(*list_columns(StanceOutput)).get(pk=stance.pk), status=201)


class EvidenceOutput(RowOutput):
    """A sentence that a score rests on."""

    class Meta:
        ref_name = "Evidence"
        model = ScoreEvidence
        fields = "sentence quote_start quote_end"


class ScoreOutput(RowOutput):
    """One person's judgment of a thread, or of something in it, under one normative stance."""

    evidence = EvidenceOutput(many=True, help_text="The sentences it rests on.")

    class Meta:
        ref_name = "Score"
        model = Score
        fields = (
            "id interview stance criterion turn feature value note evidence coder blinding created_at withdrawn_at "
            "superseded_by"
        )
        paths: ClassVar = {
            "turn": ("turn__position", "Position of the turn that is judged; null: the whole thread."),
            "coder": "coder__username",
        }


class ScoreView(NegotiationView):
    """What the operations on scores share."""

    Output = ScoreOutput

    def answer_score(self, score: Score, *, status: int = 200) -> Response:
        """A score in its current state."""
        columns = [column for column in list_columns(ScoreOutput) if column != "evidence"]
        row = Score.objects.values("pk", *columns).get(pk=score.pk)
        add_evidence([row])
        return self.answer(row, status=status)


class ListScores(ScoreView):
    """The scores of a study that you may see, in the order in which they were stored: your own, and those of others that the page
    of scores shows you."""

    class Query(LabelParameters):
        """Which scores to return."""

        criterion = Choice(CRITERIA, required=False, help_text="Only scores of this criterion.")

    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        scores = narrow_labels(visible_scores(self.viewer).order_by("pk"), self.query, interview="interview")
        if "criterion" in self.query:
            scores = scores.filter(criterion=self.query["criterion"])
        pages = Pages()
        columns = [column for column in list_columns(ScoreOutput) if column != "evidence"]
        found = pages.paginate_queryset(scores.values("pk", *columns), request, view=self)
        add_evidence(found)
        return self.answer_rows(pages, found)


class PutScore(ScoreView):
    """Score a thread, or determine something in it, under one normative stance. Another value supersedes the first.

    Sending the same request again stores nothing more and returns 200.
    """

    class Input(RowBody):
        """A score."""

        class EvidenceInput(RowBody):
            """A sentence that it rests on."""

            class Meta(RowBody.Meta):
                ref_name = "NewEvidence"
                model = ScoreEvidence
                fields = "sentence quote_start quote_end"

            def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
                check_quote(attrs)
                return attrs

        evidence = EvidenceInput(
            many=True,
            required=False,
            help_text=f"The sentences it rests on, at most {MAX_EVIDENCE}; required with a value.",
        )

        class Meta(RowBody.Meta):
            ref_name = "NewScore"
            model = Score
            fields = "interview stance criterion value turn feature note evidence idempotency_key"
            paths: ClassVar = {
                "value": (
                    "value",
                    "0 to 3; for warranted and updated, 1 (yes) or 0 (no); null: not applicable, or unclear.",
                ),
                "turn": ("turn__position", "Position of the turn, for warranted and updated."),
                "feature": ("feature", "Identifier of the feature, for warranted."),
                "note": ("note", "A note; required without a value."),
            }

    scope = Scope.CODE
    permission = Permission.CODE
    success = {201: "Stored.", 200: "It was already stored."}
    refusals = (409,)

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        key, sent = given["idempotency_key"], given.get("evidence", [])
        if len(sent) > MAX_EVIDENCE:
            raise serializers.ValidationError({"evidence": [f"Send at most {MAX_EVIDENCE} sentences."]})
        interview = self.find_interview(given["interview"], "interview")
        stance = NormativeStance.objects.filter(study=self.study, pk=given["stance"]).first()
        if stance is None:
            raise serializers.ValidationError(
                {"stance": [f"There is no normative stance {given['stance']} in this study."]}
            )
        stored_before = Score.objects.filter(coder=self.person, idempotency_key=key).exists()
        score = put_score(
            study=self.study,
            stance=stance,
            interview=interview,
            criterion=given["criterion"],
            value=given["value"],
            by=self.person,
            idempotency_key=key,
            evidence=[self._read_evidence(each) for each in sent],
            note=given["note"],
            turn=self._find_turn(interview.pk, given["turn"]) if given["turn"] is not None else None,
            feature=given["feature"],
        )
        is_new = score.idempotency_key == key and not stored_before
        return self.answer_score(score, status=201 if is_new else 200)

    def _read_evidence(self, given: dict[str, Any]) -> Evidence:
        quote = (given["quote_start"], given["quote_end"]) if given["quote_start"] is not None else None
        # Not only those of now: what a score rests on may have been split or merged since.
        sentences = Sentence.objects.filter(turn__interview__study=self.study, pk=given["sentence"])
        try:
            found = {each.pk: each for each in sentences.select_related("turn__interview")}
            return Evidence(take_sentence(found, given["sentence"]), quote)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"evidence": error.detail}) from error

    def _find_turn(self, interview: int, position: int) -> Turn:
        turn = Turn.objects.filter(interview=interview, position=position).first()
        if turn is None:
            raise serializers.ValidationError({"turn": [f"This interview has no turn {position}."]})
        return turn


class WithdrawScore(ScoreView):
    """Withdraw one of your own scores. Its row is kept; withdrawing it again changes nothing."""

    scope = Scope.CODE
    permission = Permission.CODE
    success = {200: "The score in its current state."}
    refusals = (409,)

    def post(self, request: Request, slug: str, score_id: int) -> Response:
        self.read_body()
        own = visible_scores(self.viewer).filter(coder=self.person).select_related("interview", "stance")
        score = own.filter(pk=score_id).first()
        if score is None:
            raise Http404(f"You have no score {score_id} in this study.")
        withdraw_score(study=self.study, score=score, by=self.person)
        return self.answer_score(score)


Stances = at_one_address(get=ListStances, post=WriteStance)
Scores = at_one_address(get=ListScores, post=PutScore)


def add_evidence(rows: list[dict[str, Any]]) -> None:
    """Add to each score the sentences on which it rests. One query."""
    by_score: dict[int, list[dict[str, Any]]] = {row["pk"]: [] for row in rows}
    columns = list_columns(EvidenceOutput)
    found = ScoreEvidence.objects.filter(score__in=by_score).order_by("pk")
    for score, *values in found.values_list("score", *columns):
        by_score[score].append(dict(zip(columns, values, strict=True)))
    for row in rows:
        row["evidence"] = by_score[row["pk"]]
