"""Rows of what coders did: codings, decisions, what was seen when, memos, and boundary edits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.models import Q, TextField, Value
from django.db.models.functions import Cast

from transcripts.coding.models import Coding, Decision, Memo, Reveal, Unblinding
from transcripts.coding.values import CHOICE_FIELDS
from transcripts.corpus.models import Sentence
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import PLACE, Column, column, find_places, label_sentences, quote_sentences, stream
from transcripts.retrieval.prompts import StudyPrompts

CODINGS = [
    column("project", "sentence__turn__interview__study__slug"),
    column("interview", "sentence__turn__interview__external_id"),
    column("model", "sentence__turn__interview__model_label"),
    column("turn", "sentence__turn__position"),
    column("role", "sentence__turn__role"),
    column("sentence_id", "sentence_id"),
    column("sentence", "sentence__position"),
    column("sentence_label", "sentence__suffix"),
    column("start", "sentence__start"),
    column("end", "sentence__end"),
    column("text", "quoted"),
    column("quote_start", "quote_start"),
    column("quote_end", "quote_end"),
    column("quote", "quote_end"),
    column("code_id", "code__identifier"),
    column("code", "code__name"),
    column("family", "code__family__identifier"),
    column("codebook_version", "code__version__number"),
    *(column(name, name) for name in CHOICE_FIELDS),
    column("prompting_source", "prompting"),
    column("attributes", "answers"),
    column("note", "note"),
    column("reason", "reason"),
    column("range", "range_text"),
    column("coder", "coder__username"),
    column("layer", "layer"),
    column("created", "created_at"),
    column("withdrawn", "withdrawn_at"),
    column("withdrawal_reason", "withdrawal_reason"),
    column("superseded_by", "superseded_by_id"),
    column("carried_from", "migrated_from_id"),
    column("coding_id", "pk"),
    column("migrated_from", "migrated_from_id"),
]
# Read beside the columns, to derive what the database does not hold.
BESIDE = [Column("coder_id", "coder_id", ""), Column("interview_id", "sentence__turn__interview_id", "")]
POSITION, LABEL, START, TEXT, QUOTE_START, QUOTE_END, QUOTE, TURN, ROLE, CODE, SAID, SOURCE, ANSWERS, RANGE = (
    find_places(
        CODINGS,
        *("sentence", "sentence_label", "start", "text", "quote_start", "quote_end", "quote"),
        *("turn", "role", "code_id", "prompting", "prompting_source", "attributes", "range"),
    )
)

DECISIONS = [
    column("project", "sentence__turn__interview__study__slug"),
    column("interview", "sentence__turn__interview__external_id"),
    column("turn", "sentence__turn__position"),
    column("sentence_id", "sentence_id"),
    column("sentence", "sentence__position"),
    column("sentence_label", "label"),
    column("none_applies", "none_applies"),
    column("coder", "coder__username"),
    column("layer", "layer"),
    column("created", "created_at"),
    column("withdrawn", "withdrawn_at"),
    column("decision_id", "pk"),
]

REVEALS = [
    *PLACE,
    column("coder", "coder__username"),
    column("source", "source", "What was seen: machine (suggestions) or colleagues (their codings)."),
    column("revealed", "revealed_at", "When it was first seen, in UTC."),
]

UNBLINDINGS = [
    column("project", "interview__study__slug"),
    column("interview", "interview__external_id"),
    column("person", "user__username", "User name of the person who unblinded it."),
    column("where", "where", "On which page."),
    column("unblinded", "unblinded_at", "When, in UTC. What she coded there afterwards is in the layer assisted."),
]

MEMOS = [
    column("project", "project__slug"),
    column("subject", "subject", "What it is about: sentence, interview, code, theme or project."),
    column("subject_key", "subject_key", "Identifier of the code or number of the theme it is about."),
    column("interview", "interview__external_id"),
    column("sentence_id", "sentence_id"),
    column("sentence", "sentence__position"),
    column("sentence_label", "label"),
    column("kind", "kind", "reading, interpretive, positional, methodological or decision."),
    column("text", "text", "The memo."),
    column("author", "author__username"),
    column("thread", "thread", "The same for all versions of one memo on a code, a theme or the study."),
    column("revision", "revision", "Which version of the memo, from 1."),
    column("created", "created_at"),
    column("withdrawn", "withdrawn_at"),
    column("superseded_by", "superseded_by_id"),
    column("memo_id", "pk", "Number of this version."),
]

BOUNDARY_EDITS = [
    column("project", "turn__interview__study__slug"),
    column("interview", "turn__interview__external_id"),
    column("turn", "turn__position"),
    column("boundary_edit_id", "{}", "Number of the split or merge; its sentences share it."),
    column("kind", "{}__kind", "split or merge."),
    column("edited", "{}__edited_at", "When, in UTC."),
    column("edited_by", "{}__edited_by__username", "Who did it."),
    column("side", "side", "retired: a sentence before the edit; made: one after it."),
    column("sentence_id", "pk"),
    column("sentence_label", "label"),
    column("start", "start"),
    column("end", "end"),
    column("text", "quoted"),
]

# Deprecated names of the exports boundary_edits and unblindings, kept for one release.
_OLD_NAMES = {"boundary_edit_id": "recut_id", "edited": "cut", "edited_by": "cut_by", "unblinded": "opened"}
RECUTS = [each._replace(name=_OLD_NAMES.get(each.name, each.name)) for each in BOUNDARY_EDITS]
OPENINGS = [each._replace(name=_OLD_NAMES.get(each.name, each.name)) for each in UNBLINDINGS]


def count_codings(scope: Scope) -> int:
    """How many rows ``read_codings`` yields."""
    return scope.keep(Coding.objects.filter(sentence__turn__interview__project=scope.project), "coder").count()


def count_decisions(scope: Scope) -> int:
    """How many rows ``read_decisions`` yields."""
    return scope.keep(Decision.objects.filter(sentence__turn__interview__project=scope.project), "coder").count()


def read_codings(scope: Scope) -> Iterator[Sequence[object]]:
    """Every coding, withdrawn ones included, with what is derived about prompting where its coder did not say."""
    codings = scope.keep(Coding.objects.filter(scope.within("sentence__turn__interview")), "coder")
    # As text, for most are empty, and to make an object of each takes longer than all the rest of a row.
    plain = codings.annotate(answers=Cast("attributes", TextField()), range_text=Cast("range_id", TextField()))
    return complete(stream(quote_sentences(plain).order_by("pk"), [*CODINGS, *BESIDE]), StudyPrompts(scope.project))


def complete(rows: Iterable[Sequence[Any]], prompts: StudyPrompts) -> Iterator[Sequence[object]]:
    """Rows of codings with the label of the sentence, the quote and the prompting filled in."""
    for row in rows:
        *cells, coder_id, interview_id = row
        cells[LABEL] = f"{cells[POSITION]}{cells[LABEL]}"
        quoted = slice(cells[QUOTE_START] - cells[START], cells[QUOTE_END] - cells[START]) if cells[QUOTE_END] else None
        cells[QUOTE] = cells[TEXT][quoted] if quoted else ""
        cells[ANSWERS] = show_answers(cells[ANSWERS]) if cells[ANSWERS] != "{}" else ""
        cells[RANGE] = str(UUID(cells[RANGE])) if cells[RANGE] else ""
        cells[SAID], cells[SOURCE] = prompts.find_prompting(
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
    decisions = scope.keep(Decision.objects.filter(scope.within("sentence__turn__interview")), "coder")
    return stream(label_sentences(decisions).order_by("pk"), DECISIONS)


def read_reveals(scope: Scope) -> Iterator[Sequence[object]]:
    """When somebody first saw others' labels for a sentence."""
    reveals = scope.keep(Reveal.objects.filter(scope.within("sentence__turn__interview")), "coder")
    return stream(label_sentences(reveals).order_by("pk"), REVEALS)


