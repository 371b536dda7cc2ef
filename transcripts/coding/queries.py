"""Queries that are made before something is coded.

Most of these queries run before every single code, and building a query set takes ten times as long as SQLite or PostgreSQL
take to answer it. So they are plain SQL that both understand, and return model instances whose other columns are deferred.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Exists, Min, OuterRef, Q, QuerySet

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.models import CONDITION, Coding, Decision, Link, Memo, StageOpening, Unblinding
from transcripts.coding.values import CHOICE_FIELDS, COLUMNS, CodingValues, read_json
from transcripts.corpus.consent import NO_CODING
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.corpus.pure.boundaries import Extent, share_quote
from transcripts.hooks import draft_checked, send
from transcripts.rounds.queries import CLOSURE, CLOSURE_PARAMETERS
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission

# When each coder first opened reasoning of an interview, as plain SQL for the desk, which selects MIN(m.opened_at).
FIRST_OPENINGS = """
FROM coding_stageopening m JOIN corpus_turn t ON t.id = m.turn_id
WHERE (m.coder_id = %s OR %s) AND t.interview_id :interview
GROUP BY m.coder_id"""


class Closure(StrEnum):
    """Why a person cannot code an interview, if she cannot.

    She can always read it, and write memos, except on an interview whose consent says that people may not code it.
    """

    OPEN = "open"
    REFUSED = "refused"
    INTERVIEW_COMPLETED = "interview_completed"
    ASSIGNMENT_COMPLETED = "assignment_completed"
    LOCKED = "locked"
    UNASSIGNED = "unassigned"

    @property
    def sentence(self) -> str:
        """The explanation for her; empty if she may code."""
        return SENTENCES[self]


# The page on which an interview can be opened again: the permission it needs, its name, and the text of the link.
WAYS = {
    Closure.REFUSED: (Permission.SET_METHOD, "corpus:consent", "Change its consent"),
    Closure.INTERVIEW_COMPLETED: (Permission.CODE, "rounds:work", "My work"),
    Closure.ASSIGNMENT_COMPLETED: (Permission.ASSIGN, "rounds:list", "Return it in its round"),
    Closure.LOCKED: (Permission.ASSIGN, "rounds:list", "Unlock its round"),
    Closure.UNASSIGNED: (Permission.ASSIGN, "rounds:list", "Assign it in a round"),
}
SENTENCES = {
    Closure.OPEN: "",
    Closure.REFUSED: f"{NO_CODING} You can read it, and earlier codings remain.",
    Closure.INTERVIEW_COMPLETED: (
        "You have completed this interview, so you can no longer change your codings of it. Until you have opened your own "
        "influence figures, you can reopen it under “My work”. You can still write memos."
    ),
    Closure.ASSIGNMENT_COMPLETED: (
        "You have completed this interview, so you can no longer change your codings of it. A lead of the study can return it "
        "to you. You can still write memos."
    ),
    Closure.LOCKED: (
        "The round in which you coded this interview is locked. A lead of the study can unlock it. You can still write "
        "memos."
    ),
    Closure.UNASSIGNED: (
        "This interview is not assigned to you. You can read it and write memos. To code it, ask a lead or owner to assign it to "
        "you in a round."
    ),
}


def read_first_openings(
    openings: QuerySet[StageOpening], *, coder: str = "coder", thread: str = "turn__interview"
) -> dict[tuple[Any, Any], datetime.datetime]:
    """When each coder first opened reasoning of a thread, by the two columns that identify them: their ids, by default."""
    first = openings.order_by().values_list(coder, thread).annotate(first=Min("opened_at"))
    return {(person, name): opened for person, name, opened in first}


def saw_reasoning(openings: Mapping[Any, Any], key: Any, made: Any) -> bool:
    """Whether ``made``, the time of a coding or decision, is at or after its coder's first opening of reasoning of the thread.

    ``openings`` has that time under ``key``, or nothing if she never opened any. No column stores this; the desk, the exports
    and the figures all call this function.
    """
    opened = openings.get(key)
    return opened is not None and bool(opened <= made)


def find_closed_turns(turns: QuerySet[Turn], person_id: int) -> frozenset[int]:
    """The ``turns`` that are reasoning closed to a person who codes. One query.

    She has neither opened them nor coded there, nor unblinded their interview.
    """
    coded = Coding.objects.active().filter(sentence__turn=OuterRef("pk"), coder=person_id)
    decided = Decision.objects.active().filter(sentence__turn=OuterRef("pk"), coder=person_id)
    noted = Memo.objects.active().filter(sentence__turn=OuterRef("pk"), author=person_id)
    opened = StageOpening.objects.filter(turn=OuterRef("pk"), coder=person_id)
    unblinded = Unblinding.objects.of_labels().filter(interview=OuterRef("interview"), user=person_id)
    reasoning = turns.filter(channel=Turn.Channel.REASONING)
    closed = reasoning.exclude(Exists(coded) | Exists(decided) | Exists(noted) | Exists(opened) | Exists(unblinded))
    return frozenset(closed.values_list("pk", flat=True))


SENTENCE = """
SELECT s.id, s.turn_id, s.position, s.start, s."end", t.role, t.channel
FROM corpus_sentence s
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
WHERE s.id = %s AND t.interview_id = %s AND i.study_id = %s
"""
FIRST_OF_TURN = """
SELECT id, turn_id, position, start, "end" FROM corpus_sentence
WHERE turn_id = %s AND retired_by_id IS NULL ORDER BY start LIMIT 1
"""
FIRST_OF_INTERVIEW = """
SELECT s.id, s.turn_id, s.position, s.start, s."end"
FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id
WHERE t.interview_id = %s AND s.retired_by_id IS NULL ORDER BY s.position, s.start LIMIT 1
"""
TEXT = """
SELECT SUBSTR(t.text, s.start + 1, s."end" - s.start)
FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id
WHERE s.id = %s
"""
CODE = """
SELECT c.id, c.version_id, c.family_id, c.identifier, c.name, c.key, CAST(c.attributes AS text), c.is_category,
       f.identifier, f.name, f.unit, f.carries_level, f.carries_enactment, f.once_per_answer, f.applies_to,
       v.study_id, v.number, v.status
