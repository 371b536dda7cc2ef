"""Exports of machine work and of what people were shown of it: apart from people's codings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Substr

from auditapp.preannotation.models import CriticReading, Response, Showing, Suggestion, TurnArm
from auditapp.preannotation.queries.recuts import map_moved
from transcripts.exchange.registry import Export, RowsReader, Scope
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
STANDING_COLUMN = "standing_sentence_id"
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
    """Every suggestion of the study; of one person, those she was shown herself, and nothing else of the sentence.

    The last column is the sentence at which it is read now.
    """
    turn_text = "sentence__turn__text"
    length = F("sentence__end") - F("sentence__start")
    said = CriticReading.objects.filter(suggestion=OuterRef("pk")).exclude(verdict="").order_by("-cell_id")
    suggestions = Suggestion.objects.filter(annotator__project=scope.project)
    moved = map_moved(suggestions)
    suggestions = suggestions.annotate(
        text=Substr(turn_text, F("sentence__start") + 1, length),
        quote=Substr(turn_text, F("quote_start") + 1, F("quote_end") - F("quote_start")),
        critic=Subquery(said.values("cell__arm__variant__label")[:1]),
        critic_verdict=Subquery(said.values("verdict")[:1]),
    )
    if scope.only is not None:
        looks = Showing.objects.filter(coder=scope.only, sentence__turn__interview__project=scope.project)
        shown = set(chain.from_iterable(looks.values_list("suggestions", flat=True)))
        suggestions = suggestions.filter(sentence__turn__in=looks.values("sentence__turn"))
    rows = read_columns(suggestions.order_by("pk"), SUGGESTION_COLUMNS)
    kept = rows if scope.only is None else (row for row in rows if row[-1] in shown)
    place = list(SUGGESTION_COLUMNS).index("sentence_id")
    return ((*row, moved.get(row[-1], row[place])) for row in kept)


def find_suggested(project: Project) -> set[int]:
    """The interviews in which a machine proposed a code."""
    found = Suggestion.objects.filter(annotator__project=project).order_by()
    return set(found.values_list("sentence__turn__interview", flat=True).distinct())


def read_showings(scope: Scope) -> Iterator[Sequence[object]]:
    """Every look, a row for each suggestion shown, in the order shown; a look at none is one row.

    How far suggestions moved one coder's labels is hers alone. So rows of everybody do not say whose they are, and say what
    became of a suggestion only in interviews where two or more coders looked.
    """
    showings = Showing.objects.filter(sentence__turn__interview__project=scope.project)
    shared = None if scope.only is not None else find_shared(showings)
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
            is_own, is_shared = shared is None, shared is None or showing.sentence.turn.interview_id in shared
            head = _describe_look(scope, showing, is_own=is_own)
            for place, key in enumerate(showing.suggestions, start=1):
                response = responses.get((key, showing.coder_id)) if is_shared else None
                told = _describe(response, is_own=is_own)
                yield *head, place, key, *_describe_shown(suggestions.get(key)), *told, showing.pk
            if not showing.suggestions:
                yield *head, *[None] * 9, showing.pk


def find_shared(showings: QuerySet[Showing]) -> set[int]:
    """The interviews in which two or more coders looked at suggestions."""
    by_interview = (
        showings.order_by().values("sentence__turn__interview").annotate(coders=Count("coder", distinct=True))
    )
    return set(by_interview.filter(coders__gte=2).values_list("sentence__turn__interview", flat=True))


def _describe_look(scope: Scope, showing: Showing, *, is_own: bool) -> list[object]:
    sentence, turn = showing.sentence, showing.sentence.turn
    return [
        scope.project.slug,
        turn.interview.external_id,
        turn.position,
        sentence.pk,
        sentence.position,
        showing.coder.username if is_own else None,
        showing.arm,
        showing.is_draft,
        showing.shown_at if is_own else showing.shown_at.date(),
        showing.closed_at if is_own else None,
        showing.own_codes if is_own else None,
    ]


def _describe_shown(suggestion: Suggestion | None) -> list[object]:
    if suggestion is None:
        return [None, None, None]
    return [suggestion.code.identifier, suggestion.annotator.name, suggestion.annotator.number]


def _describe(response: Response | None, *, is_own: bool) -> list[object]:
    if response is None:
        return [None, None, None, None]
    if not is_own:
        return [response.verdict, response.reason, None, None]
    return [response.verdict, response.reason, response.coding_id, response.created_at]


def read_turn_arms(scope: Scope) -> Iterator[Sequence[object]]:
    """Every turn that was drawn, with the plan under which it was."""
    arms = TurnArm.objects.filter(plan__project=scope.project).order_by("turn__interview", "turn__position")
    return read_columns(arms, ARM_COLUMNS)


def read_columns(rows: QuerySet[Any], columns: Mapping[str, str]) -> Iterator[Sequence[Any]]:
    """The rows in their order, each with what ``columns`` names, in constant memory."""
    return rows.values_list(*columns.values()).iterator(chunk_size=5_000)


def make_export(
    key: str,
    name: str,
    sentence: str,
    *,
    columns: Iterable[str],
    read_rows: RowsReader,
    meanings: Mapping[str, str],
    opens_codings: bool = False,
) -> Export:
    """A table of this room: for whoever may see every coding. One that opens codings opens what machines proposed, too."""
    return Export(
        key=key,
        name=name,
        sentence=sentence,
        header=list(columns),
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=read_rows,
        opens_codings=opens_codings,
        find_opened=find_suggested if opens_codings else None,
        meanings=meanings,
    )


OF_ANNOTATORS = {
    "annotator": "The reading that proposed it: a model with its prompt and codebook version, rules, or what was learnt.",
    "annotator_number": "Which annotator of that name, from 1: one that reads otherwise in any way has another number.",
    "suggestion_id": "Number of the suggestion.",
}
SUGGESTIONS = make_export(
    "suggestions",
    "Suggestions",
    "What machines proposed, with the annotator and the paid call behind each row, and what a critic said.",
    columns=[*SUGGESTION_COLUMNS, STANDING_COLUMN],
    read_rows=read_suggestions,
    opens_codings=True,
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
        STANDING_COLUMN: "The sentence it is read at now; another one than sentence_id where breaks were corrected since, "
        "empty where no one sentence holds its words any more.",
    },
)
SHOWINGS = make_export(
    "showings",
    "What coders were shown",
    "Each look at suggestions: arm, order, times, the codes that stood before, and what became of each. Rows of everybody "
    "do not say whose they are.",
    columns=SHOWING_COLUMNS,
    read_rows=read_showings,
    opens_codings=True,
    meanings={
        **OF_ANNOTATORS,
        "arm": "shown, or withheld: a look on a turn that never shows suggestions.",
        "draft": "true where suggestions were shown before the coder's own decision; such labels are in no measure.",
        "coder": "User name of the coder, in her own rows; empty in rows of everybody, for how far suggestions moved one "
        "coder is hers alone.",
        "shown": "When, in UTC; in rows of everybody the day.",
        "closed": "When the panel was closed; empty where that is not known, and in rows of everybody.",
        "own_codes": "Identifiers of the codes the coder had put on the sentence by then, as a list; empty in rows of "
        "everybody.",
        "place": "Place in the shuffled order in which they were shown, from 1; empty where there was none to show.",
        "code_id": "The code that was suggested.",
        "response": "kept, left, edited or undone, as it stands; empty where the coder said nothing, and in rows of everybody "
        "of interviews where fewer than two coders looked.",
        "reason": "The coder's reason, where she gave one; empty where the response is.",
        "coding_id": "Number of the coding it became; empty in rows of everybody.",
        "responded": "When she said so, in UTC; empty in rows of everybody.",
        "showing_id": "Number of the look; rows of one look share it.",
    },
)
TURN_ARMS = make_export(
    "turn_arms",
    "Withheld turns",
    "Which turns show suggestions and which never do, with the probability each was drawn with.",
    columns=ARM_COLUMNS,
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