def read_unblindings(scope: Scope) -> Iterator[Sequence[object]]:
    """Who unblinded which interview, and when."""
    unblindings = scope.keep(Unblinding.objects.filter(scope.within("interview")), "user")
    return stream(unblindings.order_by("pk"), UNBLINDINGS)


def read_memos(scope: Scope) -> Iterator[Sequence[object]]:
    """Memos, former texts included."""
    memos = scope.keep(Memo.objects.filter(project=scope.project), "author")
    memos = memos.filter(Q(interview__isnull=True) | scope.within("interview"))
    return stream(label_sentences(memos).order_by("pk"), MEMOS)


def read_boundary_edits(scope: Scope) -> Iterator[Sequence[object]]:
    """Splits and merges: a row for each sentence that was retired and each that was made."""
    return merge(
        *(_read_side(scope, side) for side in ("retired", "made")),
        key=itemgetter(*find_places(BOUNDARY_EDITS, "boundary_edit_id")),
    )


def read_recuts(scope: Scope) -> Iterator[Sequence[object]]:
    """Boundary edits under their old name, in which a merge is a join."""
    [kind] = find_places(BOUNDARY_EDITS, "kind")
    for row in read_boundary_edits(scope):
        yield [*row[:kind], "join" if row[kind] == "merge" else row[kind], *row[kind + 1 :]]


def _read_side(scope: Scope, side: str) -> Iterator[Sequence[Any]]:
    by = f"{side}_by"
    sentences = Sentence.objects.filter(scope.within("turn__interview"), **{f"{by}__isnull": False})
    marked = quote_sentences(label_sentences(sentences, ""), "").annotate(side=Value(side))
    return stream(
        marked.order_by(by, "start"), [each._replace(source=each.source.format(by)) for each in BOUNDARY_EDITS]
    )