FROM codebook_code c
JOIN codebook_codefamily f ON f.id = c.family_id
JOIN codebook_codebookversion v ON v.id = c.version_id
WHERE c.id = %s AND v.study_id = %s
"""
# The values of a coding, and the same number of empty columns for rows of another kind.
VALUES = ", ".join(
    [*(f"c.{name}" for name in CHOICE_FIELDS), "c.note, c.quote_start, c.quote_end, CAST(c.attributes AS text)"]
)
NO_VALUES = ", ".join([*("''" for _ in CHOICE_FIELDS), "'', NULL, NULL, ''"])
# The last part always returns a row: whether the person may code this interview now.
ACTIVE_LABELS = f"""
SELECT 'coding', c.id, c.code_id, k.identifier, f.unit, c.range_id, c.blinding, {VALUES}
FROM coding_coding c JOIN codebook_code k ON k.id = c.code_id JOIN codebook_codefamily f ON f.id = k.family_id
WHERE c.sentence_id = %s AND c.coder_id = %s AND c.withdrawn_at IS NULL
UNION ALL
SELECT CASE WHEN d.none_applies THEN 'none applies' ELSE 'decided' END, d.id, 0, '', '', NULL, '', {NO_VALUES}
FROM coding_decision d
WHERE d.sentence_id = %s AND d.coder_id = %s AND d.withdrawn_at IS NULL
UNION ALL
SELECT 'revealed', r.id, 0, '', '', NULL, '', {NO_VALUES}
FROM coding_reveal r
WHERE r.sentence_id = %s AND r.coder_id = %s
UNION ALL
SELECT CASE WHEN o."where" = 'condition' THEN 'condition' ELSE 'opened' END, o.id, 0, '', '', NULL, '', {NO_VALUES}
FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id JOIN coding_unblinding o ON o.interview_id = t.interview_id
WHERE s.id = %s AND o.user_id = %s
UNION ALL
SELECT 'closure', 0, 0, {CLOSURE}, '', NULL, '', {NO_VALUES}
FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id JOIN corpus_interview i ON i.id = t.interview_id
WHERE s.id = %s
"""  # noqa: S608 (all parts are ours)
IN_RANGE = """
SELECT DISTINCT c.coder_id, t.interview_id, k.identifier
FROM coding_coding c
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN corpus_turn t ON t.id = s.turn_id
JOIN codebook_code k ON k.id = c.code_id
WHERE c.range_id = %s
"""
HOLD_TURN = "SELECT id FROM corpus_turn WHERE id = %s FOR NO KEY UPDATE"
HOLD_TURNS = """
SELECT t.id FROM corpus_turn t JOIN corpus_interview i ON i.id = t.interview_id
WHERE i.study_id = %s ORDER BY t.id FOR NO KEY UPDATE OF t
"""
# The turns of a sentence and of the sentences to which the links of a coding on it lead.
HOLD_TURNS_OF_LINKS = """
SELECT t.id FROM corpus_turn t
WHERE t.id IN (
    SELECT s.turn_id FROM corpus_sentence s WHERE s.id = %s
    UNION
    SELECT s.turn_id
    FROM coding_coding c
    JOIN codebook_code k ON k.id = c.code_id
    JOIN coding_link l ON l.coding_id = c.id
    JOIN corpus_sentence s ON s.id = l.sentence_id
    WHERE c.sentence_id = %s AND c.coder_id = %s AND k.identifier = %s)
