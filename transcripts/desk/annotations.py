"""People's annotations of a sentence: codings, decisions and memos, read in one query."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Blinding, Level, Memo
from transcripts.coding.queries import FIRST_OPENINGS, saw_reasoning
from transcripts.coding.values import read_json

# Plain SQL for the reason given in queries.py: this is read again after every code. Two parts are about what the viewer
# herself has seen of others' work, never of anybody else. The last two: when each coder first opened reasoning of the thread,
# and the links of the codings, whose id and place stand in the columns of notes and the like.
MARKS = """
SELECT 'coding', m.sentence_id, m.id, m.idempotency_key, m.coder_id, u.username, k.identifier, k.name, k.key,
       f.identifier, f.name, f.unit, CASE WHEN k.color <> '' THEN k.color ELSE f.color END, m.level, m.enactment, m.blinding,
       v.number, m.note, m.grounding, m.prompting,
       CAST(m.attributes AS text), f.carries_enactment, m.range_id, m.reason, m.quote_start - s.start,
       SUBSTR(t.text, m.quote_start + 1, m.quote_end - m.quote_start), m.created_at
FROM coding_coding m
JOIN accounts_user u ON u.id = m.coder_id
JOIN codebook_code k ON k.id = m.code_id
JOIN codebook_codefamily f ON f.id = k.family_id
JOIN codebook_codebookversion v ON v.id = k.version_id
LEFT JOIN corpus_sentence s ON s.id = m.sentence_id AND m.quote_start IS NOT NULL
LEFT JOIN corpus_turn t ON t.id = s.turn_id
WHERE m.withdrawn_at IS NULL AND (m.coder_id = %s OR %s) AND m.sentence_id :place
UNION ALL
SELECT CASE WHEN m.none_applies THEN 'none applies' ELSE 'decided' END, m.sentence_id, m.id, m.idempotency_key, m.coder_id,
       u.username, '', '', '', '', '', '', '', '', '', m.blinding, 0, '', '', '', '', NULL, NULL, '', NULL, NULL, NULL
FROM coding_decision m
JOIN accounts_user u ON u.id = m.coder_id
WHERE m.withdrawn_at IS NULL AND (m.coder_id = %s OR %s) AND m.sentence_id :place
UNION ALL
SELECT 'memo', m.sentence_id, m.id, m.idempotency_key, m.author_id, u.username, '', '', '', '', '', '', '', m.kind, '', '', 0,
       m.text, '', '', '', NULL, NULL, '', NULL, NULL, NULL
FROM coding_memo m
JOIN accounts_user u ON u.id = m.author_id
WHERE m.withdrawn_at IS NULL AND (m.author_id = %s OR %s) AND m.:memo_place
UNION ALL
SELECT 'revealed', m.sentence_id, m.id, NULL, m.coder_id, '', '', '', '', '', '', '', '', '', '', '', 0,
       '', '', '', '', NULL, NULL, '', NULL, NULL, NULL
FROM coding_reveal m
WHERE m.coder_id = %s AND m.sentence_id :place
UNION ALL
SELECT CASE WHEN m."where" = 'condition' THEN 'condition' ELSE 'opened' END, NULL, m.id, NULL,
       m.user_id, '', '', '', '', '', '', '', '', '', '', '', 0,
       '', '', '', '', NULL, NULL, '', NULL, NULL, NULL
FROM coding_unblinding m
WHERE m.user_id = %s AND m.interview_id :interview
UNION ALL
SELECT 'reasoning', NULL, 0, NULL, m.coder_id, '', '', '', '', '', '', '', '', '', '', '', 0,
       '', '', '', '', NULL, NULL, '', NULL, NULL, MIN(m.opened_at)
:first_openings
UNION ALL
SELECT 'link', m.sentence_id, l.id, m.idempotency_key, m.coder_id, '', COALESCE(k.identifier, ''), COALESCE(k.name, ''), '', '',
       COALESCE(s.suffix, ''), '', '', l.kind, '', '', COALESCE(s.position, 0),
       CASE WHEN s.id IS NULL THEN '' ELSE CAST(s.id AS text) END,
       CASE WHEN t.interview_id IS NULL OR t.interview_id = mt.interview_id THEN '' ELSE CAST(t.interview_id AS text) END,
       '', '', NULL, NULL, '', l.quote_start - s.start, SUBSTR(t.text, l.quote_start + 1, l.quote_end - l.quote_start), NULL
