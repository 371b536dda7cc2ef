"""Rows of what coders did: codings, decisions, what was seen when, memos, and boundary edits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Cast

from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.coding.models import Coding, Decision, Memo, Reveal, StageOpening, Unblinding
from transcripts.coding.reasoning import read_first_openings, saw_reasoning
from transcripts.coding.values import CHOICE_FIELDS
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.pure.readers.threads import find_stage
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import PLACE, column, find_places, label_sentences, quote_sentences, stream
from transcripts.formats.tabular import Groups
from transcripts.projects.models import Project
from transcripts.retrieval.prompts import StudyPrompts

# Rows that are completed together; they are in memory at the same time.
GROUP = 500

# Those without a source are looked up or derived; see ``complete``.
CODINGS = [
    column("project"),
    column("interview"),
    column("model"),
    column("turn", "sentence__turn__position"),
    column("role", "sentence__turn__role"),
    column("sentence_id", "sentence_id"),
    column("sentence", "sentence__position"),
    column("sentence_label"),
    column("start", "sentence__start"),
    column("end", "sentence__end"),
    column("text", "quoted"),
    column("quote_start", "quote_start"),
    column("quote_end", "quote_end"),
    column("quote"),
    column("code_id"),
    column("code"),
    column("family"),
    column("codebook_version"),
    *(column(name, name) for name in CHOICE_FIELDS),
    column("prompting_source"),
    column("attributes", "answers"),
    column("note", "note"),
    column("reason", "reason"),
    column("range", "range_text"),
    column("coder"),
    column("layer", "layer"),
    column("created", "created_text"),
    column("withdrawn", "withdrawn_text"),
    column("withdrawal_reason", "withdrawal_reason"),
    column("superseded_by", "superseded_by_id"),
    column("carried_from"),
    column("coding_id", "pk"),
    column("migrated_from", "migrated_from_id"),
    column("stage"),
    column("saw_reasoning"),
]
HEADINGS = [each.name for each in CODINGS]
# Read with every coding: what the database holds of it, and by what the rest of its row is looked up.
STORED = {each.name: each.source for each in CODINGS if each.source} | {
    "suffix": "sentence__suffix",
    "code_key": "code_id",
    "coder_key": "coder_id",
    "interview_key": "sentence__turn__interview_id",
    "channel": "sentence__turn__channel",
}

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


def read_codings(scope: Scope) -> Groups:
    """Every coding, withdrawn ones included, with what is derived about prompting where its coder did not say."""
    codings = scope.keep(Coding.objects.filter(scope.within("sentence__turn__interview")), "coder")
    # As text: to have Django make an object of each takes longer than all the rest of a row.
    plain = codings.annotate(
        answers=Cast("attributes", TextField()),
        range_text=Cast("range_id", TextField()),
        created_text=Cast("created_at", TextField()),
        withdrawn_text=Cast("withdrawn_at", TextField()),
    )
    found = quote_sentences(plain).order_by("pk").values_list(*STORED.values())
    return Groups(complete(found.iterator(chunk_size=GROUP), scope.project))


class _Known(dict[int, tuple[Any, ...]]):
    """Values of rows that many codings refer to, by key: looked up once, which takes half the time of joining them."""

    def __init__(self, rows: QuerySet[Any], *fields: str) -> None:
        super().__init__()
        self._rows = rows.order_by().values_list("pk", *fields)

    def find(self, keys: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """The values of each field, in the order of ``keys``."""
        if missing := set(keys) - self.keys():
            self.update((key, values) for key, *values in self._rows.filter(pk__in=missing))
        return zip(*map(self.__getitem__, keys), strict=True)


def complete(rows: Iterable[Sequence[Any]], project: Project) -> Iterator[list[Sequence[object]]]:
    """Columns of ``CODINGS`` from rows of ``STORED``, a group of rows at a time."""
    rows, prompts = iter(rows), StudyPrompts(project)
    interviews = _Known(Interview.objects.all(), "external_id", "model_label")
    codes = _Known(Code.objects.all(), "identifier", "name", "family__identifier", "version__number")
    coders = _Known(User.objects.all(), "username")
    openings = read_first_openings(StageOpening.objects.filter(turn__interview__study=project))
    while group := list(islice(rows, GROUP)):
        cells: dict[str, Sequence[Any]] = dict(zip(STORED, zip(*group, strict=True), strict=True))
        cells["project"] = [project.slug] * len(group)
        cells["interview"], cells["model"] = interviews.find(cells["interview_key"])
        cells["code_id"], cells["code"], cells["family"], cells["codebook_version"] = codes.find(cells["code_key"])
        [cells["coder"]] = coders.find(cells["coder_key"])
        cells["sentence_label"] = list(map("{}{}".format, cells["sentence"], cells["suffix"]))
        cells["quote"] = _cut_quotes(cells)
        cells["attributes"] = [show_answers(each) if each != "{}" else "" for each in cells["attributes"]]
        cells["range"] = [str(UUID(each)) if each else "" for each in cells["range"]]
        cells["created"] = list(map(_read_moment, cells["created"]))
        cells["withdrawn"] = [_read_moment(each) if each else None for each in cells["withdrawn"]]
        cells["stage"] = [find_stage(*place) or "" for place in zip(cells["role"], cells["channel"], strict=True)]
        cells["saw_reasoning"] = [
            saw_reasoning(openings, (coder, interview), created)
            for interview, coder, created in zip(
                cells["interview_key"], cells["coder_key"], cells["created"], strict=True
            )
        ]
        cells["carried_from"] = cells["migrated_from"]
        said, places = cells["prompting"], ("interview_key", "coder_key", "code_id", "role", "turn")
        derived = list(map(prompts.derive, *(cells[name] for name in places)))
        cells["prompting"] = [own or found for own, found in zip(said, derived, strict=True)]
        cells["prompting_source"] = [
            "said" if own else found and "derived" for own, found in zip(said, derived, strict=True)
        ]
        yield [cells[name] for name in HEADINGS]


def _cut_quotes(cells: Mapping[str, Sequence[Any]]) -> list[str]:
    places = (cells[name] for name in ("text", "start", "quote_start", "quote_end"))
    return [
        text[first - start : behind - start] if behind else ""
        for text, start, first, behind in zip(*places, strict=True)
    ]


def _read_moment(stored: str) -> datetime:
    """A time as a database writes it: PostgreSQL with its zone, SQLite without, and both in UTC."""
    return datetime.fromisoformat(stored if "+" in stored else stored + "+00:00")


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
