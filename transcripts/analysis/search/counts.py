"""Counts of codings for tables and charts: which codings each count includes, and its denominator."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection

from transcripts.analysis.search.pure.tables import (
    APART,
    CHALLENGE,
    DECIDED,
    ENACTED,
    ENACTMENTS,
    SIGNS,
    UNIT_WORDS,
    Count,
    CountTable,
    Fill,
    Heading,
    PairTable,
    build_sheet,
    draw_pairs,
    draw_shares,
    draw_sheet,
)
from transcripts.analysis.search.pure.words import NOT_STATED, Search, Speaker, Together, write_answer
from transcripts.analysis.search.queries import (
    ROWS_AT_A_TIME,
    Catalog,
    Conditions,
    Question,
    Visibility,
    limit_scope,
    of_codings,
    of_person,
)
from transcripts.codebook.models import CodeFamily
from transcripts.coding.values import read_json
from transcripts.corpus.models import Interview, Turn
from transcripts.statistics import figures
from transcripts.studies.models import Study

MARKS = """
SELECT c.sentence_id, s.turn_id, t.position, t.interview_id, i.model_label, k.identifier, c.level, c.enactment
FROM coding_coding c
JOIN codebook_code k ON k.id = c.code_id
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE c.withdrawn_at IS NULL AND s.retired_by_id IS NULL AND {codings} AND {scope}
"""
ANSWERS = """
SELECT c.sentence_id, s.turn_id, t.interview_id, c.code_id, c.enactment, CAST(c.attributes AS text)
FROM coding_coding c
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE c.withdrawn_at IS NULL AND s.retired_by_id IS NULL AND {codings} AND {scope}
"""
ELSEWHERE = """
SELECT COUNT(*)
FROM coding_coding c
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE c.withdrawn_at IS NULL AND s.retired_by_id IS NULL AND {codings} AND {scope} AND NOT (t.role = %s AND t.channel = %s)
"""
ANSWERED = """
SELECT t.interview_id, {sentences}, COUNT(DISTINCT s.turn_id)
FROM corpus_sentence s
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE s.retired_by_id IS NULL AND {conditions}
GROUP BY t.interview_id
ORDER BY t.interview_id
"""
# A sentence is decided if a person whose codings are counted coded or finished it, as in the presence of themes.
CODED = "EXISTS (SELECT 1 FROM coding_coding c WHERE c.sentence_id = s.id AND c.withdrawn_at IS NULL AND {conditions})"
FINISHED = (
    "EXISTS (SELECT 1 FROM coding_decision d WHERE d.sentence_id = s.id AND d.withdrawn_at IS NULL AND {conditions})"
)
MODEL_SAYS = Search(role=Speaker.MODEL)


class Mark(NamedTuple):
    """One coding of the model's words, and its place."""

    sentence_id: int
    turn_id: int
    turn: int
    interview_id: int
    model: str
    code: str
    level: str
    enactment: str


def read_marks(
    study: Study, catalog: Catalog, visibility: Visibility, *, family: str = "", interview_id: int | None = None
) -> Iterator[Mark]:
    """The codings of the model's words, by the coders that ``visibility`` names."""
    codings = of_codings(catalog, visibility, family=family)
    scope = limit_scope(study, Search(role=Speaker.MODEL, interview=interview_id), visibility)
    sql = MARKS.format(codings=codings.as_sql(), scope=scope.as_sql())
    with connection.cursor() as cursor:
        cursor.execute(sql, [*codings.values, *scope.values])
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            yield from map(Mark._make, rows)


def read_answers(
    study: Study, catalog: Catalog, visibility: Visibility, *, family: str = "", model: str | None = None
) -> Iterator[tuple[int, int, int, int, str, dict[str, str]]]:
    """The codings of the model's words with codes that ask questions: sentence, turn, interview, code, enactment and answers."""
    asking = {question.code.identifier for question in catalog.questions.values()}
    code_ids = [pk for identifier in sorted(asking) for pk in catalog.ids[identifier]]
    codings = of_codings(catalog, visibility, family=family, code_ids=code_ids)
    scope = limit_scope(study, Search(role=Speaker.MODEL, model=model), visibility)
    sql = ANSWERS.format(codings=codings.as_sql(), scope=scope.as_sql())
    with connection.cursor() as cursor:
        cursor.execute(sql, [*codings.values, *scope.values])
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            for *place, answers in rows:
                yield *place, read_json(answers)