FROM coding_coding m
JOIN coding_link l ON l.coding_id = m.id AND l.withdrawn_at IS NULL
JOIN corpus_sentence ms ON ms.id = m.sentence_id
JOIN corpus_turn mt ON mt.id = ms.turn_id
LEFT JOIN codebook_code k ON k.id = l.code_id
LEFT JOIN corpus_sentence s ON s.id = l.sentence_id
LEFT JOIN corpus_turn t ON t.id = s.turn_id
WHERE m.withdrawn_at IS NULL AND (m.coder_id = %s OR %s) AND m.sentence_id :place
""".replace(":first_openings", FIRST_OPENINGS.strip())
AT_SENTENCE = (
    MARKS.replace(":place", "= %s")
    .replace(":memo_place", "sentence_id = %s")
    .replace(
        ":interview",
        "= (SELECT t.interview_id FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id WHERE s.id = %s)",
    )
)
IN_INTERVIEW = (
    MARKS.replace(
        ":place",
        "IN (SELECT s.id FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id WHERE t.interview_id = %s"
        " AND s.retired_by_id IS NULL)",
    )
    .replace(":memo_place", "interview_id = %s")
    .replace(":interview", "= %s")
)

# The key of the question that asks for the status of a feature.
STATUS = "status"


def abbreviate(name: str) -> str:
    """Two letters for a name: the initials of its first words, or its beginning."""
    words = name.split()
    return ("".join(word[0] for word in words[:2]) if len(words) > 1 else name[:2]).upper()


class LinkView(NamedTuple):
    """A link for display: to a code, or to a sentence; ``interview`` names its thread if it is another one.

    ``quote_at`` counts code points from the start of that sentence.
    """

    kind: str
    identifier: str
    name: str
    sentence: str
    number: str
    interview: str
    quote_at: int | None
    quote: str


@dataclass(slots=True)
class CodingView:
    """A coding as it is shown. ``coder`` is empty for the viewer's own.

    ``quote_at`` counts code points from the start of the sentence. ``derived`` says whether the interviewer had raised it, as
    far as the words show; ``prompting`` is a person's answer to that. ``is_changed``: the code has since changed in meaning or
    been removed. ``color`` is the code's, or else its family's.
    """

    idempotency_key: str
    coder: str
    identifier: str
    name: str
    key: str
    family: str
    family_name: str
    unit: str
    color: str
    level: str
    enactment: str
    blinding: str
    version: int
    note: str
    grounding: str
    prompting: str
    attributes: dict[str, str]
    carries_enactment: bool
    range_id: str
    reason: str
    quote_at: int | None
    quote: str
    made_at: Any = None
    derived: str = ""
    is_changed: bool = False
    saw_reasoning: bool = False
    links: list[LinkView] = field(default_factory=list)

    @property
    def is_latent(self) -> bool:
        return self.level == Level.LATENT

    @property
    def enactment_word(self) -> str:
        """The enactment as a word, or a note that it is missing in a coding stored before it was required."""
        return self.enactment or ("enactment not stated" if self.carries_enactment else "")

    @property
    def is_assisted(self) -> bool:
        return self.blinding == Blinding.ASSISTED

    @property
    def sign(self) -> str:
        """The key of the code or, without one, two letters of its family, which no key prints."""
        if not self.key:
            return abbreviate(self.family_name)
        return self.key.upper() if self.is_latent else self.key

    @property
    def raised(self) -> str:
        """Whether the interviewer had raised it: a person's answer, or else what the words show."""
        return self.prompting or self.derived

    @property
    def status(self) -> str:
        """The status in which the turn leaves a feature; empty if it is not stated."""
        return self.attributes.get(STATUS, "")

    @property
    def answers(self) -> str:
        """The answers to the code's other questions as one line."""
        return " · ".join(answer for key, answer in self.attributes.items() if key != STATUS)

    @property
    def attributes_json(self) -> str:
        """The answers for the page's script; empty if there are none."""
        return json.dumps(self.attributes, ensure_ascii=False) if self.attributes else ""


@dataclass(slots=True)
class DecisionView:
    """ "Read; nothing more here", by the viewer or, when ``coder`` is not empty, by somebody else."""

    idempotency_key: str
    coder: str
    none_applies: bool


@dataclass(slots=True)
class MemoView:
    """A memo as it is shown; ``author`` is empty for the viewer's own."""

    author: str
    kind: str
    text: str

    @property
    def kind_name(self) -> str:
        """The kind as people read it; empty for a plain reading note."""
        return "" if self.kind == Memo.Kind.READING else Memo.Kind(self.kind).label


