"""Whether a person may code an interview now, and reasoning that is closed to her."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from django.db.models import Exists, Min, OuterRef, QuerySet

from transcripts.coding.models import Coding, Decision, Memo, StageOpening, Unblinding
from transcripts.corpus.consent import NO_CODING
from transcripts.corpus.models import Turn
from transcripts.studies.roles import Permission

# A value for one interview (``i``) and one person, whose number is given as often as CLOSURE_PARAMETERS says. What is assigned
# to nobody is open to all coders, but for what each has finished, unless a round closes what is not assigned in it. What she
# finished stays closed once her own figures with it were opened to her, whatever is assigned later.
CLOSURE = """
CASE
  WHEN NOT (
    SELECT agreed.is_given FROM corpus_consent agreed
    WHERE agreed.interview_id = i.id AND agreed.scope = 'coding' ORDER BY agreed.id DESC LIMIT 1) THEN 'refused'
  WHEN EXISTS (
    SELECT 1 FROM rounds_finish e
    WHERE e.interview_id = i.id AND e.coder_id = %s AND e.withdrawn_at IS NULL
      AND (e.shown_at IS NOT NULL OR NOT EXISTS (
        SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
        WHERE r.project_id = i.project_id AND a.withdrawn_at IS NULL
          AND (a.interview_id = i.id OR r.closes_others)))) THEN 'finished'
  WHEN NOT EXISTS (
    SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
    WHERE r.project_id = i.project_id AND a.withdrawn_at IS NULL
      AND (a.interview_id = i.id OR r.closes_others)) THEN 'open'
  WHEN EXISTS (
    SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
    WHERE a.interview_id = i.id AND a.coder_id = %s AND a.withdrawn_at IS NULL AND a.signed_at IS NULL
      AND r.locked_at IS NULL) THEN 'open'
  WHEN EXISTS (
    SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
    WHERE a.interview_id = i.id AND a.coder_id = %s AND a.withdrawn_at IS NULL AND r.locked_at IS NULL) THEN 'signed'
  WHEN EXISTS (
    SELECT 1 FROM rounds_assignment a
    WHERE a.interview_id = i.id AND a.coder_id = %s AND a.withdrawn_at IS NULL) THEN 'locked'
  ELSE 'unassigned'
END
"""
CLOSURE_PARAMETERS = 4
# When each coder first opened reasoning of an interview, as plain SQL for the desk, which selects MIN(m.opened_at).
FIRST_OPENINGS = """
FROM coding_stageopening m JOIN corpus_turn t ON t.id = m.turn_id
WHERE (m.coder_id = %s OR %s) AND t.interview_id :interview
GROUP BY m.coder_id"""


class Closure(StrEnum):
    """Why an interview cannot be coded by a person, if it cannot.

    Reading is always open, and so are memos, but for an interview whose consent says that people may not code it.
    """

    OPEN = "open"
    REFUSED = "refused"
    FINISHED = "finished"
    SIGNED = "signed"
    LOCKED = "locked"
    UNASSIGNED = "unassigned"

    @property
    def sentence(self) -> str:
        """What is said to her; empty when she may code."""
        return SENTENCES[self]


# Where what closes an interview can be changed: the permission that takes, the name of the page, and what its link says.
WAYS = {
    Closure.REFUSED: (Permission.SET_METHOD, "corpus:consent", "Change its consent"),
    Closure.FINISHED: (Permission.CODE, "rounds:work", "Your work"),
    Closure.SIGNED: (Permission.ASSIGN, "rounds:list", "Return it in its round"),
    Closure.LOCKED: (Permission.ASSIGN, "rounds:list", "Unlock its round"),
    Closure.UNASSIGNED: (Permission.ASSIGN, "rounds:list", "Assign it in a round"),
}
SENTENCES = {
    Closure.OPEN: "",
    Closure.REFUSED: f"{NO_CODING} You can read it, and what was coded before stays.",
    Closure.FINISHED: (
        "You have finished this interview, so you can no longer change your codings of it. Until you have opened your own "
        "influence figures, you can reopen it under “Your work”. You can still write memos."
    ),
    Closure.SIGNED: (
        "You have signed off this interview, so you can no longer change your codings of it. A lead of the study can return it "
        "to you. You can still write memos."
    ),
    Closure.LOCKED: (
        "The round in which you coded this interview is locked. A lead of the study can unlock it. You can still write "
        "memos."
    ),
    Closure.UNASSIGNED: (
        "This interview is not assigned to you. You can read it and write memos. To code it, have it assigned to you in "
        "a round; leads and owners can do that."
    ),
}


def read_first_openings(
    openings: QuerySet[StageOpening], *, coder: str = "coder", thread: str = "turn__interview"
) -> dict[tuple[Any, Any], datetime.datetime]:
    """When each coder first opened reasoning of a thread, by the two columns that name them: their ids, unless told otherwise."""
    first = openings.order_by().values_list(coder, thread).annotate(first=Min("opened_at"))
    return {(person, name): opened for person, name, opened in first}


def saw_reasoning(openings: Mapping[Any, Any], key: Any, made: Any) -> bool:
    """Whether ``made``, the moment of a coding or decision, is not before its coder's first opening of reasoning of the thread.

    ``openings`` holds that moment under ``key``, or nothing where she never opened any. No column says it: the desk, the exports
    and the figures all ask here.
    """
    opened = openings.get(key)
    return opened is not None and bool(opened <= made)


def find_closed_turns(turns: QuerySet[Turn], person_id: int) -> frozenset[int]:
    """Those of ``turns`` that are reasoning which is closed to somebody who codes. One query.

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