ORDER BY t.id FOR KEY SHARE
"""
ELSEWHERE_IN_TURN = """
SELECT s.id, s.position, s.suffix
FROM coding_coding c
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN codebook_code k ON k.id = c.code_id
WHERE s.turn_id = %s AND s.id <> %s AND s.retired_by_id IS NULL
  AND c.coder_id = %s AND k.identifier = %s AND c.withdrawn_at IS NULL
ORDER BY s.start LIMIT 1
"""
INTERVIEW = f"""
SELECT i.*,
       (SELECT COUNT(*) FROM corpus_interview o WHERE o.study_id = i.study_id AND o.id <= i.id) AS number,
       (SELECT COUNT(*) FROM corpus_interview o WHERE o.study_id = i.study_id) AS total,
       (SELECT MAX(o.id) FROM corpus_interview o WHERE o.study_id = i.study_id AND o.id < i.id) AS previous_id,
       (SELECT MIN(o.id) FROM corpus_interview o WHERE o.study_id = i.study_id AND o.id > i.id) AS next_id,
       {CLOSURE} AS closure,
       (SELECT CAST(d.keys AS text) FROM coding_desksettings d WHERE d.user_id = %s) AS desk_keys
FROM corpus_interview i
WHERE i.id = %s AND i.study_id = %s
"""  # noqa: S608 (both parts are ours)
PLACE_FIELDS = ["id", "turn_id", "position", "start", "end"]
Stored = Coding | Decision | Link | Memo
STORED: dict[type[Stored], str] = {
    Coding: "SELECT id FROM coding_coding WHERE coder_id = %s AND idempotency_key = %s",
    Decision: "SELECT id FROM coding_decision WHERE coder_id = %s AND idempotency_key = %s",
    Link: "SELECT id FROM coding_link WHERE coder_id = %s AND idempotency_key = %s",
    Memo: "SELECT id FROM coding_memo WHERE author_id = %s AND idempotency_key = %s",
}

HOLD = "SELECT ({stored}), s.retired_by_id IS NULL FROM corpus_sentence s WHERE s.id = %s"


class ActiveCoding(NamedTuple):
    """An active coding of one person on a sentence."""

    pk: int
    code_id: int
    identifier: str
    unit: str
    values: CodingValues
    range_id: UUID | None
    blinding: str


@dataclass
class ActiveLabels:
    """One person's active labels on one sentence, and what she has seen of others' labels."""

    codings: list[ActiveCoding] = field(default_factory=list)
    decision_id: int | None = None
    none_applies: bool = False
    is_revealed: bool = False
    is_opened: bool = False
    is_condition_known: bool = False
    closure: Closure = Closure.OPEN

    @property
    def has_sentence_codes(self) -> bool:
        """Whether it has codes of the sentence itself; codes of a turn or interview are only stored on its first sentence."""
        return any(coding.unit == CodeFamily.Unit.SENTENCE for coding in self.codings)

    def is_last_word(self, coding_id: int) -> bool:
        """Whether the sentence is decided and has only this code, so that removing it also withdraws the decision."""
        codes = [coding.pk for coding in self.codings if coding.unit == CodeFamily.Unit.SENTENCE]
        return self.decision_id is not None and not self.none_applies and codes == [coding_id]

    @property
    def has_seen_others(self) -> bool:
        """Whether she has seen machines' suggestions here, or colleagues' codings or the sealed condition of the interview."""
        return self.is_revealed or self.is_opened or self.is_condition_known


def find_interview(
    study: Study, interview_id: int, person_id: int
) -> tuple[Interview, dict[str, int | None], Closure, dict[str, dict[str, str]]] | None:
    """An interview of the study, its place there, whether a person may code it, and her own keys: one query."""
    parameters = [*[person_id] * (CLOSURE_PARAMETERS + 1), interview_id, study.pk]
    found: Any = next(iter(Interview.objects.raw(INTERVIEW, parameters)), None)
    if found is None:
        return None
    place = {name: getattr(found, name) for name in ("number", "total", "previous_id", "next_id")}
    return found, place, Closure(found.closure), json.loads(found.desk_keys or "{}")


def read_active_labels(sentence_id: int, coder_id: int) -> ActiveLabels:
    """The work of ``coder_id`` on a sentence, and whether she may continue it, in one query."""
    labels = ActiveLabels()
    place = [sentence_id, coder_id]
    with connection.cursor() as cursor:
        cursor.execute(ACTIVE_LABELS, [*place * 4, *[coder_id] * CLOSURE_PARAMETERS, sentence_id])
        for what, pk, *rest in cursor.fetchall():
            if what == "coding":
                labels.codings.append(_build_active_coding(pk, *rest))
            elif what == "revealed":
                labels.is_revealed = True
            elif what == "opened":
                labels.is_opened = True
            elif what == "condition":
                labels.is_condition_known = True
            elif what == "closure":
                labels.closure = Closure(rest[1])
            else:
                labels.decision_id, labels.none_applies = pk, what == "none applies"
    return labels


def read_seen(interview_id: int, coder_id: int) -> ActiveLabels:
    """What a person has seen of a whole interview, for ``choose_blinding``: colleagues' labels, or the sealed condition."""
    rows = Unblinding.objects.filter(interview=interview_id, user=coder_id)
    seen = set(rows.values_list("where", flat=True))
    return ActiveLabels(is_opened=bool(seen - {CONDITION}), is_condition_known=CONDITION in seen)


