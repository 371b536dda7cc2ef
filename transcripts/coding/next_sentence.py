"""The next sentence of a study that needs a person, and whether she has finished a turn of the interviewer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum

from django.db import connection

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Reveal, Unblinding
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.rounds.queries import CLOSURE, CLOSURE_PARAMETERS, list_still_to_code
from transcripts.studies.access import StudyRequest
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission

# The tables of texts, of which each reason keeps some sentences: on one :side of the place where the person is, or at it.
IN_ORDER = """
FROM corpus_interview i
JOIN corpus_turn t ON t.interview_id = i.id
JOIN corpus_sentence s ON s.turn_id = t.id
WHERE i.study_id = %s AND s.retired_by_id IS NULL AND (i.id, t.position, s.start) :side (%s, %s, %s)
"""
NEXT = f"SELECT s.id, i.id {IN_ORDER} AND :reason ORDER BY i.id, t.position, s.start LIMIT 1"
OPEN = f"SELECT i.id FROM corpus_interview i WHERE i.study_id = %s AND {CLOSURE} = 'open'"  # noqa: S608
UNCODED = f"""
t.is_answer AND i.id IN ({OPEN})
AND NOT EXISTS (
  SELECT 1 FROM coding_decision d WHERE d.sentence_id = s.id AND d.coder_id = %s AND d.withdrawn_at IS NULL)
AND NOT EXISTS (
  SELECT 1 FROM coding_coding c
  JOIN codebook_code k ON k.id = c.code_id JOIN codebook_codefamily f ON f.id = k.family_id
  WHERE c.sentence_id = s.id AND c.coder_id = %s AND c.withdrawn_at IS NULL AND f.unit = 'sentence')
"""  # noqa: S608
CHANGED = f"""
i.id IN ({OPEN}) AND s.id IN (
  SELECT c.sentence_id FROM coding_coding c
  JOIN codebook_code k ON k.id = c.code_id JOIN codebook_codebookversion v ON v.id = k.version_id
  WHERE v.study_id = %s AND c.coder_id = %s AND c.withdrawn_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM codebook_code n
    WHERE n.version_id = %s AND n.identifier = k.identifier AND n.meaning_version <= v.number))
"""  # noqa: S608
WITH_MEMO = """
s.id IN (
  SELECT m.sentence_id FROM coding_memo m
  WHERE m.study_id = %s AND m.author_id = %s AND m.subject = 'sentence' AND m.withdrawn_at IS NULL)
"""
PLACE = """
SELECT i.id, t.position, s.start
FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id JOIN corpus_interview i ON i.id = t.interview_id
WHERE s.id = %s AND i.study_id = %s
"""
INTERVIEWS_AT_A_TIME = 10

Value = str | int
QUESTION_UNDECIDED = (
    "Decide on this turn first: apply one of the codes for the interviewer’s turns, press Enter on every sentence of the answer "
    "that follows, or press Enter on each sentence of the turn itself. Then you can open its suggestions."
)
# Turns in the order of the interview: whether the interviewer says them, and whether coders decide them.
Said = tuple[int, bool, bool]


class Reason(StrEnum):
    """The reason why a person should go to a sentence."""

    ASSIGNED = "assigned"
    UNCODED = "uncoded"
    CHANGED = "changed"
    DISAGREED = "disagreed"
    MEMO = "memo"


WORDS: dict[str, str] = {
    Reason.ASSIGNED: "assigned to you, not coded yet",
    Reason.UNCODED: "not coded yet",
    Reason.CHANGED: "its code has changed since",
    Reason.DISAGREED: "coders disagree here",
    Reason.MEMO: "you wrote a memo on it",
}

# A sentence that needs the person: why, its id and that of its interview.
Found = tuple[Reason, int, int]


class _Seeker:
    """Searches from a person's present sentence to the end of the study, then from its beginning."""

    def __init__(self, study: Study, at: int | None) -> None:
        self.study, self.at = study, at or 0
        self.place: tuple[int, int, int] = (0, 0, 0)
        if self.at:
            with connection.cursor() as cursor:
                cursor.execute(PLACE, [self.at, study.pk])
                self.place = cursor.fetchone() or self.place

    def find(self, reason: Reason, condition: str, *values: Value, sides: str = "><") -> Found | None:
        """The first sentence for which ``condition`` is true after the place (">"), or else before it ("<"), or at it ("=")."""
        with connection.cursor() as cursor:
            for side in sides:
                sql = NEXT.replace(":side", side).replace(":reason", condition)
                cursor.execute(sql, [self.study.pk, *self.place, *values])
                if row := cursor.fetchone():
                    return reason, row[0], row[1]
        return None

    def find_from_here(self, reason: Reason, condition: str, *values: Value) -> Found | None:
        """The same, but the whole interview of the place comes first, and the place itself last."""
        here = self.place[0]
        found = self.find(reason, f"{condition} AND i.id = %s", *values, here) if here else None
        return found or self.find(reason, condition, *values, sides="><=")

    def find_disagreed(self, version: CodebookVersion, shown: Sequence[int]) -> Found | None:
        """Searches a few interviews at a time, because reading the blind readings of a whole study takes a second."""
        here = self.place[0]
        around = {">": [pk for pk in shown if pk >= here], "<": [pk for pk in shown if pk <= here]}
        for side, interviews in around.items():
            for begin in range(0, len(interviews), INTERVIEWS_AT_A_TIME):
                some = interviews[begin : begin + INTERVIEWS_AT_A_TIME]
                differing = sorted(find_differing(self.study, version, some))
                condition = f"s.id IN ({', '.join(['%s'] * len(differing))})"
                if differing and (found := self.find(Reason.DISAGREED, condition, *differing, sides=side)):
                    return found
        return None


