"""Exports of machine work and of what people were shown of it: apart from people's codings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Substr

from auditapp.annotators.models import Annotator, CriticAnswer, Suggestion, TurnArm
from auditapp.annotators.queries.boundary_edits import map_moved
from auditapp.suggestions.models import Response, Showing
from transcripts.coding.models import Coding
from transcripts.exchange.coding_rows import show_answers
from transcripts.exchange.rows import (
    Column,
    Export,
    RowsReader,
    Scope,
    columns,
    describe,
    find_place,
    find_places,
    stream,
)
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission


def of_annotator(prefix: str) -> list[Column]:
    """Who proposed it. ``prefix`` is the path to the annotator."""
    found = columns(Annotator, "annotator annotator_number", annotator="name", annotator_number="number")
    return [each._replace(source=prefix + each.source) for each in found]


SUGGESTION_COLUMNS = [
    *columns(
        Suggestion,
        "study interview turn sentence_id sentence text code_id code codebook_version level enactment attributes quote_start "
        "quote_end quote score",
        find_place(),
        text="text",
        code_id="code__identifier",
        code="code__name",
        codebook_version="code__version__number",
        attributes=("given", describe(Coding, "attributes")),
        quote=("quote", "The words the annotator gives as evidence, verified in the sentence."),
    ),
    *of_annotator("annotator__"),
    *columns(
        Suggestion,
        "annotator_kind annotator_hash mode provider model rationale critic critic_verdict arm probability batch attempt run "
        "suggestion_id",
        annotator_kind="annotator__kind",
        annotator_hash="annotator__hash",
        mode="annotator__mode",
        provider="annotator__variant__account__provider",
        model="annotator__variant__model",
        critic=("critic", "Label of the model with the latest verdict on it."),
        critic_verdict=("critic_verdict", "upheld or rejected; empty if no critic gave a verdict."),
        arm="sentence__turn__suggestion_arm__arm",
        probability="sentence__turn__suggestion_arm__probability",
        batch="cell__batch_id",
        attempt="cell__result__attempt_id",
    ),
]
CURRENT_SENTENCE = Column(
    "current_sentence_id",
    "",
    "The sentence it applies to now; differs from sentence_id if sentence boundaries were edited since; empty if its words are "
    "no longer in one sentence.",
    int,
)
SHOWING_COLUMNS = [
    *columns(
        Showing,
        "study interview turn sentence_id sentence coder arm draft shown closed own_codes place",
        find_place(),
        draft="is_draft",
        shown=("", "When, in UTC; only the day in rows of all coders."),
        place=(
            "",
            "Place in the shuffled order in which they were shown, from 1; empty if there was none to show.",
        ),
    ),
    *columns(Suggestion, "suggestion_id code_id", code_id="code__identifier"),
    *of_annotator(""),
    *columns(
        Response, "response reason coding_id responded", response="verdict", coding_id="coding", responded="created_at"
    ),
    *columns(Showing, "showing_id", showing_id=("pk", "Number of the look; rows of one look share it.")),
]
ARM_COLUMNS = columns(
    TurnArm,
    "study interview turn arm probability plan share_percent seed reason planned planned_by",
    study="plan__study__slug",
    interview="turn__interview__external_id",
    turn="turn__position",
    plan="plan__number",
    share_percent="plan__share_percent",
    seed="plan__seed",
    reason="plan__reason",
    planned="plan__made_at",
    planned_by="plan__made_by_name",
)
CHUNK = 1_000


def count_suggestions(scope: Scope) -> int:
    """How many rows ``read_suggestions`` yields; 0, not known, for those of one person."""
    if scope.only is not None:
        return 0
    return Suggestion.objects.filter(annotator__study=scope.study).count()


def read_suggestions(scope: Scope) -> Iterator[Sequence[object]]:
    """Every suggestion of the study; of one person, those she was shown herself, and nothing else of the sentence.

    The last column is the sentence it applies to now.
    """
    turn_text = "sentence__turn__text"
    length = F("sentence__end") - F("sentence__start")
    said = CriticAnswer.objects.filter(suggestion=OuterRef("pk")).exclude(verdict="").order_by("-cell_id")
    suggestions = Suggestion.objects.filter(scope.within("sentence__turn__interview"))
    moved = map_moved(suggestions)
    suggestions = suggestions.annotate(
        text=Substr(turn_text, F("sentence__start") + 1, length),
        quote=Substr(turn_text, F("quote_start") + 1, F("quote_end") - F("quote_start")),
        given=Cast("answers", TextField()),
        critic=Subquery(said.values("cell__arm__variant__label")[:1]),
        critic_verdict=Subquery(said.values("verdict")[:1]),
    )
    if scope.only is not None:
        looks = Showing.objects.filter(scope.within("sentence__turn__interview"), coder=scope.only)
        shown = set(chain.from_iterable(looks.values_list("suggestions", flat=True)))
        suggestions = suggestions.filter(sentence__turn__in=looks.values("sentence__turn"))
    rows = stream(suggestions.order_by("pk"), SUGGESTION_COLUMNS)
    kept = rows if scope.only is None else (row for row in rows if row[-1] in shown)
    place, given = find_places(SUGGESTION_COLUMNS, "sentence_id", "attributes")
    return (
        (
            *row[:given],
            show_answers(row[given]) if row[given] != "{}" else "",
            *row[given + 1 :],
            moved.get(row[-1], row[place]),
        )
        for row in kept
    )


def find_suggested(study: Study) -> set[int]:
    """The interviews in which a machine proposed a code."""
    found = Suggestion.objects.filter(annotator__study=study).order_by()
    return set(found.values_list("sentence__turn__interview", flat=True).distinct())


def read_showings(scope: Scope) -> Iterator[Sequence[object]]:
    """Every look, a row for each suggestion shown, in the order shown; a look at none is one row.

    How far suggestions influenced one coder is shown to her alone. So rows of all coders do not name them, and have
    responses only in interviews where two or more coders looked.
    """
    showings = Showing.objects.filter(scope.within("sentence__turn__interview"))
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
            head = _write_look(scope, showing, is_own=is_own)
            for place, key in enumerate(showing.suggestions, start=1):
                response = responses.get((key, showing.coder_id)) if is_shared else None
                answer = _write_response(response, is_own=is_own)
                yield *head, place, key, *_write_suggestion(suggestions.get(key)), *answer, showing.pk
            if not showing.suggestions:
                yield *head, *[None] * 9, showing.pk


def find_shared(showings: QuerySet[Showing]) -> set[int]:
    """The interviews in which two or more coders looked at suggestions."""
    by_interview = (
        showings.order_by().values("sentence__turn__interview").annotate(coders=Count("coder", distinct=True))
    )
    return set(by_interview.filter(coders__gte=2).values_list("sentence__turn__interview", flat=True))


def _write_look(scope: Scope, showing: Showing, *, is_own: bool) -> list[object]:
    sentence, turn = showing.sentence, showing.sentence.turn
    return [
        scope.study.slug,
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


def _write_suggestion(suggestion: Suggestion | None) -> list[object]:
    if suggestion is None:
        return [None, None, None]
    return [suggestion.code.identifier, suggestion.annotator.name, suggestion.annotator.number]


def _write_response(response: Response | None, *, is_own: bool) -> list[object]:
    if response is None:
        return [None, None, None, None]
    if not is_own:
        return [response.verdict, response.reason, None, None]
    return [response.verdict, response.reason, response.coding_id, response.created_at]


def read_turn_arms(scope: Scope) -> Iterator[Sequence[object]]:
    """Every turn that was drawn, with the plan under which it was."""
    arms = TurnArm.objects.filter(scope.within("turn__interview")).order_by("turn__interview", "turn__position")
    return stream(arms, ARM_COLUMNS)


def make_export(
    key: str,
    name: str,
    sentence: str,
    *,
    row: str,
    columns: Sequence[Column],
    read_rows: RowsReader,
    unblinds: bool = False,
    is_narrowed: bool = True,
) -> Export:
    """An export of this room, for people who may see every coding. One that unblinds covers suggestions too."""
    return Export(
        key=key,
        name=name,
        sentence=sentence,
        row=row,
        columns=columns,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=read_rows,
        unblinds=unblinds,
        find_unblinded=find_suggested if unblinds else None,
        also_reveals="machines’ suggestions",
        is_narrowed=is_narrowed,
    )


SUGGESTIONS = make_export(
    "suggestions",
    "Suggestions",
    "The suggestions of machines, with the annotator, the paid call and a critic's verdict for each row.",
    row="a machine's proposal",
    columns=[*SUGGESTION_COLUMNS, CURRENT_SENTENCE],
    read_rows=read_suggestions,
    unblinds=True,
)._replace(count_rows=count_suggestions)
SHOWINGS = make_export(
    "showings",
    "What coders were shown",
    "Each look at suggestions: arm, order, times, the coder's codes before it, and each response. Rows of all coders do not "
    "name them.",
    row="a suggestion shown to a coder; a look at none",
    columns=SHOWING_COLUMNS,
    read_rows=read_showings,
    unblinds=True,
)
TURN_ARMS = make_export(
    "turn_arms",
    "Withheld turns",
    "Which turns show suggestions and which never do, with the probability with which each was drawn.",
    row="a turn drawn to show suggestions or never to show them",
    columns=ARM_COLUMNS,
    read_rows=read_turn_arms,
)