def _build_active_coding(pk: int, code_id: int, identifier: str, unit: str, *rest: Any) -> ActiveCoding:
    range_id, blinding, *plain, attributes = rest
    values = CodingValues.from_columns(dict(zip(COLUMNS, [*plain, read_json(attributes)], strict=True)))
    return ActiveCoding(pk, code_id, identifier, unit, values, read_uuid(range_id), blinding)


def read_uuid(value: UUID | str | None) -> UUID | None:
    """A UUID from plain SQL, for which SQLite returns text."""
    return UUID(value) if isinstance(value, str) else value


def read_range(range_id: UUID) -> list[tuple[int, int, str]]:
    """The distinct coder, interview and code of the codings in a range: one row in a consistent range."""
    value = Coding._meta.get_field("range_id").get_db_prep_value(range_id, connection)
    with connection.cursor() as cursor:
        cursor.execute(IN_RANGE, [value])
        rows: list[tuple[int, int, str]] = cursor.fetchall()
    return rows


def hold_turn(turn_id: int) -> None:
    """Lock a turn until the end of the transaction, so that only one act at a time changes it. Boundary edits do the same."""
    # SQLite lets one writer in at a time and needs no lock.
    if connection.features.has_select_for_update:
        with connection.cursor() as cursor:
            cursor.execute(HOLD_TURN, [turn_id])


