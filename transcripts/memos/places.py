"""What a memo is on: a sentence, an interview, a code, a theme, or the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from transcripts.coding.models import Memo
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.models import Project
from transcripts.themes import queries as themes
from transcripts.ui.typed_text import find_number

Subject = Memo.Subject


class PlaceNotFound(Exception):
    """An address or a form names something that is not in the study."""


class Place(NamedTuple):
    """Where a memo belongs. ``key`` is the identifier of a code or the number of a theme."""

    subject: str
    key: str = ""
    interview: Interview | None = None
    sentence: Sentence | None = None

    @classmethod
    def of(cls, memo: Memo) -> Place:
        """The place of a memo. Reads its interview and sentence: costs queries when they are not loaded."""
        return cls(memo.subject, memo.subject_key, memo.interview, memo.sentence)

    @property
    def fields(self) -> dict[str, str]:
        """The place as the fields of an address or a form name it."""
        if self.sentence is not None:
            return {"sentence": str(self.sentence.pk)}
        if self.interview is not None:
            return {"interview": str(self.interview.pk)}
        return {self.subject: self.key} if self.subject in {Subject.CODE, Subject.THEME} else {}


def find_place(project: Project, asked: Mapping[str, str]) -> Place:
    """The place that ``asked`` names: by sentence, interview, code or theme; without one, the study.

    Raises ``PlaceNotFound``.
    """
    if asked.get("sentence"):
        sentence = themes.find_sentence(project, _read_number(asked["sentence"]))
        if sentence is None or sentence.retired_by_id is not None:
            raise PlaceNotFound("This study has no such sentence.")
        return Place(Subject.SENTENCE, "", sentence.turn.interview, sentence)
    if asked.get("interview"):
        interview = project.interviews.filter(pk=_read_number(asked["interview"])).first()
        if interview is None:
            raise PlaceNotFound("This study has no such interview.")
        return Place(Subject.INTERVIEW, "", interview)
    if code := asked.get("code"):
        if themes.find_unknown_codes(project, [code]):
            raise PlaceNotFound("This code is not in the codebook of this study.")
        return Place(Subject.CODE, code)
    if asked.get("theme"):
        number = _read_number(asked["theme"])
        if not project.themes.filter(number=number).exists():
            raise PlaceNotFound("This study has no such theme.")
        return Place(Subject.THEME, str(number))
    return Place(Subject.PROJECT)


def _read_number(text: str) -> int:
    number = find_number(text)
    if number is None:
        raise PlaceNotFound("The number in the address is not valid.")
    return number
