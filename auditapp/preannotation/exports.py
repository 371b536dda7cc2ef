"""Exports of machine work and of what people were shown of it: apart from people's codings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Substr

from auditapp.preannotation.models import CriticReading, Response, Showing, Suggestion, TurnArm
from transcripts.exchange.registry import Export, Scope
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission

SUGGESTION_COLUMNS = {
    "project": "annotator__project__slug",
    "interview": "sentence__turn__interview__external_id",
    "turn": "sentence__turn__position",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "text": "text",
    "code_id": "code__identifier",
    "code": "code__name",
    "codebook_version": "code__version__number",
    "level": "level",
    "quote_start": "quote_start",
    "quote_end": "quote_end",
    "quote": "quote",
    "score": "score",
    "annotator": "annotator__name",
    "annotator_number": "annotator__number",
    "annotator_kind": "annotator__kind",
    "annotator_hash": "annotator__hash",
    "mode": "annotator__mode",
    "provider": "annotator__variant__account__provider",
    "model": "annotator__variant__model",
    "rationale": "rationale",
    "critic": "critic",
    "critic_verdict": "critic_verdict",
    "arm": "sentence__turn__suggestion_arm__arm",
    "probability": "sentence__turn__suggestion_arm__probability",
    "batch": "cell__batch_id",
    "attempt": "cell__result__attempt_id",
    "run": "run_id",
    "suggestion_id": "pk",
}
SHOWING_COLUMNS = [
    *("project", "interview", "turn", "sentence_id", "sentence", "coder", "arm", "draft", "shown", "closed"),
    *("own_codes", "place", "suggestion_id", "code_id", "annotator", "annotator_number"),
    *("response", "reason", "coding_id", "responded", "showing_id"),
]
ARM_COLUMNS = {
    "project": "plan__project__slug",
    "interview": "turn__interview__external_id",
    "turn": "turn__position",
    "arm": "arm",
    "probability": "probability",
    "plan": "plan__number",
    "share_percent": "plan__share_percent",
    "seed": "plan__seed",
    "reason": "plan__reason",
    "planned": "plan__made_at",
    "planned_by": "plan__made_by_name",
}
CHUNK = 1_000


def read_suggestions(scope: Scope) -> Iterator[Sequence[object]]:
    """Every suggestion of the study; of one person, those she was shown herself, and nothing else of the sentence."""
    turn_text = "sentence__turn__text"
    length = F("sentence__end") - F("sentence__start")
    said = CriticReading.objects.filter(suggestion=OuterRef("pk")).exclude(verdict="").order_by("-cell_id")
    suggestions = Suggestion.objects.filter(annotator__project=scope.project).annotate(
        text=Substr(turn_text, F("sentence__start") + 1, length),
        quote=Substr(turn_text, F("quote_start") + 1, F("quote_end") - F("quote_start")),
        critic=Subquery(said.values("cell__arm__variant__label")[:1]),
        critic_verdict=Subquery(said.values("verdict")[:1]),
    )
    if scope.only is not None:
        looks = Showing.objects.filter(coder=scope.only, sentence__turn__interview__project=scope.project)
        shown = set(chain.from_iterable(looks.values_list("suggestions", flat=True)))
        suggestions = suggestions.filter(sentence__in=looks.values("sentence"))
    rows = suggestions.order_by("pk").values_list(*SUGGESTION_COLUMNS.values()).iterator(chunk_size=5_000)
    return rows if scope.only is None else (row for row in rows if row[-1] in shown)


def find_suggested(project: Project) -> set[int]:
    """The interviews in which a machine proposed a code."""
    found = Suggestion.objects.filter(annotator__project=project).order_by()
    return set(found.values_list("sentence__turn__interview", flat=True).distinct())


def read_showings(scope: Scope) -> Iterator[Sequence[object]]:
    """Every look, a row for each suggestion shown, in the order shown; a look at none is one row."""
    showings = Showing.objects.filter(sentence__turn__interview__project=scope.project)
    if scope.only is not None:
        showings = showings.filter(coder=scope.only)
    related = ("sentence__turn__interview", "coder")
    rows = showings.select_related(*related).order_by("pk").iterator(chunk_size=CHUNK)
    while chunk := list(islice(rows, CHUNK)):
        keys = {key for showing in chunk for key in showing.suggestions}
        suggestions = Suggestion.objects.select_related("code", "annotator").in_bulk(keys)
        answered = Response.objects.filter(suggestion__in=keys, superseded_at__isnull=True)
        responses = {(each.suggestion_id, each.coder_id): each for each in answered}
        for showing in chunk:
            head = _describe_look(scope, showing)
            for place, key in enumerate(showing.suggestions, start=1):
                response = responses.get((key, showing.coder_id))
                yield *head, place, key, *_describe_shown(suggestions.get(key)), *_describe(response), showing.pk
            if not showing.suggestions:
                yield *head, *[None] * 9, showing.pk


def _describe_look(scope: Scope, showing: Showing) -> list[object]:
    sentence, turn = showing.sentence, showing.sentence.turn
    return [
        scope.project.slug,
        turn.interview.external_id,
        turn.position,
        sentence.pk,
        sentence.position,
        showing.coder.username,
        showing.arm,
        showing.is_draft,
        showing.shown_at,
        showing.closed_at,
        showing.own_codes,
    ]


def _describe_shown(suggestion: Suggestion | None) -> list[object]:
    if suggestion is None:
        return [None, None, None]
    return [suggestion.code.identifier, suggestion.annotator.name, suggestion.annotator.number]


def _describe(response: Response | None) -> list[object]:
    if response is None:
        return [None, None, None, None]
    return [response.verdict, response.reason, response.coding_id, response.created_at]


def read_turn_arms(scope: Scope) -> Iterator[Sequence[object]]:
    """Every turn that was drawn, with the plan under which it was."""
    arms = TurnArm.objects.filter(plan__project=scope.project).order_by("turn__interview", "turn__position")
    return arms.values_list(*ARM_COLUMNS.values()).iterator(chunk_size=5_000)


OF_ANNOTATORS = {
    "annotator": "The reading that proposed it: a model with its prompt and codebook version, rules, or what was learnt.",
    "annotator_number": "Which annotator of that name, from 1: one that reads otherwise in any way has another number.",
    "suggestion_id": "Number of the suggestion.",
}
SUGGESTIONS = Export(
    key="suggestions",
    name="Suggestions",
    sentence="What machines proposed, with the annotator and the paid call behind each row, and what a critic said.",
    header=list(SUGGESTION_COLUMNS),
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_suggestions,
    opens_codings=True,
    find_opened=find_suggested,
    meanings={
        **OF_ANNOTATORS,
        "quote": "The words the annotator gives as its evidence, verified in the sentence.",
        "score": "A learnt annotator's own probability; no certainty.",
        "annotator_kind": "model, rules (of the codebook) or learnt (from this study's blind codings).",
        "annotator_hash": "SHA-256 over everything that decides what it says; empty on annotators made before hashes.",
        "mode": "family: one call for all codes of a family; code: one call per code.",
        "provider": "Who runs the model; fake where answers are invented; empty where no model is asked.",
        "model": "The model that was called.",
        "rationale": "The reason the annotator gave.",
        "critic": "Label of the model whose verdict on it is the latest.",
        "critic_verdict": "upheld or reversed; empty where no critic came to a verdict.",
        "arm": "shown (after a coder's own decision) or withheld (never); empty where the turn was not drawn.",
        "probability": "Probability with which the turn was drawn to be withheld.",
        "batch": "Number of the batch.",
        "attempt": "Number of the paid call behind it.",
        "run": "Number of the reading without a model.",
    },
)
SHOWINGS = Export(
    key="showings",
    name="What coders were shown",
    sentence="Each look at suggestions: arm, order, times, the codes that stood before, and what became of each.",
    header=SHOWING_COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_showings,
    opens_codings=True,
    find_opened=find_suggested,
    meanings={
        **OF_ANNOTATORS,
        "arm": "shown, or withheld: a look on a turn that never shows suggestions.",
        "draft": "true where suggestions were shown before the coder's own decision; such labels are in no measure.",
        "shown": "When, in UTC.",
        "closed": "When the panel was closed; empty where that is not known.",
        "own_codes": "Identifiers of the codes the coder had put on the sentence by then, as a list.",
        "place": "Place in the shuffled order in which they were shown, from 1; empty where there was none to show.",
        "code_id": "The code that was suggested.",
        "response": "kept, left, edited or undone, as it stands; empty where the coder said nothing.",
        "reason": "The coder's reason, where she gave one.",
        "coding_id": "Number of the coding it became.",
        "responded": "When she said so, in UTC.",
        "showing_id": "Number of the look; rows of one look share it.",
    },
)
TURN_ARMS = Export(
    key="turn_arms",
    name="Withheld turns",
    sentence="Which turns show suggestions and which never do, with the probability each was drawn with.",
    header=list(ARM_COLUMNS),
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_turn_arms,
    meanings={
        "arm": "shown (after a coder's own decision) or withheld (never).",
        "probability": "Probability with which it was drawn to be withheld.",
        "plan": "Number of the plan in force when its interview was drawn.",
        "share_percent": "Share of turns that plan withholds, in per cent.",
        "seed": "Number by which the draw can be repeated.",
        "reason": "Why the share was set so.",
        "planned": "When the plan was made, in UTC.",
        "planned_by": "Who made it.",
    },
)
