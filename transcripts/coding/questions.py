"""When a person is through with a turn of the interviewer.

Nobody has to decide such turns one by one. She is through with one when she has coded it, when she has decided the whole answer
that follows (as ``BlindReadings.decide_questions`` counts it), or when she has decided each of its sentences herself, which is
the only way beside a code where no answer follows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Reveal
from transcripts.corpus.models import Sentence, Turn
from transcripts.projects.models import Project

QUESTION_UNDECIDED = (
    "Decide on this turn first: apply one of the codes for the interviewer’s turns, press Enter on every sentence of the answer "
    "that follows, or press Enter on each sentence of the turn itself. Then you can open its suggestions."
)
# A turn, whether the interviewer says it, and whether coders decide it; in the order of the interview.
Said = tuple[int, bool, bool]


def pair_questions(said: Iterable[Said]) -> dict[int, list[int]]:
    """Of one interview, each turn of the interviewer with the turns to be decided until she speaks again."""
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


def find_decided_questions(project: Project, interview_ids: Collection[int], coder_id: int) -> set[int]:
    """The turns of the interviewer in these interviews with which a person is through.

    Coded counts where each family for the interviewer's turns has a code of hers there: otherwise she still has to say
    something of the others. What she was once shown suggestions of stays decided. Five queries.
    """
    said: dict[int, dict[int, Said]] = defaultdict(dict)
    sentences: dict[int, set[int]] = defaultdict(set)
    rows = Sentence.objects.current().filter(turn__interview__in=interview_ids)
    rows = rows.exclude(turn__channel=Turn.Channel.TOOL_RESULT).order_by("turn__interview", "turn__position", "start")
    columns = ("pk", "turn_id", "turn__interview_id", "turn__role", "turn__is_answer")
    for pk, turn, interview, role, is_answer in rows.values_list(*columns):
        said[interview].setdefault(turn, (turn, role == Turn.Role.INTERVIEWER, is_answer))
        sentences[turn].add(pk)
    decided = _list_decided(interview_ids, coder_id)
    coded = _list_coded(project, interview_ids, coder_id)
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


def _list_decided(interview_ids: Collection[int], coder_id: int) -> set[int]:
    rows = Decision.objects.active().filter(sentence__turn__interview__in=interview_ids, coder=coder_id)
    return set(rows.values_list("sentence", flat=True))


def _list_coded(project: Project, interview_ids: Collection[int], coder_id: int) -> set[int]:
    """The turns on which she has applied a code of each family that is for the interviewer's turns."""
    families = CodeFamily.objects.filter(
        version=current_version(project), applies_to=CodeFamily.AppliesTo.INTERVIEWER
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
    """Whether a person is through with this turn of the interviewer. Reads turn.interview.project."""
    return turn.pk in find_decided_questions(turn.interview.project, [turn.interview_id], coder_id)
