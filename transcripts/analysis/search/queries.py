"""Finds the sentences of a search, with the codes of a study, and what prompted each coding.

Plain SQL that SQLite and PostgreSQL both understand, for identifiers only; words are compared in Python (words.py). The
displayed data of sentences are read afterwards, for one page.

The catalog has every code that a study has ever published, and which of its rows have another meaning now. Prompting is
determined for many codings at once: stated by the coder, or else derived from what the interviewer said before.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from django.db import connection

from transcripts.analysis.search.pure.tables import Heading
from transcripts.analysis.search.pure.words import (
    NOT_STATED,
    Search,
    Speaker,
    State,
    Together,
    holds_all,
    may_hold_all,
    read_terms,
    split_answer,
)
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.pure import OPENING_PROMPT, Prompts, Signs, decide, read_signs
from transcripts.coding.pure import Question as PromptQuestion
from transcripts.corpus.models import Turn
from transcripts.studies.models import Study

# Newest version first, so that the first row of an identifier has its present name.
CODES = """
SELECT k.id, k.identifier, k.name, k.meaning_version, f.identifier, f.name, f.unit, f.carries_enactment,
       CAST(k.attributes AS text), v.number
FROM codebook_code k
JOIN codebook_codefamily f ON f.id = k.family_id
JOIN codebook_codebookversion v ON v.id = k.version_id
WHERE v.study_id = %s AND v.status = %s
ORDER BY v.number DESC, f.position, k.position
"""


@dataclass
class Question:
    """A question of a code, worded as in the newest version that has it.

    ``choices`` are those of every version; a question answered in words has none. ``ids`` are the rows of the code in the
    versions that have the question.
    """

    code: Heading
    key: str
    label: str
    choices: list[str]
    ids: list[int] = field(default_factory=list)


@dataclass
class Catalog:
    """The codes of a study by identifier: those of the current version in its order, then former ones.

    Each has its newest name; ``current`` are those that the current version still has. ``ids`` are the rows of a code in every
    version, ``stale_ids`` those rows whose codings need re-review: applied under an earlier meaning, or with a code that was
    retired. ``questions`` are named by their code and key.
    """

    codes: dict[str, Heading] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    families: dict[str, CodeFamily] = field(default_factory=dict)
    ids: dict[str, list[int]] = field(default_factory=dict)
    ids_in_family: dict[str, list[int]] = field(default_factory=dict)
    ids_of_sentences: list[int] = field(default_factory=list)
    ids_with_enactment: list[int] = field(default_factory=list)
    stale_ids: list[int] = field(default_factory=list)
    questions: dict[tuple[str, str], Question] = field(default_factory=dict)

    def codes_in(self, family: str) -> list[Heading]:
        """The codes of a family, or all of them."""
        return [code for code in self.codes.values() if not family or code.family == family]


def read_catalog(study: Study) -> Catalog:
    """The catalog of a study: one query."""
    catalog = Catalog()
    with connection.cursor() as cursor:
        cursor.execute(CODES, [study.pk, CodebookVersion.Status.PUBLISHED.value])
        rows = cursor.fetchall()
    current = rows[0][-1] if rows else 0
    meant_since: dict[str, int] = {}
    for pk, identifier, name, meaning_version, *of_family, attributes, number in rows:
        family = catalog.families.get(of_family[0])
        if family is None:
            # As the newest version that has it calls it; nothing else of it is read.
            values = dict(zip(("identifier", "name", "unit", "carries_enactment"), of_family, strict=True))
            family = catalog.families[of_family[0]] = CodeFamily(**values)
        if identifier not in catalog.codes:
            catalog.codes[identifier] = Heading(
                identifier, name, family.identifier, family.unit, bool(family.carries_enactment)
            )
            if number == current:
                catalog.current.add(identifier)
            # A code of no current version is stale whatever version its codings were made under.
            meant_since[identifier] = meaning_version if number == current else current + 1
        catalog.ids.setdefault(identifier, []).append(pk)
        catalog.ids_in_family.setdefault(of_family[0], []).append(pk)
        if of_family[2] == CodeFamily.Unit.SENTENCE:
            catalog.ids_of_sentences.append(pk)
        if catalog.codes[identifier].has_enactment:
            catalog.ids_with_enactment.append(pk)
        for asked in json.loads(attributes):
            question = catalog.questions.setdefault(
                (identifier, asked["key"]), Question(catalog.codes[identifier], asked["key"], asked["label"], [])
            )
            question.ids.append(pk)
            question.choices += [choice for choice in asked["choices"] if choice not in question.choices]
        if number < meant_since[identifier]:
            catalog.stale_ids.append(pk)
    return catalog


QUESTIONS = """
SELECT t.interview_id, t.position, t.text, t.prompt_kind
FROM corpus_turn t JOIN corpus_interview i ON i.id = t.interview_id
WHERE i.owning_study_id = %s AND t.role = %s AND t.channel = %s
"""
# The first turn of an interview, where it is the model's, and where the file gives an opening prompt: see ``coding.pure.Question``.
OPENINGS = """
SELECT t.interview_id, t.position, {text}, {kind}
FROM corpus_interview i JOIN corpus_turn t ON t.interview_id = i.id AND t.position = (
    SELECT MIN(e.position) FROM corpus_turn e WHERE e.interview_id = i.id AND e.role IN (%s, %s)
)
WHERE i.owning_study_id = %s AND {which}
"""
BEGUN_BY_MODEL = OPENINGS.format(text="''", kind="''", which="t.role = %s")
WITH_OPENING_PROMPT = OPENINGS.format(
    text="i.opening_prompt", kind=f"'{OPENING_PROMPT}'", which="i.opening_prompt <> ''"
)
ON_QUESTIONS = """
SELECT t.interview_id, c.coder_id, k.identifier, MIN(t.position)
FROM coding_coding c
JOIN codebook_code k ON k.id = c.code_id
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE i.owning_study_id = %s AND t.role = %s AND t.channel = %s AND c.withdrawn_at IS NULL AND s.retired_by_id IS NULL
GROUP BY t.interview_id, c.coder_id, k.identifier
"""
MODEL = Turn.Role.MODEL.value
# How many findings on codes of coders, and on interviews, are kept: rows mostly come interview by interview.
MOST_KEPT, MOST_READ = 50_000, 1_000


class StudyPrompts:
    """The topics that the interviewers of a study raised, by interview. Two queries when it is made."""

    def __init__(self, study: Study) -> None:
        self._signs = read_study_signs(study)
        self._questions: dict[int, list[PromptQuestion]] = defaultdict(list)
        self._own: dict[tuple[int, int, str], int] = {}
        asked: list[str | int] = [study.pk, Turn.Role.INTERVIEWER.value, Turn.Channel.UTTERANCE.value]
        with connection.cursor() as cursor:
            opening: list[str | int] = [Turn.Role.INTERVIEWER.value, MODEL, study.pk]
            cursor.execute(
                f"{QUESTIONS} UNION ALL {BEGUN_BY_MODEL} UNION ALL {WITH_OPENING_PROMPT}",
                [*asked, *opening, MODEL, *opening],
            )
            for interview_id, *question in cursor.fetchall():
                self._questions[interview_id].append(tuple(question))
            cursor.execute(ON_QUESTIONS, asked)
            for interview_id, coder_id, code, position in cursor.fetchall():
                self._own[interview_id, coder_id, code] = position
        self._found: dict[tuple[int, int, str], tuple[int | None, tuple[int | None, int | None]]] = {}
        self._interviews: dict[int, Prompts] = {}

    def find_prompting(
        self, *, said: str, role: str, interview_id: int, coder_id: int, code: str, position: int
    ) -> tuple[str, str]:
        """Whether a coding on the turn at ``position`` was prompted, and whether its coder said so or it was derived.

        ``said`` is the coder's choice, if any. Both are empty if the question does not arise.
        """
        if said:
            return said, "said"
        derived = self.derive(interview_id, coder_id, code, role, position)
        return derived, "derived" if derived else ""

    def derive(self, interview_id: int, coder_id: int, code: str, role: str, position: int) -> str:
        """Prompted, unprompted or unclear; empty if the speaker is not the model. Raised topics are determined only once."""
        if role != MODEL:
            return ""
        key = (interview_id, coder_id, code)
        found = self._found.get(key)
        if found is None:
            if len(self._found) == MOST_KEPT:
                self._found.clear()
            prompts = self._read_interview(interview_id)
            raised = [each for each in (prompts.find_mention(code), self._own.get(key)) if each is not None]
            found = self._found[key] = min(raised, default=None), prompts.find_search(code)
        return decide(*found, position)

    def _read_interview(self, interview_id: int) -> Prompts:
        prompts = self._interviews.get(interview_id)
        if prompts is None:
            if len(self._interviews) == MOST_READ:
                self._interviews.clear()
            prompts = self._interviews[interview_id] = Prompts(self._questions[interview_id], self._signs)
        return prompts


def read_study_signs(study: Study) -> Mapping[str, Signs]:
    """The signs by which each code is recognised, by identifier, from the newest published version."""
    codes = Code.objects.filter(version__study=study, version__status=CodebookVersion.Status.PUBLISHED)
    rows = codes.order_by("version__number").values_list("identifier", "name", "aliases", "terms")
    return {identifier: read_signs([name, *aliases], terms) for identifier, name, aliases, terms in rows}


FOUND = """
SELECT s.id, s.turn_id, t.interview_id, s.start, s."end"
FROM corpus_sentence s
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE {conditions}
ORDER BY t.interview_id, s.position, s.start
"""
TEXTS = """
SELECT t.id, t.text
FROM corpus_turn t
JOIN corpus_interview i ON i.id = t.interview_id
WHERE {conditions}
"""
SIZE = """
SELECT COUNT(*), COUNT(DISTINCT t.interview_id)
FROM corpus_sentence s
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE {conditions}
"""
CODED = "SELECT c.sentence_id FROM coding_coding c WHERE c.withdrawn_at IS NULL AND {conditions}"
CODED_TURNS = """
SELECT x.turn_id FROM coding_coding c JOIN corpus_sentence x ON x.id = c.sentence_id
WHERE c.withdrawn_at IS NULL AND x.retired_by_id IS NULL AND {conditions}
"""
PLACES = """
SELECT c.sentence_id, c.prompting, t.interview_id, c.coder_id, c.code_id, t.role, t.position
FROM coding_coding c
JOIN corpus_sentence x ON x.id = c.sentence_id
JOIN corpus_turn t ON t.id = x.turn_id
WHERE c.withdrawn_at IS NULL AND {conditions}
"""
DECIDED = "SELECT d.sentence_id FROM coding_decision d WHERE d.withdrawn_at IS NULL AND {conditions}"
WITH_MEMO = """
SELECT m.sentence_id FROM coding_memo m
WHERE m.withdrawn_at IS NULL AND m.sentence_id IS NOT NULL AND m.text <> '' AND {conditions}
"""
ROWS_AT_A_TIME = 5_000

Value = str | int
# A sentence: its id, those of its turn and interview, and its beginning and end in the turn's text.
Row = tuple[int, int, int, int, int]


@dataclass
class Conditions:
    """Conditions that must all be true, and their values."""

    parts: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def add(self, part: str, *values: Value) -> None:
        self.parts.append(part)
        self.values += values

    def add_one_of(self, column: str, choices: Sequence[Value]) -> None:
        """Require that ``column`` is one of ``choices``; without choices nothing matches."""
        self.add(f"{column} IN ({', '.join(['%s'] * len(choices))})" if choices else "1 = 0", *choices)

    def add_query(self, part: str, query: str, inner: Conditions) -> None:
        """Require ``part`` (as in "s.id IN") for the results of ``query`` under its own conditions."""
        self.add(f"{part} ({query.format(conditions=inner.as_sql())})", *inner.values)

    def as_sql(self) -> str:
        return " AND ".join(self.parts) or "1 = 1"


class Visibility(NamedTuple):
    """Whose codings are used: those of ``coder_id``, or everybody's with ``None``, except in interviews ``hidden``.

    ``closed`` are turns of reasoning whose words are not searched and not shown; see ``Viewer.closed_turns``.
    """

    coder_id: int | None
    hidden: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()


class FoundSentences(Sequence[int]):
    """The ids of all sentences that a search found, in the order of the study; only the requested ones are read."""

    def __init__(self, conditions: Conditions, rows: Sequence[Row] | None) -> None:
        self._conditions = conditions
        self._rows = rows
        if rows is None:
            self.count_of_sentences, self.count_of_interviews = _count(conditions)
        else:
            self.count_of_sentences, self.count_of_interviews = len(rows), len({row[2] for row in rows})

    def __len__(self) -> int:
        return self.count_of_sentences

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> list[int]: ...

    def __getitem__(self, place: int | slice) -> int | list[int]:
        if isinstance(place, int):
            return self[place : place + 1][0]
        if self._rows is not None:
            return [row[0] for row in self._rows[place]]
        start, stop, _ = place.indices(len(self))
        return [row[0] for row in _read_found(self._conditions, start, stop - start)]


def find_sentences(study: Study, search: Search, catalog: Catalog, visibility: Visibility) -> FoundSentences:
    """Every matching sentence, in the order of the study."""
    shows_work = search.asks_for_codings or bool(search.state)
    scope = limit_scope(study, search, visibility if shows_work else None)
    conditions = Conditions([*scope.parts, "s.retired_by_id IS NULL"], [*scope.values])
    if search.asks_for_codings:
        _limit_codings(conditions, search, catalog, visibility)
    if search.state:
        _limit_state(conditions, search, catalog, visibility)
    terms = read_terms(search.words)
    if not terms and not search.prompted and search.state != State.DISAGREED:
        return FoundSentences(conditions, None)
    found = _read_found(conditions)
    if search.prompted:
        prompted = _find_prompted(study, search, catalog, visibility)
        found = [row for row in found if row[0] in prompted]
    if search.state == State.DISAGREED:
        differing = _find_differing(study, search, catalog)
        found = [row for row in found if row[0] in differing]
    if terms:
        texts = {
            pk: text for pk, text in _read_texts(scope) if pk not in visibility.closed and may_hold_all(text, terms)
        }
        found = [row for row in found if row[1] in texts and holds_all(texts[row[1]][row[3] : row[4]], terms)]
    return FoundSentences(conditions, found)


def measure(study: Study) -> tuple[int, int]:
    """The numbers of sentences and interviews in the study, the denominators of every count."""
    conditions = Conditions()
    conditions.add("i.study_id = %s AND s.retired_by_id IS NULL", study.pk)
    return _count(conditions)[0], study.interviews.count()


def limit_scope(study: Study, search: Search, visibility: Visibility | None) -> Conditions:
    """The conditions of a search on turns and interviews, ``corpus_turn t`` and ``corpus_interview i``.

    Without a visibility nothing is left out: the texts themselves are open to everybody.
    """
    conditions = Conditions()
    conditions.add("i.study_id = %s", study.pk)
    if search.model is not None:
        conditions.add("i.model_label = %s", search.model)
    if search.interview is not None:
        conditions.add("i.id = %s", search.interview)
    if search.turn is not None:
        conditions.add("t.position = %s", search.turn)
    if search.role == Speaker.TOOLS:
        conditions.add_one_of("t.channel", [Turn.Channel.TOOL_CALL.value, Turn.Channel.TOOL_RESULT.value])
    elif search.role == Speaker.REASONING:
        conditions.add("t.channel = %s", Turn.Channel.REASONING.value)
    elif search.role:
        conditions.add("t.role = %s AND t.channel = %s", search.role, Turn.Channel.UTTERANCE.value)
    elif search.state == State.UNCODED:
        # Only the model's words wait to be coded.
        conditions.add("t.role = %s AND t.channel = %s", Turn.Role.MODEL.value, Turn.Channel.UTTERANCE.value)
    if visibility is not None and visibility.hidden:
        conditions.add(f"i.id NOT IN ({', '.join(['%s'] * len(visibility.hidden))})", *sorted(visibility.hidden))
    return conditions


def _limit_codings(conditions: Conditions, search: Search, catalog: Catalog, visibility: Visibility) -> None:
    groups = [
        _codings(search, catalog, visibility, catalog.ids.get(code, []), answer=_answer_of(search, code))
        for code in search.codes
    ]
    conditions.add_query("s.id IN", CODED, _codings_of(search, catalog, visibility))
    if search.together == Together.SENTENCE:
        for group in groups:
            conditions.add_query("s.id IN", CODED, group)
    elif search.together == Together.TURN:
        for group in groups:
            conditions.add_query("s.turn_id IN", CODED_TURNS, group)


def _codings_of(search: Search, catalog: Catalog, visibility: Visibility) -> Conditions:
    """The conditions of a search on codings ``c``, one of which must be met."""
    if search.answer and not (search.codes and search.together):
        # An answer is one of its code alone.
        return _codings(search, catalog, visibility, None, answer=search.answer)
    either = [pk for code in search.codes for pk in catalog.ids.get(code, [])]
    return _codings(search, catalog, visibility, either if search.codes else None)


def _answer_of(search: Search, code: str) -> str:
    """The requested answer, if it is an answer to a question of this code."""
    return search.answer if split_answer(search.answer)[0] == code else ""


def _codings(
    search: Search, catalog: Catalog, visibility: Visibility, code_ids: list[int] | None, *, answer: str = ""
) -> Conditions:
    """The conditions of a search on one coding ``c``; with ``code_ids`` None, any code of the study."""
    conditions = of_codings(catalog, visibility, family=search.family, code_ids=code_ids)
    if answer:
        code, key, asked_for = split_answer(answer)
        question = catalog.questions.get((code, key))
        conditions.add_one_of("c.code_id", question.ids if question else [])
        # SQLite and PostgreSQL both know ->>, which gives the text under a key.
        given = "COALESCE(c.attributes ->> %s, '')"
        conditions.add(f"{given} <> %s" if asked_for is None else f"{given} = %s", key, asked_for or "")
    for column in ("level", "grounding"):
        if asked := getattr(search, column):
            conditions.add(f"c.{column} = %s", asked)
    if search.enactment:
        stated = "" if search.enactment == NOT_STATED else search.enactment
        moves = Conditions()
        moves.add_one_of("c.code_id", catalog.ids_with_enactment)
        if search.together and any(catalog.codes[code].has_enactment for code in search.codes):
            # If moves are combined with other codes: the others have no enactment.
            conditions.add(f"(c.enactment = %s OR NOT {moves.as_sql()})", stated, *moves.values)
        elif stated:
            conditions.add("c.enactment = %s", stated)
        else:
            conditions.add(f"c.enactment = %s AND {moves.as_sql()}", stated, *moves.values)
    return conditions


def of_codings(
    catalog: Catalog, visibility: Visibility, *, family: str = "", code_ids: list[int] | None = None
) -> Conditions:
    """Codings ``c`` with these codes, or with any of the study, by the selected coders."""
    conditions = Conditions()
    if code_ids is None:
        code_ids = [pk for ids in catalog.ids.values() for pk in ids]
    if family:
        inside = set(catalog.ids_in_family.get(family, []))
        code_ids = [pk for pk in code_ids if pk in inside]
    conditions.add_one_of("c.code_id", code_ids)
    if visibility.coder_id is not None:
        conditions.add("c.coder_id = %s", visibility.coder_id)
    return conditions


def _limit_state(conditions: Conditions, search: Search, catalog: Catalog, visibility: Visibility) -> None:
    if search.state == State.STALE:
        stale = of_codings(catalog, visibility, family=search.family, code_ids=catalog.stale_ids)
        conditions.add_query("s.id IN", CODED, stale)
    elif search.state == State.MEMO:
        conditions.add_query("s.id IN", WITH_MEMO, of_person("m.author_id", visibility))
    elif search.state in {State.UNCODED, State.DECIDED}:
        # Codes of a turn are stored on its first sentence and say nothing about it.
        coded = of_codings(catalog, visibility, code_ids=catalog.ids_of_sentences)
        decided = of_person("d.coder_id", visibility)
        both = f"({CODED.format(conditions=coded.as_sql())} UNION {DECIDED.format(conditions=decided.as_sql())})"
        place = "s.id NOT IN" if search.state == State.UNCODED else "s.id IN"
        conditions.add(f"{place} {both}", *coded.values, *decided.values)


def _find_prompted(study: Study, search: Search, catalog: Catalog, visibility: Visibility) -> set[int]:
    """The sentences of those codings that are (un)prompted, stated or derived."""
    prompts, codings = StudyPrompts(study), _codings_of(search, catalog, visibility)
    identifiers = {pk: identifier for identifier, ids in catalog.ids.items() for pk in ids}
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(PLACES.format(conditions=codings.as_sql()), codings.values)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            for sentence_id, said, interview, coder, code, role, position in rows:
                if (said or prompts.derive(interview, coder, identifiers[code], role, position)) == search.prompted:
                    found.add(sentence_id)
    return found


def _find_differing(study: Study, search: Search, catalog: Catalog) -> set[int]:
    """The sentences on which coders disagreed before they saw each other's work; for larger units, the first sentence."""
    from transcripts.coding.blind import read_blind

    readings = read_blind(study, interviews=None if search.interview is None else [search.interview])
    found: set[int] = set()
    for family in catalog.families.values():
        if search.family in {"", family.identifier}:
            codes = [code.identifier for code in catalog.codes_in(family.identifier)]
            table = readings.arrange(family.identifier, family.unit, codes)
            found.update(map(int, table.sentence_ids[table.find_differing()]))
    return found


def of_person(column: str, visibility: Visibility) -> Conditions:
    """Rows of the selected person, or of everybody."""
    conditions = Conditions()
    if visibility.coder_id is not None:
        conditions.add(f"{column} = %s", visibility.coder_id)
    return conditions


def _read_found(conditions: Conditions, start: int = 0, size: int | None = None) -> list[Row]:
    """Read plain rows, because there can be tens of thousands, of which one page is shown."""
    sql, values = FOUND.format(conditions=conditions.as_sql()), [*conditions.values]
    if size is not None:
        sql, values = f"{sql} LIMIT %s OFFSET %s", [*values, size, start]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[Row] = cursor.fetchall()
    return rows


def _count(conditions: Conditions) -> tuple[int, int]:
    """Sentences, and the interviews they lie in."""
    with connection.cursor() as cursor:
        cursor.execute(SIZE.format(conditions=conditions.as_sql()), conditions.values)
        sentences, interviews = cursor.fetchone()
    return sentences, interviews


def _read_texts(scope: Conditions) -> Iterator[tuple[int, str]]:
    with connection.cursor() as cursor:
        cursor.execute(TEXTS.format(conditions=scope.as_sql()), scope.values)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            yield from rows
