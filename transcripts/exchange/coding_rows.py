"""Rows of what coders did: codings, decisions, what was seen when, memos, and corrected sentence breaks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.models import TextField, Value
from django.db.models.functions import Cast

from transcripts.coding.models import Coding, Decision, Memo, Reveal, Unblinding
from transcripts.corpus.models import Sentence
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import label_sentences, place_columns, quote_sentences, stream
from transcripts.retrieval.prompts import StudyPrompts

CODINGS = {
    "project": "sentence__turn__interview__project__slug",
    "interview": "sentence__turn__interview__external_id",
    "model": "sentence__turn__interview__model_label",
    "turn": "sentence__turn__position",
    "role": "sentence__turn__role",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "sentence_label": "sentence__suffix",
    "start": "sentence__start",
    "end": "sentence__end",
    "text": "quoted",
    "quote_start": "quote_start",
    "quote_end": "quote_end",
    "quote": "quote_end",
    "code_id": "code__identifier",
    "code": "code__name",
    "family": "code__family__identifier",
    "codebook_version": "code__version__number",
    "level": "level",
    "enactment": "enactment",
    "grounding": "grounding",
    "prompting": "prompting",
    "prompting_source": "prompting",
    "attributes": "answers",
    "note": "note",
    "reason": "reason",
    "range": "range_text",
    "coder": "coder__username",
    "layer": "layer",
    "created": "created_at",
    "withdrawn": "withdrawn_at",
    "withdrawal_reason": "withdrawal_reason",
    "superseded_by": "superseded_by_id",
    "carried_from": "carried_from_id",
    "coding_id": "pk",
}
# Read beside the columns, to derive what the database does not hold.
BESIDE = {"coder_id": "coder_id", "interview_id": "sentence__turn__interview_id"}
POSITION, LABEL, START, TEXT, QUOTE_START, QUOTE_END, QUOTE, TURN, ROLE, CODE, SAID, SOURCE, ANSWERS, RANGE = (
    list(CODINGS).index(name)
    for name in (
        *("sentence", "sentence_label", "start", "text", "quote_start", "quote_end", "quote"),
        *("turn", "role", "code_id", "prompting", "prompting_source", "attributes", "range"),
    )
)

DECISIONS = {
    "project": "sentence__turn__interview__project__slug",
    "interview": "sentence__turn__interview__external_id",
    "turn": "sentence__turn__position",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "sentence_label": "label",
    "none_applies": "none_applies",
    "coder": "coder__username",
    "layer": "layer",
    "created": "created_at",
    "withdrawn": "withdrawn_at",
    "decision_id": "pk",
}

REVEALS = {**place_columns(), "coder": "coder__username", "source": "source", "revealed": "revealed_at"}

OPENINGS = {
    "project": "interview__project__slug",
    "interview": "interview__external_id",
    "person": "user__username",
    "where": "where",
    "opened": "unblinded_at",
}

MEMOS = {
    "project": "project__slug",
    "subject": "subject",
    "subject_key": "subject_key",
    "interview": "interview__external_id",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "sentence_label": "label",
    "kind": "kind",
    "text": "text",
    "author": "author__username",
    "thread": "thread",
    "revision": "revision",
    "created": "created_at",
    "withdrawn": "withdrawn_at",
    "superseded_by": "superseded_by_id",
    "memo_id": "pk",
}

RECUTS = {
    "project": "turn__interview__project__slug",
    "interview": "turn__interview__external_id",
    "turn": "turn__position",
    "recut_id": "{}",
    "kind": "{}__kind",
    "cut": "{}__cut_at",
    "cut_by": "{}__cut_by__username",
    "side": "side",
    "sentence_id": "pk",
    "sentence_label": "label",
    "start": "start",
    "end": "end",
    "text": "quoted",
}


def read_codings(scope: Scope) -> Iterator[Sequence[object]]:
    """Every coding, withdrawn ones included, with what is derived about prompting where its coder did not say."""
    codings = Coding.objects.filter(sentence__turn__interview__project=scope.project)
    if scope.only is not None:
        codings = codings.filter(coder=scope.only)
    # As text, for most are empty, and to make an object of each takes longer than all the rest of a row.
    plain = codings.annotate(answers=Cast("attributes", TextField()), range_text=Cast("range_id", TextField()))
    return complete(stream(quote_sentences(plain).order_by("pk"), {**CODINGS, **BESIDE}), StudyPrompts(scope.project))


def complete(rows: Iterable[Sequence[Any]], prompts: StudyPrompts) -> Iterator[Sequence[object]]:
    """Rows of codings with the label of the sentence, the quote and the prompting filled in."""
    for row in rows:
        *cells, coder_id, interview_id = row
        cells[LABEL] = f"{cells[POSITION]}{cells[LABEL]}"
        quoted = slice(cells[QUOTE_START] - cells[START], cells[QUOTE_END] - cells[START]) if cells[QUOTE_END] else None
        cells[QUOTE] = cells[TEXT][quoted] if quoted else ""
        cells[ANSWERS] = show_answers(cells[ANSWERS]) if cells[ANSWERS] != "{}" else ""
        cells[RANGE] = str(UUID(cells[RANGE])) if cells[RANGE] else ""
        cells[SAID], cells[SOURCE] = prompts.tell(
            said=cells[SAID],
            role=cells[ROLE],
            interview_id=interview_id,
            coder_id=coder_id,
            code=cells[CODE],
            position=cells[TURN],
        )
        yield cells


def show_answers(stored: str) -> str:
    """The answers to a code's own questions as JSON text, the same from every database."""
    return json.dumps(json.loads(stored), ensure_ascii=False, sort_keys=True)