def hold_turns_of_links(sentence_id: int, coder_id: int, identifier: str) -> None:
    """Prevent boundary edits in the turn of a sentence, and in those to which a person's coding there has links.

    Call it before anything else is locked. A boundary edit locks the turn, then sentences, then links that lead to them;
    without this, a change of the coding would lock the link and then wait for the sentence.
    """
    if connection.features.has_select_for_update:
        with connection.cursor() as cursor:
            cursor.execute(HOLD_TURNS_OF_LINKS, [sentence_id, sentence_id, coder_id, identifier])


def hold_these_turns(turn_ids: Collection[int]) -> None:
    """``hold_turn`` for several turns. Call it before anything else is locked, because sentences are locked after turns."""
    if connection.features.has_select_for_update:
        list(Turn.objects.filter(pk__in=turn_ids).order_by("pk").select_for_update(no_key=True).values_list("pk"))


def hold_turns(study_id: int) -> None:
    """``hold_turn`` for all turns of a study. Call it before locking anything else: other rows are locked after turns."""
    if connection.features.has_select_for_update:
        with connection.cursor() as cursor:
            cursor.execute(HOLD_TURNS, [study_id])


def find_elsewhere_in_turn(sentence: Sentence, coder_id: int, identifier: str) -> Sentence | None:
    """The first other sentence of the turn on which the person has an active coding with this code, of any version."""
    with connection.cursor() as cursor:
        cursor.execute(ELSEWHERE_IN_TURN, [sentence.turn_id, sentence.pk, coder_id, identifier])
        row = cursor.fetchone()
    return Sentence.from_db(connection.alias, ["id", "position", "suffix"], row) if row else None


def read_text(sentence_id: int) -> str:
    """The text of a sentence, cut out by the database."""
    with connection.cursor() as cursor:
        cursor.execute(TEXT, [sentence_id])
        row = cursor.fetchone()
    return str(row[0])


def find_stored(model: type[Stored], person_id: int, idempotency_key: UUID) -> int | None:
    """The row that an earlier copy of the same request stored, if any."""
    value = model._meta.get_field("idempotency_key").get_db_prep_value(idempotency_key, connection)
    with connection.cursor() as cursor:
        cursor.execute(STORED[model], [person_id, value])
        row = cursor.fetchone()
    return row[0] if row else None


def lock_sentence(
    model: type[Stored], person_id: int, idempotency_key: UUID, *, sentence_id: int
) -> tuple[int | None, bool]:
    """``find_stored``, and whether the sentence is current. Locks the sentence, so that nobody splits or merges it."""
    value = model._meta.get_field("idempotency_key").get_db_prep_value(idempotency_key, connection)
    # SQLite lets one writer in at a time and needs no lock.
    lock = " FOR KEY SHARE OF s" if connection.features.has_select_for_update else ""
    with connection.cursor() as cursor:
        cursor.execute(HOLD.format(stored=STORED[model]) + lock, [person_id, value, sentence_id])
        row = cursor.fetchone()
    return (row[0], bool(row[1])) if row else (None, False)


