"""Exports of the texts themselves: turns, sentences whether coded or not, and whole interviews that can come in again."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db.models import F

from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import (
    CHUNK,
    PLACE,
    columns,
    find_place,
    find_places,
    label_sentences,
    quote_sentences,
    stream,
)
from transcripts.formats.tabular import MAX_CELL

TURNS = columns(
    Turn,
    "project interview model turn role channel speaker prompt_kind is_answer call_id details text",
    project="interview__study__slug",
    model="interview__model_label",
    turn="position",
)
SENTENCES = columns(
    Sentence,
    f"{PLACE} sentence role channel is_answer kind start end text",
    find_place(""),
    role="turn__role",
    channel="turn__channel",
    is_answer="turn__is_answer",
)
(_DETAILS,) = find_places(TURNS, "details")
# Fields of an interview that are text, by their key in a line.
_TEXTS = {
    "title": "title",
    "model": "model_label",
    **{name: name for name in ("vendor", "surface", "period", "interviewer", "tier", "inclusion", "inclusion_reason")},
    "opening_prompt": "opening_prompt",
    "language": "language",
}
_TEXTS_OF_TURN = ("channel", "speaker", "prompt_kind", "call_id")


def read_turns(scope: Scope) -> Iterator[Sequence[object]]:
    """Every turn with its exact text, in the order of the study."""
    turns = Turn.objects.filter(scope.within("interview")).order_by("interview_id", "position")
    for row in stream(turns, TURNS):
        details = row[_DETAILS]
        told = json.dumps(details, ensure_ascii=False, sort_keys=True) if details else ""
        yield [*row[:_DETAILS], told, *row[_DETAILS + 1 :]]


def count_turns(scope: Scope) -> int:
    """How many rows ``read_turns`` yields."""
    return Turn.objects.filter(scope.within("interview")).count()


def count_long_turns(scope: Scope) -> int:
    """How many turns are longer than a spreadsheet keeps, by where their sentences end: no text is read for it."""
    long = Sentence.objects.current().filter(scope.within("turn__interview"), end__gt=MAX_CELL)
    return long.order_by().values("turn").distinct().count()


def count_long_sentences(scope: Scope) -> int:
    """How many sentences are longer than a spreadsheet keeps."""
    return int(_find_sentences(scope).filter(end__gt=F("start") + MAX_CELL).count())


def read_sentences(scope: Scope) -> Iterator[Sequence[object]]:
    """Every sentence as it is segmented now, whether anybody coded it or not."""
    return stream(quote_sentences(label_sentences(_find_sentences(scope), ""), ""), SENTENCES)


def count_sentences(scope: Scope) -> int:
    """How many rows ``read_sentences`` yields."""
    return int(_find_sentences(scope).count())


def _find_sentences(scope: Scope) -> Any:
    found = Sentence.objects.current().filter(scope.within("turn__interview"))
    return found.order_by("turn__interview_id", "position", "start")


def write_interviews(scope: Scope, path: Path) -> int:
    """Write every interview as a line of interview_jsonl, each after the one that it hangs on; returns how many.

    What hangs on an interview that the file leaves out stands by itself: a line may name only what the file holds.
    """
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        within = Interview.objects.filter(scope.within())
        keys = set(within.values_list("pk", flat=True))
        found = within.select_related("hangs_on__interview").order_by("pk")
        for interview in found.iterator(chunk_size=CHUNK):
            file.write(json.dumps(_describe_interview(interview, keys), ensure_ascii=False) + "\n")
            written += 1
            scope.watch(written, 0)
    return written


def _describe_interview(interview: Interview, keys: Container[int]) -> dict[str, Any]:
    """What a line says, in a file of the interviews ``keys``. Metadata first: it overwrites no key of the format."""
    line: dict[str, Any] = {**interview.metadata, "id": interview.external_id, "kind": interview.kind}
    line |= {key: value for key, field in _TEXTS.items() if (value := getattr(interview, field))}
    if interview.hangs_on and interview.hangs_on.interview_id in keys:
        line["relation"] = interview.relation
        line["hangs_on"] = {"id": interview.hangs_on.interview.external_id, "turn": interview.hangs_on.position}
    if interview.run:
        line["run"] = interview.run
    line["turns"] = [_describe_turn(turn) for turn in interview.turns.order_by("position")]
    return line


def _describe_turn(turn: Turn) -> dict[str, Any]:
    described: dict[str, Any] = {"role": turn.role, "text": turn.text}
    described |= {name: value for name in _TEXTS_OF_TURN if (value := getattr(turn, name))}
    return {**described, "details": turn.details} if turn.details else described