def count_elsewhere(study: Study, catalog: Catalog, visibility: Visibility, *, family: str = "") -> int:
    """The number of codings on the words of other speakers, or on the model's reasoning."""
    codings = of_codings(catalog, visibility, family=family)
    scope = limit_scope(study, Search(), visibility)
    sql = ELSEWHERE.format(codings=codings.as_sql(), scope=scope.as_sql())
    values = [*codings.values, *scope.values, Turn.Role.MODEL.value, Turn.Channel.UTTERANCE.value]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        count: int = cursor.fetchone()[0]
    return count


def count_answers(study: Study, visibility: Visibility) -> dict[int, tuple[int, int]]:
    """The numbers of the model's sentences and turns, by interview; interviews without any, and hidden ones, are left out."""
    return _count_by_interview("COUNT(*)", Conditions(), limit_scope(study, MODEL_SAYS, visibility))


def count_decided(study: Study, catalog: Catalog, visibility: Visibility) -> dict[int, tuple[int, int]]:
    """The numbers of decided sentences and turns; interviews without any are left out.

    A code of a turn or an interview is stored on its first sentence: it decides the turn, and not the sentence.
    """
    scope = limit_scope(study, MODEL_SAYS, visibility)
    of_turns = _coded_or_finished(visibility)
    scope.add(of_turns.as_sql(), *of_turns.values)
    of_sentences = _coded_or_finished(visibility, catalog.ids_of_sentences)
    return _count_by_interview(f"SUM(CASE WHEN {of_sentences.as_sql()} THEN 1 ELSE 0 END)", of_sentences, scope)


def _coded_or_finished(visibility: Visibility, code_ids: Sequence[int] | None = None) -> Conditions:
    """Sentences ``s`` that were coded, with one of these codes if any are given, or finished."""
    coded, finished = of_person("c.coder_id", visibility), of_person("d.coder_id", visibility)
    if code_ids is not None:
        coded.add_one_of("c.code_id", code_ids)
    either = f"({CODED.format(conditions=coded.as_sql())} OR {FINISHED.format(conditions=finished.as_sql())})"
    return Conditions([either], [*coded.values, *finished.values])