def find_next(request: StudyRequest, *, at: int | None) -> Found | None:
    """The next sentence for the person after the sentence ``at``, if any. A few queries.

    First come interviews assigned to her: uncoded sentences, then codings whose code has changed since. Then the same in the
    other interviews that she may code, then disagreements between coders (if she may see them), then sentences with her own
    memos. For each reason, the rest of her present interview comes first, before and after her place, then the interviews after
    it, and after the last one the first. Her present sentence comes last, because she has passed it over so far.
    """
    study, user_id = request.study, request.user.pk
    seeker, version = _Seeker(study, at), current_version(study)
    if Permission.CODE in request.role.permissions and version is not None:
        mine: list[Value] = [study.pk, *[user_id] * CLOSURE_PARAMETERS]
        uncoded: list[Value] = [*mine, user_id, user_id]
        changed: list[Value] = [*mine, study.pk, user_id, version.pk]
        wanted = [(Reason.UNCODED, UNCODED, uncoded), (Reason.CHANGED, CHANGED, changed)]
        if assigned := list(list_still_to_code(study, request.user).values_list("interview", flat=True)):
            only = f" AND i.id IN ({', '.join(['%s'] * len(assigned))})"
            first = [(Reason.ASSIGNED, UNCODED + only, [*uncoded, *assigned])]
            wanted = [*first, (Reason.CHANGED, CHANGED + only, [*changed, *assigned]), *wanted]
        for reason, condition, values in wanted:
            if found := seeker.find_from_here(reason, condition, *values):
                return found
    shown = list_shown_to(request) if version is not None else []
    found = seeker.find_disagreed(version, shown) if version is not None and shown else None
    return found or seeker.find(Reason.MEMO, WITH_MEMO, study.pk, user_id)


def describe_reason(request: StudyRequest, reason: str, *, interview_id: int) -> str:
    """Why the person was led to a sentence, with the name of the round if there is one; "" for an unknown reason."""
    if reason == Reason.ASSIGNED:
        own = list_still_to_code(request.study, request.user).filter(interview=interview_id)
        if name := own.order_by("round__number").values_list("round__name", flat=True).first():
            return f"assigned to you in {name}, not coded yet"
    return WORDS.get(reason, "")


def list_shown_to(request: StudyRequest) -> list[int]:
    """The interviews in which the person may see where coders differ: those she has unblinded, or all if she does not code."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions:
        return []
    if Permission.CODE not in request.role.permissions:
        return list(request.study.interviews.order_by("pk").values_list("pk", flat=True))
    opened = Unblinding.objects.of_labels().filter(user=request.user, interview__study=request.study)
    return list(opened.order_by("interview").values_list("interview", flat=True))


def find_differing(study: Study, version: CodebookVersion, interview_ids: Sequence[int]) -> set[int]:
    """The sentences of some interviews on which coders disagreed before they saw each other's work."""
    from transcripts.coding.blind import read_blind

    readings = read_blind(study, interviews=interview_ids)
    found: set[int] = set()
    for family, codes in _list_families(version):
        table = readings.arrange(family, CodeFamily.Unit.SENTENCE, codes)
        found.update(map(int, table.sentence_ids[table.find_differing()]))
    return found


