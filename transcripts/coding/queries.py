"""What is read before something is coded.

These reads lie on the path of every single code, and a query set takes ten times as long to build as SQLite or
PostgreSQL take to answer it. So they are plain SQL that both understand, and hand out model instances whose other
columns are deferred.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.projects.models import Project

SENTENCE = """
SELECT s.id, s.turn_id, s.position, t.role, t.channel
FROM corpus_sentence s
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE s.id = %s AND t.interview_id = %s AND i.project_id = %s AND s.retired_by_id IS NULL
"""
FIRST_OF_TURN = """
SELECT id, position FROM corpus_sentence WHERE turn_id = %s AND retired_by_id IS NULL ORDER BY start LIMIT 1
"""
CODE = """
SELECT c.id, c.version_id, c.family_id, c.identifier, c.name, c.key,
       f.identifier, f.name, f.unit, f.carries_level, f.carries_enactment, v.project_id, v.number, v.status
FROM codebook_code c
JOIN codebook_codefamily f ON f.id = c.family_id
JOIN codebook_codebookversion v ON v.id = c.version_id
WHERE c.id = %s AND v.project_id = %s
"""
STANDING = """
SELECT 'coding', c.id, c.code_id, k.identifier, f.unit, c.level, c.enactment, c.note
FROM coding_coding c JOIN codebook_code k ON k.id = c.code_id JOIN codebook_codefamily f ON f.id = k.family_id
WHERE c.sentence_id = %s AND c.coder_id = %s AND c.withdrawn_at IS NULL
UNION ALL
SELECT CASE WHEN d.none_applies THEN 'none applies' ELSE 'decided' END, d.id, 0, '', '', '', '', ''
FROM coding_decision d
WHERE d.sentence_id = %s AND d.coder_id = %s AND d.withdrawn_at IS NULL
UNION ALL
SELECT 'revealed', r.id, 0, '', '', '', '', ''
FROM coding_reveal r
WHERE r.sentence_id = %s AND r.coder_id = %s
"""
STORED: dict[type[Coding | Decision | Memo], str] = {
    Coding: "SELECT id FROM coding_coding WHERE coder_id = %s AND client_id = %s",
    Decision: "SELECT id FROM coding_decision WHERE coder_id = %s AND client_id = %s",
    Memo: "SELECT id FROM coding_memo WHERE author_id = %s AND client_id = %s",
}


class StandingCoding(NamedTuple):
    """A coding of one person that stands on a sentence."""

    pk: int
    code_id: int
    identifier: str
    unit: str
    level: str
    enactment: str
    note: str

    @property
    def choices(self) -> tuple[str, str, str]:
        """How the code was put: level, enactment, note."""
        return self.level, self.enactment, self.note


@dataclass
class Standing:
    """One person's work on one sentence as it stands, and whether she has seen the machines'."""

    codings: list[StandingCoding] = field(default_factory=list)
    decision_id: int | None = None
    none_applies: bool = False
    revealed: bool = False

    @property
    def has_sentence_codes(self) -> bool:
        """Codes of a turn stand on its first sentence but say nothing about that sentence."""
        return any(coding.unit == CodeFamily.Unit.SENTENCE for coding in self.codings)


def read_standing(sentence_id: int, coder_id: int) -> Standing:
    """The codings, the decision and the reveal of ``coder_id`` on a sentence, in one query."""
    standing = Standing()
    with connection.cursor() as cursor:
        cursor.execute(STANDING, [sentence_id, coder_id] * 3)
        for what, pk, *rest in cursor.fetchall():
            if what == "coding":
                standing.codings.append(StandingCoding(pk, *rest))
            elif what == "revealed":
                standing.revealed = True
            else:
                standing.decision_id, standing.none_applies = pk, what == "none applies"
    return standing


def find_stored(model: type[Coding | Decision | Memo], person_id: int, client_id: UUID) -> int | None:
    """The row that an earlier sending of the same request stored, if any."""
    value = model._meta.get_field("client_id").get_db_prep_value(client_id, connection)
    with connection.cursor() as cursor:
        cursor.execute(STORED[model], [person_id, value])
        row = cursor.fetchone()
    return row[0] if row else None


def find_sentence(project: Project, interview_id: int, sentence_id: int) -> Sentence | None:
    """A sentence of an interview of the study with its turn and interview; their texts are not loaded."""
    with connection.cursor() as cursor:
        cursor.execute(SENTENCE, [sentence_id, interview_id, project.pk])
        row = cursor.fetchone()
    if row is None:
        return None
    pk, turn_id, position, role, channel = row
    alias = connection.alias
    interview = Interview.from_db(alias, ["id", "project_id"], [interview_id, project.pk])
    interview.project = project
    turn = Turn.from_db(alias, ["id", "interview_id", "role", "channel"], [turn_id, interview_id, role, channel])
    turn.interview = interview
    sentence = Sentence.from_db(alias, ["id", "turn_id", "position"], [pk, turn_id, position])
    sentence.turn = turn
    return sentence


def find_code(project: Project, code_id: int) -> Code | None:
    """A code of any version of the study's codebook with its family and version; definitions are not loaded."""
    with connection.cursor() as cursor:
        cursor.execute(CODE, [code_id, project.pk])
        row = cursor.fetchone()
    if row is None:
        return None
    alias = connection.alias
    code = Code.from_db(alias, ["id", "version_id", "family_id", "identifier", "name", "key"], row[:6])
    code.family = CodeFamily.from_db(
        alias,
        ["id", "version_id", "identifier", "name", "unit", "carries_level", "carries_enactment"],
        [code.family_id, code.version_id, *row[6:9], bool(row[9]), bool(row[10])],
    )
    code.version = CodebookVersion.from_db(
        alias, ["id", "project_id", "number", "status"], [code.version_id, *row[11:]]
    )
    return code


def find_first_of_turn(sentence: Sentence) -> Sentence:
    """The sentence on which codes of the whole turn stand."""
    with connection.cursor() as cursor:
        cursor.execute(FIRST_OF_TURN, [sentence.turn_id])
        pk, position = cursor.fetchone()
    if pk == sentence.pk:
        return sentence
    first = Sentence.from_db(connection.alias, ["id", "turn_id", "position"], [pk, sentence.turn_id, position])
    first.turn = sentence.turn
    return first


def find_next_answer(interview_id: int, position: int) -> int | None:
    """The next sentence that the model says in an interview after the one at ``position``, if any."""
    answers = Sentence.objects.filter(
        turn__interview=interview_id,
        turn__role=Turn.Role.MODEL,
        turn__channel=Turn.Channel.UTTERANCE,
        position__gt=position,
        retired_by__isnull=True,
    )
    return answers.order_by("position").values_list("pk", flat=True).first()