def _count_by_interview(sentences: str, counted: Conditions, scope: Conditions) -> dict[int, tuple[int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            ANSWERED.format(sentences=sentences, conditions=scope.as_sql()), [*counted.values, *scope.values]
        )
        return {interview: (sentences, turns) for interview, sentences, turns in cursor.fetchall()}


Sizes = Mapping[Hashable, Mapping[str, int]]
# The sentences and turns of the model in an interview: all of them, or those that are decided.
Answers = tuple[int, int]
NOTHING: Answers = (0, 0)


@dataclass(frozen=True)
class Wanted:
    """The selection of a page of counts: the codes of one family (or all), and the coders."""

    study: Study
    catalog: Catalog
    family: str
    coder: str
    visibility: Visibility

    @property
    def headings(self) -> list[Heading]:
        """The codes as headings, those of the current version first."""
        return self.catalog.codes_in(self.family)

    def search(self, *codes: str, **others: object) -> Search:
        """The search for the sentences that a count of these codes includes."""
        given = {"role": Speaker.MODEL.value, "coder": self.coder, **others}
        return Search(codes=codes, **given)  # type: ignore[arg-type]


def tabulate_by_interview(wanted: Wanted, interviews: Sequence[Interview]) -> dict[str, object]:
    """Codes by interview: a row for each of ``interviews``, totals over the whole study."""
    said, decided = _count_model_words(wanted)
    sizes: Sizes = {pk: _sizes([each]) for pk, each in decided.items()}
    table = CountTable(wanted.headings, ((mark.interview_id, mark) for mark in _read_marks(wanted)), sizes)
    rows: list[dict[str, object]] = []
    for interview in interviews:
        note = _describe(decided.get(interview.pk, NOTHING), said.get(interview.pk, NOTHING))
        cells = [
            _make_cell(wanted, each, table.count(interview.pk, each), interview=interview.pk) for each in table.headings
        ]
        rows.append({"name": interview.title, "interview": interview, "note": note, "cells": cells})
    totals = [table.total(heading) for heading in table.headings]
    return _finish(wanted, table, rows, (said, decided), [("All interviews", totals)])


def tabulate_by_model(wanted: Wanted) -> dict[str, object]:
    """Codes by model: a row for each model."""
    said, decided = _count_model_words(wanted)
    model_of = dict(wanted.study.interviews.order_by("pk").values_list("pk", "model_label"))
    models = sorted({model_of[pk] for pk in said})
    parts = {model: [pk for pk in said if model_of[pk] == model] for model in models}
    sizes: Sizes = {model: _sizes([decided[pk] for pk in pks if pk in decided]) for model, pks in parts.items()}
    table = CountTable(wanted.headings, ((mark.model, mark) for mark in _read_marks(wanted)), sizes)
    rows: list[dict[str, object]] = []
    groups = []
    for model in models:
        name = model or "Model not known"
        counted = [table.count(model, each) for each in table.headings]
        cells = [
            _make_cell(wanted, each, count, model=model) for each, count in zip(table.headings, counted, strict=True)
        ]
        read, all_of_it = (_sum(found.get(pk, NOTHING) for pk in parts[model]) for found in (decided, said))
        note = f"{_plural(len(parts[model]), 'interview')}, {_describe(read, all_of_it)}"
        rows.append({"name": name, "interview": None, "note": note, "cells": cells})
        groups.append((name, counted))
    return _finish(wanted, table, rows, (said, decided), groups)


def tabulate_pairs(wanted: Wanted, *, by_turn: bool, enactment: str = ENACTED) -> dict[str, Any]:
    """Codes together on the same sentence, or in the same turn. Moves count if codings state this ``enactment``, given as in a
    search; ``apart``: the other kinds of enactment, the number of codings with each, and the value for a search."""
    headings = wanted.headings
    table = PairTable(headings, _read_marks(wanted), by_turn=by_turn, enactment=enactment.replace(NOT_STATED, ""))
    together = Together.TURN if by_turn else Together.SENTENCE
    rows = []
    for n, one in enumerate(headings):
        cells = []
        for m, other in enumerate(headings):
            codes = (one.identifier,) if n == m else (one.identifier, other.identifier)
            narrowed = {"together": "" if n == m else together.value}
            if one.has_enactment or other.has_enactment:
                narrowed["enactment"] = enactment
            query = wanted.search(*codes, **narrowed).as_query()
            places, step = table.count(n, m)
            cells.append({"one": one, "other": other, "places": places, "step": step, "query": query})
        rows.append((one, cells))
    said, decided = (_sum(each.values()) for each in _count_model_words(wanted))
    return {
        "headings": headings,
        "rows": rows,
        "chart": draw_pairs(headings, table.count, by_turn=by_turn),
        "enactment": _name_enactment(enactment) if any(each.has_enactment for each in headings) else "",
        "apart": [
            (_name_enactment(each), codings, each or NOT_STATED) for each, codings in sorted(table.apart.items())
        ],
        "is_empty": not any(table.count(n, n)[0] for n in range(len(headings))),
        "by_turn": by_turn,
        "out_of": decided[by_turn],
        "turns": decided[1],
        "few": _explain_few(decided[1]),
        "undecided": said[by_turn] - decided[by_turn],
    }


def tabulate_answers(wanted: Wanted, *, model: str | None) -> list[dict[str, Any]]:
    """The answers to the questions of the codes: a table for each question, in the order of the codebook. For moves, only answers
    of enacted codings count; ``apart`` has the numbers of the others."""
    catalog = wanted.catalog
    questions = [each for each in catalog.questions.values() if wanted.family in {"", each.code.family}]
    of_code: dict[int, list[Question]] = defaultdict(list)
    for question in questions:
        for pk in catalog.ids[question.code.identifier]:
            of_code[pk].append(question)
    found: dict[tuple[str, str], dict[str, _Answers]] = defaultdict(lambda: defaultdict(_Answers))
    answers = read_answers(wanted.study, catalog, wanted.visibility, family=wanted.family, model=model)
    for sentence_id, turn_id, interview_id, code_id, enactment, given in answers:
        for question in of_code[code_id]:
            unit = question.code.unit
            place = {"turn": turn_id, "interview": interview_id}.get(unit, sentence_id)
            answer = given.get(question.key, "") if code_id in question.ids else None
            kind = enactment if question.code.has_enactment else ENACTED
            found[question.code.identifier, question.key][kind].add(answer, place, interview_id)
    return [_list_answers(wanted, each, found[each.code.identifier, each.key], model=model) for each in questions]


@dataclass
class _Answers:
    """The codings with one code, by their answer to one of its questions; not asked is ``None``, not answered ""."""

    codings: Counter[str | None] = field(default_factory=Counter)
    places: dict[str | None, set[int]] = field(default_factory=lambda: defaultdict(set))
    interviews: dict[str | None, set[int]] = field(default_factory=lambda: defaultdict(set))

    def add(self, answer: str | None, place: int, interview: int) -> None:
        self.codings[answer] += 1
        self.places[answer].add(place)
        self.interviews[answer].add(interview)

    def find_places(self, answers: Iterable[str | None]) -> set[int]:
        return set().union(*(self.places[each] for each in answers))


def _list_answers(
    wanted: Wanted, question: Question, by_enactment: Mapping[str, _Answers], *, model: str | None
) -> dict[str, Any]:
    """The rows of one question: its choices, then answered and not answered. Each opens its sentences."""
    found = by_enactment.get(ENACTED, _Answers())

    def make_row(words: str, answers: Sequence[str | None], asked_for: str | None) -> dict[str, object]:
        places = found.find_places(answers)
        asked = {"answer": write_answer(question.code.identifier, question.key, asked_for), "model": model}
        apart = [len(by_enactment.get(each, _Answers()).find_places(answers)) for each in APART]
        return {
            "words": words,
            "codings": sum(found.codings[each] for each in answers),
            "places": len(places),
            "thing": UNIT_WORDS[question.code.unit][len(places) != 1],
            "interviews": len(set().union(*(found.interviews[each] for each in answers))),
            "query": _find_query(wanted, question.code, **asked),
            "apart": _list_apart(wanted, question.code, apart, str, **asked),
        }

    answered = {each: None for kind in by_enactment.values() for each in kind.codings if each}
    others = [each for each in answered if each not in question.choices]
    return {
        "question": question,
        "rows": [make_row(choice, [choice], choice) for choice in question.choices],
        "others": sum(found.codings[each] for each in others) if question.choices else 0,
        "answered": make_row("Answered", list(answered), None),
        "unanswered": make_row("Not answered", [""], ""),
        "not_asked": sum(each.codings[None] for each in by_enactment.values()),
        "is_applied": any(each.codings for each in by_enactment.values()),
    }


def build_score_sheet(wanted: Wanted, interview: Interview, columns: Sequence[tuple[int, bool]]) -> dict[str, object]:
    """Codes by turn of one interview."""
    marks = read_marks(wanted.study, wanted.catalog, wanted.visibility, family=wanted.family, interview_id=interview.pk)
    headings = wanted.headings
    rows = build_sheet(headings, columns, marks)
    queries = {
        (heading.identifier, turn): wanted.search(heading.identifier, interview=interview.pk, turn=turn).as_query()
        for heading in headings
        for turn, _ in columns
    }
    _, decided = count_decided(wanted.study, wanted.catalog, wanted.visibility).get(interview.pk, NOTHING)
    return {
        "coder": wanted.coder,
        "columns": columns,
        "rows": rows,
        "picture": draw_sheet(columns, rows),
        "queries": queries,
        "decided": decided,
        "few": _explain_few(decided),
    }


def read_columns(interview: Interview) -> list[tuple[int, bool]]:
    """The positions of the model's turns, each with whether it answers a challenge."""
    turns = Turn.objects.filter(interview=interview, channel=Turn.Channel.UTTERANCE).order_by("position")
    columns, asked = [], ""
    for position, role, prompt_kind in turns.values_list("position", "role", "prompt_kind"):
        if role == Turn.Role.INTERVIEWER:
            asked = prompt_kind
        elif role == Turn.Role.MODEL:
            columns.append((position, asked == CHALLENGE))
            asked = ""
    return columns


def _name_enactment(enactment: str) -> str:
    return "not stated" if enactment in {"", NOT_STATED} else enactment


def choose_family(catalog: Catalog, *, with_enactment: bool = False) -> str:
    """The family that a page shows first: a table of every code is hard to read."""
    fitting = [each for each in catalog.families.values() if each.carries_enactment or not with_enactment]
    return next((each.identifier for each in (*fitting, *catalog.families.values())), "")


def _read_marks(wanted: Wanted) -> Iterator[Mark]:
    return read_marks(wanted.study, wanted.catalog, wanted.visibility, family=wanted.family)


def _count_model_words(wanted: Wanted) -> tuple[dict[int, Answers], dict[int, Answers]]:
    """The numbers of models' sentences and turns, all and decided, by interview."""
    return (
        count_answers(wanted.study, wanted.visibility),
        count_decided(wanted.study, wanted.catalog, wanted.visibility),
    )


def _make_cell(wanted: Wanted, heading: Heading, count: Count, **place: object) -> dict[str, object]:
    """A count with the query of the search for its sentences, and the same for each kind of codings that are not enacted."""
    apart = _list_apart(wanted, heading, count.apart, count.write, **place)
    return {"count": count, "heading": heading, "query": _find_query(wanted, heading, **place), "apart": apart}


def _find_query(wanted: Wanted, heading: Heading, **asked: object) -> str:
    """The query of the search for the counted codings of a code; for a move, the enacted ones."""
    enactment = {"enactment": ENACTED} if heading.has_enactment else {}
    return wanted.search(heading.identifier, **enactment, **asked).as_query()


def _list_apart(
    wanted: Wanted, heading: Heading, counted: Sequence[int], write: Callable[[int], str], **asked: object
) -> list[dict[str, object]]:
    """For a move, the places where it is not enacted: each kind with its number and search, in the order of ``APART``."""
    return [
        {
            "sign": SIGNS[ENACTMENTS.get(word, Fill.DASHED)],
            "words": f"{write(places)} {_name_enactment(word)}",
            "places": places,
            "query": wanted.search(heading.identifier, enactment=word or NOT_STATED, **asked).as_query(),
        }
        for word, places in zip(APART, counted, strict=bool(counted))
        if places
    ]


def _finish(
    wanted: Wanted,
    table: CountTable,
    rows: list[dict[str, object]],
    words: tuple[Mapping[int, Answers], Mapping[int, Answers]],
    groups: Sequence[tuple[str, Sequence[Count]]],
) -> dict[str, object]:
    """The shared parts of both tables. ``words``: the numbers of models' sentences and turns, all and decided, by interview."""
    said, decided = words
    interviews = len(decided)
    all_sentences, all_turns = _sum(said.values())
    sentences, turns = _sum(decided.values())
    return {
        "headings": list(table.headings),
        "rows": rows,
        "totals": [_make_cell(wanted, each, table.total(each)) for each in table.headings],
        "spread": [f"{table.count_interviews(each)} of {_plural(interviews, 'interview')}" for each in table.headings],
        "chart": draw_shares(table.headings, groups),
        "is_empty": not any(total.places or any(total.apart) for total in map(table.total, table.headings)),
        "has_enactment": any(each.has_enactment for each in table.headings),
        "few": figures.explain_mark(figures.Mark.FEW, DECIDED),
        "elsewhere": count_elsewhere(wanted.study, wanted.catalog, wanted.visibility, family=wanted.family),
        "decided": _describe((sentences, turns), (all_sentences, all_turns)),
        "undecided_sentences": all_sentences - sentences,
        "undecided_turns": all_turns - turns,
        "interviews": interviews,
        "undecided_interviews": len(said) - interviews,
    }


def _sizes(decided: Sequence[Answers]) -> dict[str, int]:
    """The denominators of counts: the decided sentences, turns and interviews of a column."""
    sentences, turns = _sum(decided)
    return {
        CodeFamily.Unit.SENTENCE.value: sentences,
        CodeFamily.Unit.TURN.value: turns,
        CodeFamily.Unit.INTERVIEW.value: len(decided),
    }


def _sum(parts: Iterable[Answers]) -> Answers:
    found = list(parts)
    return sum(sentences for sentences, _ in found), sum(turns for _, turns in found)


def _describe(decided: Answers, said: Answers) -> str:
    (sentences, turns), (all_sentences, all_turns) = decided, said
    few = f" ({figures.Mark.FEW})" if 0 < turns < figures.FEW else ""
    return f"decided: {sentences:,} of {_plural(all_sentences, 'sentence')}, {turns:,} of {_plural(all_turns, 'turn')}{few}"


def _explain_few(turns: int) -> str:
    """A note about counts out of few decided turns; "" if there are enough, or none."""
    return figures.explain_mark(figures.Mark.FEW, "decided turns") if 0 < turns < figures.FEW else ""


def _plural(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
