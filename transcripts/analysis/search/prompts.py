"""Prompted or not, for many codings at once: said by the coder, else derived from what the interviewer said before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from django.db import connection

from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding.pure.prompting import OPENING_PROMPT, Prompts, Question, Signs, decide, read_signs
from transcripts.corpus.models import Turn
from transcripts.studies.models import Study

QUESTIONS = """
SELECT t.interview_id, t.position, t.text, t.prompt_kind
FROM corpus_turn t JOIN corpus_interview i ON i.id = t.interview_id
WHERE i.owning_study_id = %s AND t.role = %s AND t.channel = %s
"""
# The first turn of an interview, where it is the model's, and where the file gives an opening prompt: see ``Question``.
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
# What was found of so many codes of coders, and of so many interviews, is kept: rows mostly come interview by interview.
MOST_KEPT, MOST_READ = 50_000, 1_000


class StudyPrompts:
    """What the interviewers of a study raised, interview by interview. Two queries when it is made."""

    def __init__(self, study: Study) -> None:
        self._signs = read_study_signs(study)
        self._questions: dict[int, list[Question]] = defaultdict(list)
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

        ``said`` is what the coder chose, if anything. Both are empty where the question does not arise.
        """
        if said:
            return said, "said"
        derived = self.derive(interview_id, coder_id, code, role, position)
        return derived, "derived" if derived else ""

    def derive(self, interview_id: int, coder_id: int, code: str, role: str, position: int) -> str:
        """Prompted, unprompted or unclear; empty where it is not the model who speaks. What was raised is found out once."""
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
    """By what each code is recognised, by identifier, as the newest published version has it."""
    codes = Code.objects.filter(version__study=study, version__status=CodebookVersion.Status.PUBLISHED)
    rows = codes.order_by("version__number").values_list("identifier", "name", "aliases", "terms")
    return {identifier: read_signs([name, *aliases], terms) for identifier, name, aliases, terms in rows}