def find_differing_in(interview: Interview) -> set[int]:
    """The same in one interview. Reads interview.study: costs a query when it is not loaded."""
    version = current_version(interview.study)
    return find_differing(interview.study, version, [interview.pk]) if version is not None else set()


def _list_families(version: CodebookVersion) -> Iterator[tuple[str, list[str]]]:
    rows = Code.objects.filter(version=version, family__unit=CodeFamily.Unit.SENTENCE)
    families: dict[str, list[str]] = {}
    for family, identifier in rows.order_by("position").values_list("family__identifier", "identifier"):
        families.setdefault(family, []).append(identifier)
    yield from families.items()


def pair_questions(said: Iterable[Said]) -> dict[int, list[int]]:
    """Each turn of the interviewer in one interview, with the turns to decide until she speaks again."""
    found: dict[int, list[int]] = {}
    asking: list[int] = []
    has_ended = True
    for turn, asks, is_answer in said:
        if asks:
            asking = [turn] if has_ended else [*asking, turn]
            found[turn] = []
        elif is_answer:
            for question in asking:
                found[question].append(turn)
        has_ended = not asks
    return found


def find_decided_questions(study: Study, interview_ids: Collection[int], coder_id: int) -> set[int]:
    """The turns of the interviewer in these interviews that a person has decided.

    Nobody has to decide such turns one by one. A turn is decided when she has coded it, when she has decided the whole answer
    that follows (as in ``BlindLabels.decide_questions``), or when she has decided each of its sentences. If no answer follows,
    only the first and the last are possible. It counts as coded if she has applied a code of every family for the interviewer's
    turns; otherwise the other families are still open. A turn for which she has seen suggestions stays decided. Five queries.
    """
    said: dict[int, dict[int, Said]] = defaultdict(dict)
    sentences: dict[int, set[int]] = defaultdict(set)
    rows = Sentence.objects.current().filter(turn__interview__in=interview_ids)
    rows = rows.exclude(turn__channel=Turn.Channel.TOOL_RESULT).order_by("turn__interview", "turn__position", "start")
    columns = ("pk", "turn_id", "turn__interview_id", "turn__role", "turn__is_answer")
    for pk, turn, interview, role, is_answer in rows.values_list(*columns):
        said[interview].setdefault(turn, (turn, role == Turn.Role.INTERVIEWER, is_answer))
        sentences[turn].add(pk)
    decisions = Decision.objects.active().filter(sentence__turn__interview__in=interview_ids, coder=coder_id)
    decided = set(decisions.values_list("sentence", flat=True))
    coded = _list_coded(study, interview_ids, coder_id)
    shown = Reveal.objects.filter(sentence__turn__interview__in=interview_ids, coder=coder_id)
    known = coded | set(shown.values_list("sentence__turn", flat=True))
    return {
        turn
        for turns in said.values()
        for turn, answers in pair_questions(turns.values()).items()
        if turn in known
        or sentences[turn] <= decided
        or (answers and all(sentences[answer] <= decided for answer in answers))
    }


def _list_coded(study: Study, interview_ids: Collection[int], coder_id: int) -> set[int]:
    """The turns on which she has applied a code of each family that is for the interviewer's turns."""
    families = CodeFamily.objects.filter(
        version=current_version(study), applies_to=CodeFamily.AppliesTo.INTERVIEWER
    ).exclude(unit=CodeFamily.Unit.INTERVIEW)
    units = dict(families.values_list("identifier", "unit"))
    if not units or set(units.values()) != {CodeFamily.Unit.TURN.value}:
        return set()
    own = Coding.objects.active().filter(
        sentence__turn__interview__in=interview_ids, coder=coder_id, code__family__identifier__in=units
    )
    found: dict[int, set[str]] = defaultdict(set)
    for turn, family in own.values_list("sentence__turn", "code__family__identifier"):
        found[turn].add(family)
    return {turn for turn, families_there in found.items() if families_there == units.keys()}


def is_question_decided(turn: Turn, coder_id: int) -> bool:
    """Whether a person has decided this turn of the interviewer. Reads turn.interview.study."""
    return turn.pk in find_decided_questions(turn.interview.study, [turn.interview_id], coder_id)