def read_decisions(scope: Scope) -> Iterator[Sequence[object]]:
    """Every "read; nothing more here", with whether no code applied."""
    decisions = Decision.objects.filter(sentence__turn__interview__project=scope.project)
    if scope.only is not None:
        decisions = decisions.filter(coder=scope.only)
    return stream(label_sentences(decisions).order_by("pk"), DECISIONS)


def read_reveals(scope: Scope) -> Iterator[Sequence[object]]:
    """When somebody first saw others' labels for a sentence."""
    reveals = Reveal.objects.filter(sentence__turn__interview__project=scope.project)
    if scope.only is not None:
        reveals = reveals.filter(coder=scope.only)
    return stream(label_sentences(reveals).order_by("pk"), REVEALS)


def read_openings(scope: Scope) -> Iterator[Sequence[object]]:
    """When somebody opened colleagues' codings of an interview."""
    openings = Unblinding.objects.filter(interview__project=scope.project)
    if scope.only is not None:
        openings = openings.filter(user=scope.only)
    return stream(openings.order_by("pk"), OPENINGS)


def read_memos(scope: Scope) -> Iterator[Sequence[object]]:
    """Memos, former texts included."""
    memos = Memo.objects.filter(project=scope.project)
    if scope.only is not None:
        memos = memos.filter(author=scope.only)
    return stream(label_sentences(memos).order_by("pk"), MEMOS)


def read_recuts(scope: Scope) -> Iterator[Sequence[object]]:
    """Corrections of sentence breaks: a row for each sentence that was retired and each that was made."""
    return merge(
        *(_read_side(scope, side) for side in ("retired", "made")), key=itemgetter(list(RECUTS).index("recut_id"))
    )


def _read_side(scope: Scope, side: str) -> Iterator[Sequence[Any]]:
    by = f"{side}_by"
    sentences = Sentence.objects.filter(turn__interview__project=scope.project, **{f"{by}__isnull": False})
    marked = quote_sentences(label_sentences(sentences, ""), "").annotate(side=Value(side))
    return stream(marked.order_by(by, "start"), {name: path.format(by) for name, path in RECUTS.items()})
