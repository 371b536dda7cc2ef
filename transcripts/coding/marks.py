"""What people's work looks like at a sentence: chips, decisions and memos, read in one query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Layer, Level

# Plain SQL for the reason given in queries.py: this is read again after every code.
MARKS = """
SELECT 'coding', m.sentence_id, m.id, m.client_id, m.coder_id, u.username, k.identifier, k.name, k.key,
       f.identifier, f.name, f.unit, m.level, m.enactment, m.layer, v.number, m.note
FROM coding_coding m
JOIN accounts_user u ON u.id = m.coder_id
JOIN codebook_code k ON k.id = m.code_id
JOIN codebook_codefamily f ON f.id = k.family_id
JOIN codebook_codebookversion v ON v.id = k.version_id
WHERE m.withdrawn_at IS NULL AND (m.coder_id = %s OR %s) AND m.sentence_id :place
UNION ALL
SELECT CASE WHEN m.none_applies THEN 'none applies' ELSE 'decided' END, m.sentence_id, m.id, m.client_id, m.coder_id,
       u.username, '', '', '', '', '', '', '', '', m.layer, 0, ''
FROM coding_decision m
JOIN accounts_user u ON u.id = m.coder_id
WHERE m.withdrawn_at IS NULL AND (m.coder_id = %s OR %s) AND m.sentence_id :place
UNION ALL
SELECT 'memo', m.sentence_id, m.id, m.client_id, m.author_id, u.username, '', '', '', '', '', '', '', '', '', 0, m.text
FROM coding_memo m
JOIN accounts_user u ON u.id = m.author_id
WHERE m.withdrawn_at IS NULL AND (m.author_id = %s OR %s) AND m.:memo_place
"""
AT_SENTENCE = MARKS.replace(":place", "= %s").replace(":memo_place", "sentence_id = %s")
IN_INTERVIEW = MARKS.replace(
    ":place",
    "IN (SELECT s.id FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id WHERE t.interview_id = %s"
    " AND s.retired_by_id IS NULL)",
).replace(":memo_place", "interview_id = %s")


@dataclass(frozen=True)
class Viewer:
    """Whose work is shown: a person's own, or everybody's to one who may see all codings and does not code."""

    user_id: int
    sees_all: bool = False


@dataclass(slots=True)
class Chip:
    """A coding as it is shown. ``coder`` is empty for the viewer's own."""

    client_id: str
    coder: str
    identifier: str
    name: str
    key: str
    family: str
    family_name: str
    unit: str
    level: str
    enactment: str
    layer: str
    version: int
    note: str

    @property
    def is_latent(self) -> bool:
        return self.level == Level.LATENT

    @property
    def is_assisted(self) -> bool:
        return self.layer == Layer.ASSISTED

    @property
    def sign(self) -> str:
        """The key as it was pressed, or the initial of the family of a code without one."""
        if not self.key:
            return self.family_name[:1].upper()
        return self.key.upper() if self.is_latent else self.key


@dataclass(slots=True)
class DecisionMark:
    """ "Read; nothing more here", by the viewer or, when ``coder`` is not empty, by somebody else."""

    client_id: str
    coder: str
    none_applies: bool


@dataclass(slots=True)
class MemoMark:
    """A memo as it is shown; ``author`` is empty for the viewer's own."""

    author: str
    text: str


@dataclass(slots=True)
class Marks:
    """All that stands at one place: a sentence, a turn (codes only) or the interview (memos only)."""

    chips: list[Chip] = field(default_factory=list)
    decisions: list[DecisionMark] = field(default_factory=list)
    memos: list[MemoMark] = field(default_factory=list)

    @property
    def own_decision(self) -> DecisionMark | None:
        return next((decision for decision in self.decisions if not decision.coder), None)

    @property
    def own_memo(self) -> str:
        return next((memo.text for memo in self.memos if not memo.author), "")

    @property
    def counts_as_decided(self) -> bool:
        """Whether the viewer has coded or decided here."""
        return any(not chip.coder for chip in self.chips) or self.own_decision is not None

    def split_off_turn(self) -> Marks:
        """Take out and return the codes of the whole turn, which stand on its first sentence."""
        of_turn = Marks(chips=[chip for chip in self.chips if chip.unit == CodeFamily.Unit.TURN])
        if of_turn.chips:
            self.chips = [chip for chip in self.chips if chip.unit != CodeFamily.Unit.TURN]
        return of_turn


def read_marks_at(sentence_id: int, viewer: Viewer) -> Marks:
    """What stands at one sentence; codes of the turn included when it is the turn's first."""
    return _read(AT_SENTENCE, sentence_id, viewer).get(sentence_id) or Marks()


def read_marks_in(interview_id: int, viewer: Viewer) -> dict[int | None, Marks]:
    """What stands in an interview, by sentence id; under ``None`` the memos on the interview as a whole."""
    return _read(IN_INTERVIEW, interview_id, viewer)


def _read(sql: str, place_id: int, viewer: Viewer) -> dict[int | None, Marks]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [viewer.user_id, viewer.sees_all, place_id] * 3)
        rows: list[tuple[Any, ...]] = sorted(cursor.fetchall(), key=lambda row: row[2])
    found: dict[int | None, Marks] = {}
    for what, sentence_id, _, client_id, person_id, username, *rest in rows:
        marks = found.setdefault(sentence_id, Marks())
        person = "" if person_id == viewer.user_id else username
        number = client_id.hex if isinstance(client_id, UUID) else client_id
        if what == "coding":
            marks.chips.append(Chip(number, person, *rest))
        elif what == "memo":
            marks.memos.append(MemoMark(person, rest[-1]))
        else:
            marks.decisions.append(DecisionMark(number, person, what == "none applies"))
    return found