@dataclass(slots=True)
class SentenceAnnotations:
    """The annotations at one place: a sentence, a turn or an interview.

    ``is_revealed``: the viewer has seen machines' suggestions here. ``is_opened``, of an interview only: the viewer has
    unblinded colleagues' codings of it. ``is_condition_known``, likewise: she has opened its sealed condition.
    """

    chips: list[CodingView] = field(default_factory=list)
    decisions: list[DecisionView] = field(default_factory=list)
    memos: list[MemoView] = field(default_factory=list)
    is_revealed: bool = False
    is_opened: bool = False
    is_condition_known: bool = False

    @property
    def own_decision(self) -> DecisionView | None:
        return next((decision for decision in self.decisions if not decision.coder), None)

    @property
    def own_memo(self) -> str:
        return next((memo.text for memo in self.memos if not memo.author), "")

    @property
    def own_memo_kind(self) -> str:
        return next((memo.kind for memo in self.memos if not memo.author), Memo.Kind.READING.value)

    @property
    def is_own(self) -> bool:
        """Whether any of it is the viewer's own."""
        own_codes = any(not chip.coder for chip in self.chips)
        return own_codes or self.own_decision is not None or any(not memo.author for memo in self.memos)

    @property
    def counts_as_decided(self) -> bool:
        """Whether the viewer has decided the sentence: by Enter, or with a code of the sentence itself, which counts equally.

        The same rule is in SQL in rounds/queries.py and coding/next_sentence.py, and in the page's script (``isDecided`` in
        desk/marks.js).
        """
        own = (chip for chip in self.chips if not chip.coder)
        return self.own_decision is not None or any(chip.unit == CodeFamily.Unit.SENTENCE for chip in own)

    def split_off(self, unit: str) -> SentenceAnnotations:
        """Remove and return the codes of a whole turn or interview, which are stored on its first sentence."""
        apart = SentenceAnnotations(
            chips=[chip for chip in self.chips if chip.unit == unit], is_revealed=self.is_revealed
        )
        if apart.chips:
            self.chips = [chip for chip in self.chips if chip.unit != unit]
        return apart


def read_annotations_at(sentence_id: int, user_id: int) -> SentenceAnnotations:
    """The person's own annotations of a sentence; of the first sentence, also the codes of its turn and interview."""
    found = _read(AT_SENTENCE, sentence_id, user_id, sees_all=False)
    marks = found.get(sentence_id) or SentenceAnnotations()
    of_interview = found.get(None) or SentenceAnnotations()
    marks.is_opened, marks.is_condition_known = of_interview.is_opened, of_interview.is_condition_known
    return marks


def read_annotations_in(interview_id: int, user_id: int, *, sees_all: bool) -> dict[int | None, SentenceAnnotations]:
    """The annotations of an interview by sentence id; under ``None`` the memos on the interview as a whole.

    They are the person's own, or everybody's with ``sees_all``: for people who may see all codings and do not code.
    """
    return _read(IN_INTERVIEW, interview_id, user_id, sees_all=sees_all)


def _read(sql: str, place_id: int, user_id: int, *, sees_all: bool) -> dict[int | None, SentenceAnnotations]:
    own = [user_id, place_id]
    with connection.cursor() as cursor:
        cursor.execute(sql, [user_id, sees_all, place_id] * 3 + own * 2 + [user_id, sees_all, place_id] * 2)
        rows: list[tuple[Any, ...]] = sorted(cursor.fetchall(), key=lambda row: row[2])
    found: dict[int | None, SentenceAnnotations] = {}
    views: dict[tuple[int, str], CodingView] = {}
    links: dict[tuple[int, str], list[LinkView]] = {}
    opened: dict[int, Any] = {}
    for what, sentence_id, _, idempotency_key, person_id, username, *rest in rows:
        if what == "reasoning":
            opened[person_id] = rest[-1]
            continue
        if what == "link":
            links.setdefault((person_id, _write_uuid(idempotency_key)), []).append(_build_link_view(*rest))
            continue
        marks = found.setdefault(sentence_id, SentenceAnnotations())
        person = "" if person_id == user_id else username
        if what == "coding":
            view = _build_coding_view(_write_uuid(idempotency_key), person, *rest)
            views[person_id, view.idempotency_key] = view
            marks.chips.append(view)
        elif what == "memo":
            marks.memos.append(MemoView(person, rest[7], rest[11]))
        elif what == "revealed":
            marks.is_revealed = True
        elif what == "opened":
            marks.is_opened = True
        elif what == "condition":
            marks.is_condition_known = True
        else:
            marks.decisions.append(DecisionView(_write_uuid(idempotency_key), person, what == "none applies"))
    for key, own_links in links.items():
        views[key].links = own_links
    for (person_id, _), view in views.items() if opened else ():
        view.saw_reasoning = saw_reasoning(opened, person_id, view.made_at)
    return found


def _build_link_view(*rest: Any) -> LinkView:
    identifier, name, suffix, kind, position = rest[0], rest[1], rest[4], rest[7], rest[10]
    sentence, interview, quote_at, quote = rest[11], rest[12], rest[-3], rest[-2]
    number = f"{position}{suffix}" if sentence else ""
    return LinkView(kind, identifier, name, sentence, number, interview, quote_at, quote or "")


def _build_coding_view(idempotency_key: str, coder: str, *rest: Any) -> CodingView:
    *plain, attributes, carries_enactment, range_id, reason, quote_at, quote, made_at = rest
    made_readable = (
        read_json(attributes),
        bool(carries_enactment),
        _write_uuid(range_id),
        reason,
        quote_at,
        quote or "",
        made_at,
    )
    return CodingView(idempotency_key, coder, *plain, *made_readable)  # type: ignore[call-arg]


def _write_uuid(value: UUID | str | None) -> str:
    """32 hexadecimal digits; SQLite keeps them as such."""
    return value.hex if isinstance(value, UUID) else value or ""