def find_sentence(study: Study, interview_id: int, sentence_id: int) -> Sentence | None:
    """A sentence of an interview of the study with its turn and interview; their texts are not loaded.

    Retired ones are included: an act on it may already have been stored; otherwise it is refused.
    """
    with connection.cursor() as cursor:
        cursor.execute(SENTENCE, [sentence_id, interview_id, study.pk])
        row = cursor.fetchone()
    if row is None:
        return None
    pk, turn_id, position, start, end, role, channel = row
    alias = connection.alias
    interview = Interview.from_db(alias, ["id", "study_id"], [interview_id, study.pk])
    interview.study = study
    turn = Turn.from_db(alias, ["id", "interview_id", "role", "channel"], [turn_id, interview_id, role, channel])
    turn.interview = interview
    sentence = Sentence.from_db(alias, PLACE_FIELDS, [pk, turn_id, position, start, end])
    sentence.turn = turn
    return sentence


def find_code(study: Study, code_id: int) -> Code | None:
    """A code of any version of the study's codebook with its family and version; definitions are not loaded."""
    with connection.cursor() as cursor:
        cursor.execute(CODE, [code_id, study.pk])
        row = cursor.fetchone()
    if row is None:
        return None
    alias = connection.alias
    names = ["id", "version_id", "family_id", "identifier", "name", "key", "attributes", "is_category"]
    code = Code.from_db(alias, names, [*row[:6], json.loads(row[6]), bool(row[7])])
    code.family = CodeFamily.from_db(
        alias,
        [
            *("id", "version_id", "identifier", "name", "unit"),
            *("carries_level", "carries_enactment", "once_per_answer", "applies_to"),
        ],
        [code.family_id, code.version_id, *row[8:11], *map(bool, row[11:14]), row[14]],
    )
    code.version = CodebookVersion.from_db(alias, ["id", "study_id", "number", "status"], [code.version_id, *row[15:]])
    return code


def find_place(sentence: Sentence, unit: str) -> Sentence:
    """The sentence on which a code of ``unit`` is stored: this one, or the first of its turn or of its interview."""
    if unit == CodeFamily.Unit.TURN:
        return _find_first(FIRST_OF_TURN, sentence.turn_id, sentence)
    if unit == CodeFamily.Unit.INTERVIEW:
        return _find_first(FIRST_OF_INTERVIEW, sentence.turn.interview_id, sentence)
    return sentence


def _find_first(sql: str, place_id: int, sentence: Sentence) -> Sentence:
    with connection.cursor() as cursor:
        cursor.execute(sql, [place_id])
        row = cursor.fetchone()
    if row[0] == sentence.pk:
        return sentence
    first = Sentence.from_db(connection.alias, PLACE_FIELDS, row)
    first.turn = sentence.turn
    if first.turn_id != sentence.turn_id:
        first.turn = Turn.from_db(connection.alias, ["id", "interview_id"], [first.turn_id, place_id])
        first.turn.interview = sentence.turn.interview
    return first


def find_next_answer(interview_id: int, sentence: Sentence) -> int | None:
    """The next sentence that coders decide on in an interview after ``sentence``, if any."""
    after = Q(position__gt=sentence.position) | Q(position=sentence.position, start__gt=sentence.start)
    answers = Sentence.objects.current().filter(after, turn__interview=interview_id, turn__is_answer=True)
    return answers.order_by("position", "start").values_list("pk", flat=True).first()


def is_draft(interview_id: int) -> bool:
    """Whether the interview is a draft now."""
    return any(send(draft_checked, interview_id=interview_id))


def find_place_now(sentence: Sentence, quote: Extent | None) -> tuple[Sentence, Extent | None]:
    """The sentence that now contains the target: itself, or the piece with the quote, or else the first piece."""
    while sentence.retired_by_id is not None:
        pieces = list(Sentence.objects.filter(made_by=sentence.retired_by_id).order_by("start"))
        was = sentence.extent
        shares = [(piece, share_quote(quote, piece.extent)) for piece in pieces] if quote else []
        sentence, quote = next(((piece, share) for piece, share in shares if share), (pieces[0], None))
        if quote is None and len(pieces) == 1:
            # Merged with a neighbour: the former target becomes a quote.
            quote = was
        if quote == sentence.extent:
            quote = None
    return sentence, quote
