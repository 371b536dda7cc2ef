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
from transcripts.analysis.search.prompts import StudyPrompts
from transcripts.codebook.models import Code
from transcripts.coding.closure import read_first_openings, saw_reasoning
from transcripts.coding.models import Coding, Decision, Memo, Reveal, StageOpening, Unblinding
from transcripts.corpus.models import Interview, Sentence
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import (
    PLACE,
    columns,
    find_place,
    find_places,
    label_sentences,
    quote_sentences,
    stream,
)
from transcripts.formats.interviews.threads import find_stage
from transcripts.formats.tabular import Groups
from transcripts.studies.models import Project

# Rows that are completed together; they are in memory at the same time.
GROUP = 500

PROMPTING = (
    "Whether the interviewer had raised it before: prompted, unprompted, or unclear where that is not known; empty where no "
    "model speaks."
)

# What is not read with each coding is looked up or derived; see ``complete``.
CODINGS = columns(
    Coding,
    "project interview model turn role sentence_id sentence sentence_label start end text quote_start quote_end quote "
    "code_id code family codebook_version level enactment grounding prompting prompting_source attributes note reason range "
    "coder layer created withdrawn withdrawal_reason superseded_by coding_id migrated_from stage saw_reasoning",
    find_place(),
    role="sentence__turn__role",
    code_id="code__identifier",
    code="code__name",
    family="code__family__identifier",
    codebook_version="code__version__number",
    prompting=("prompting", PROMPTING),
    range="range_id",
)
HEADINGS = [each.name for each in CODINGS]
_LOOKED_UP = {
    *("project", "interview", "model", "sentence_label", "quote", "code_id", "code", "family", "codebook_version"),
    *("prompting_source", "coder", "stage", "saw_reasoning"),
}
# As text: to have Django make an object of each takes longer than all the rest of a row.
_AS_TEXT = {
    "attributes": "answers",
    "range_id": "range_text",
    "created_at": "created_text",
    "withdrawn_at": "withdrawn_text",
}
# Read with every coding: what the database holds of it, and by what the rest of its row is looked up.
STORED = {
    **{each.name: _AS_TEXT.get(each.source, each.source) for each in CODINGS if each.name not in _LOOKED_UP},
    "suffix": "sentence__suffix",
    "code_key": "code_id",
    "coder_key": "coder_id",
    "interview_key": "sentence__turn__interview_id",
    "channel": "sentence__turn__channel",
}

DECISIONS = columns(
    Decision,
    "project interview turn sentence_id sentence sentence_label none_applies coder layer created withdrawn decision_id",
    find_place(),
)

REVEALS = columns(Reveal, f"{PLACE} coder source revealed", find_place())

UNBLINDINGS = columns(
    Unblinding, "project interview person where unblinded", project="interview__study__slug", person="user__username"
)

MEMOS = columns(
    Memo,
    "project subject subject_key interview sentence_id sentence sentence_label kind text author thread revision created "
    "withdrawn superseded_by memo_id",
    sentence="sentence__position",
    sentence_label="label",
)

BOUNDARY_EDITS = columns(
    Sentence,
    "project interview turn boundary_edit_id kind edited edited_by side sentence_id sentence_label start end text",
    find_place(""),
    # Of a sentence that an edit made, these are found by ``made_by``.
    boundary_edit_id="retired_by",
    kind="retired_by__kind",
    edited="retired_by__edited_at",
    edited_by="retired_by__edited_by__username",
    side=("side", "retired: a sentence before the edit; made: one after it."),
)


def count_codings(scope: Scope) -> int:
    """How many rows ``read_codings`` yields."""
    return scope.keep(Coding.objects.filter(sentence__turn__interview__project=scope.project), "coder").count()


def count_decisions(scope: Scope) -> int:
    """How many rows ``read_decisions`` yields."""
    return scope.keep(Decision.objects.filter(sentence__turn__interview__project=scope.project), "coder").count()


def read_codings(scope: Scope) -> Groups:
    """Every coding, withdrawn ones included, with what is derived about prompting where its coder did not say."""
    codings = scope.keep(Coding.objects.filter(scope.within("sentence__turn__interview")), "coder")
    plain = codings.annotate(**{text: Cast(field, TextField()) for field, text in _AS_TEXT.items()})
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


def _read_side(scope: Scope, side: str) -> Iterator[Sequence[Any]]:
    by = f"{side}_by"
    sentences = Sentence.objects.filter(scope.within("turn__interview"), **{f"{by}__isnull": False})
    marked = quote_sentences(label_sentences(sentences, ""), "").annotate(side=Value(side))
    found = [each._replace(source=each.source.replace("retired_by", by)) for each in BOUNDARY_EDITS]
    return stream(marked.order_by(by, "start"), found)
