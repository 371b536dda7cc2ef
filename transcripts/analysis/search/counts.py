"""The codings behind tables of counts, and what each count is out of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from django.db import connection

from transcripts.analysis.search.catalog import Catalog
from transcripts.analysis.search.pure.words import Search, Speaker
from transcripts.analysis.search.queries import (
    ROWS_AT_A_TIME,
    Conditions,
    Visibility,
    limit_scope,
    of_codings,
    of_person,
)
from transcripts.coding.values import read_json
from transcripts.corpus.models import Turn
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
# A sentence is decided if somebody whose codings are counted coded it or finished it, as in the presence of themes.
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
    """How many codings are on the words of other speakers, or on the model's reasoning."""
    codings = of_codings(catalog, visibility, family=family)
    scope = limit_scope(study, Search(), visibility)
    sql = ELSEWHERE.format(codings=codings.as_sql(), scope=scope.as_sql())
    values = [*codings.values, *scope.values, Turn.Role.MODEL.value, Turn.Channel.UTTERANCE.value]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        count: int = cursor.fetchone()[0]
    return count


def count_answers(study: Study, visibility: Visibility) -> dict[int, tuple[int, int]]:
    """The sentences and turns of the model, by interview; interviews without any, or hidden ones, are left out."""
    return _count_by_interview("COUNT(*)", Conditions(), limit_scope(study, MODEL_SAYS, visibility))


def count_decided(study: Study, catalog: Catalog, visibility: Visibility) -> dict[int, tuple[int, int]]:
    """How many of those sentences are decided, and how many turns; interviews without any are left out.

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
