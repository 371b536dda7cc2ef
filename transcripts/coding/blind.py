"""Blind readings: coders' labels from before they saw anybody else's labels. Agreement is computed only from these.

A row is blind or not by what its coder could see. It counts as a blind reading while it is active, or if it was active when its
coder first saw others' labels there (a reveal of the sentence, an unblinding of the interview), because what she withdraws
after that was still her own reading. A coding that was migrated to another code counts under that code.

Everything is read as plain tuples into arrays, because a study with ten coders and 50,000 sentences has a million rows. This
module loads numpy, so pages import it inside functions.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from transcripts.codebook.models import CodeFamily
from transcripts.codebook.pure.comparing import follow_merges
from transcripts.studies.models import Study

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]

IN_PLACE = """
FROM corpus_sentence s JOIN corpus_turn t ON t.id = s.turn_id JOIN corpus_interview i ON i.id = t.interview_id
WHERE i.study_id = %s AND s.retired_by_id IS NULL AND t.channel <> 'tool_result' :interviews
"""
SENTENCES = """
SELECT s.id, t.id, i.id, CASE WHEN t.is_answer THEN 1 ELSE 0 END,
       CASE t.role WHEN 'model' THEN 1 WHEN 'interviewer' THEN 2 ELSE 0 END
:in_place ORDER BY i.id, t.position, s.start
"""
BLIND = """
x.blinding = 'blind' AND x.sentence_id IN (SELECT s.id :in_place)
AND (x.withdrawn_at IS NULL
  OR EXISTS (
    SELECT 1 FROM coding_reveal r
    WHERE r.sentence_id = x.sentence_id AND r.coder_id = x.coder_id AND r.revealed_at < x.withdrawn_at)
  OR EXISTS (
    SELECT 1 FROM coding_unblinding o
    JOIN corpus_turn ot ON ot.interview_id = o.interview_id JOIN corpus_sentence os ON os.turn_id = ot.id
    WHERE os.id = x.sentence_id AND o.user_id = x.coder_id AND o.unblinded_at < x.withdrawn_at))
"""
DECISIONS = "SELECT x.sentence_id, x.coder_id FROM coding_decision x WHERE :blind :more"
CODINGS = """
SELECT x.sentence_id, x.coder_id, x.code_id FROM coding_coding x
WHERE :blind AND (x.superseded_by_id IS NULL
  OR NOT EXISTS (SELECT 1 FROM coding_coding n WHERE n.id = x.superseded_by_id AND n.migrated_from_id = x.id))
"""
CODES = """
SELECT c.id, c.identifier, f.identifier, f.unit, f.applies_to, v.number
FROM codebook_code c JOIN codebook_codefamily f ON f.id = c.family_id JOIN codebook_codebookversion v ON v.id = c.version_id
WHERE v.study_id = %s AND v.status = 'published'
ORDER BY v.number
"""
CHANGES = """
SELECT h.kind, h.from_identifier, h.to_identifier
FROM codebook_codechange h JOIN codebook_codebookversion v ON v.id = h.version_id
WHERE v.study_id = %s AND v.status = 'published' AND h.kind IN ('merged', 'split')
ORDER BY v.number, h.id
"""

# The numbers for roles of turns in ``BlindLabels.roles``.
SIDES = {CodeFamily.AppliesTo.MODEL.value: 1, CodeFamily.AppliesTo.INTERVIEWER.value: 2}


class VersionSpan(NamedTuple):
    """Codebook versions from ``first`` to ``last``, and the period in which people coded with them."""

    first: int
    last: int
    since: datetime.datetime | None
    until: datetime.datetime | None


class UsedCode(NamedTuple):
    """A code of some published version in its present form: a merged code is the one it was merged into.

    An identifier means the same code in all versions and belongs to one family, that of the latest version that has it.
    ``is_split``: the code was split, and which of the parts a coder meant is not known.
    """

    identifier: str
    family: str
    unit: str
    applies_to: str
    version: int
    is_split: bool


class BlindTable(NamedTuple):
    """The blind readings of one family at its unit.

    ``unit_ids``: numbers of sentences, turns or interviews; ``sentence_ids``: the sentence at which each begins;
    ``turn_ids``: the cluster of each (of an interview, its first turn). ``coders``: numbers of persons. ``decided``:
    coders x units. ``labels``: codes x coders x units, never true where not decided.

    A unit is decided by a code of the family or by the coder's decisions: for a sentence its own decision, for a turn those of
    all its sentences, for an interview those of all sentences of the model. Nobody is asked to decide the interviewer's turns:
    for their codes, a turn is decided when the coder has decided the whole answer that follows. Turns that the family is not
    for are never decided.
    """

    unit: str
    unit_ids: Numbers
    sentence_ids: Numbers
    turn_ids: Numbers
    interview_ids: Numbers
    coders: tuple[int, ...]
    codes: tuple[str, ...]
    decided: Bools
    labels: Bools

    def find_differing(self) -> Numbers:
        """The places of the units that two or more coders decided and labelled differently."""
        deciders, yes = self.decided.sum(axis=0), self.labels.sum(axis=1)
        return np.flatnonzero(((yes > 0) & (yes < deciders)).any(axis=0))

    def list_readings(self, place: int) -> dict[int, tuple[str, ...]]:
        """The coders who decided the unit at ``place``, with the codes each applied."""
        return {
            coder: tuple(code for code, has in zip(self.codes, self.labels[:, row, place], strict=True) if has)
            for row, coder in enumerate(self.coders)
            if self.decided[row, place]
        }


class BlindLabels(NamedTuple):
    """All blind readings of a study or of some of its interviews, sentence by sentence.

    ``roles``: of the sentences' turns, as in ``SIDES``, 0 for others. ``decisions``: coders x sentences, whether the coder
    decided the sentence. ``codings``: rows of the place of the sentence, the place of the coder and the number of the code.
    """

    sentence_ids: Numbers
    turn_ids: Numbers
    interview_ids: Numbers
    is_answer: Bools
    roles: Numbers
    coders: tuple[int, ...]
    decisions: Bools
    codings: Numbers
    codes: dict[int, UsedCode]
    span: VersionSpan | None

    def arrange(self, family: str, unit: str, codes: Sequence[str]) -> BlindTable:
        """The readings of one family as a table over its unit, with the requested codes."""
        places, first = self._place_units(unit)
        side = self.find_side(family) if unit != CodeFamily.Unit.INTERVIEW else ""
        decisions = self.decide_questions() if side == CodeFamily.AppliesTo.INTERVIEWER else self.decisions
        size = len(self.coders), len(first)
        counted = self.is_answer if unit == CodeFamily.Unit.INTERVIEW else np.ones(len(places), dtype=bool)
        needed = np.bincount(places[counted], minlength=size[1])
        decided = np.zeros(size, dtype=bool)
        for row, through in enumerate(decisions):
            decided[row] = (np.bincount(places[through & counted], minlength=size[1]) >= needed) & (needed > 0)
        labels, is_coded, is_foreign = self._label(family, unit, codes, places, size)
        decided = (decided | is_coded) & ~is_foreign
        if side in SIDES:
            decided &= self.roles[first] == SIDES[side]
        return BlindTable(
            unit,
            {"turn": self.turn_ids, "interview": self.interview_ids}.get(unit, self.sentence_ids)[first],
            self.sentence_ids[first],
            self.turn_ids[first],
            self.interview_ids[first],
            self.coders,
            tuple(codes),
            decided,
            labels & decided,
        )

    def find_side(self, family: str) -> str:
        """Whose turns the codes of a family are about, by the latest version that has it."""
        sides = {code.version: code.applies_to for code in self.codes.values() if code.family == family}
        return sides[max(sides)] if sides else CodeFamily.AppliesTo.ANY.value

    def decide_questions(self) -> Bools:
        """``decisions`` with the interviewer's sentences added: such a sentence is decided if the coder has decided every sentence
        of the answer, up to the interviewer's next turn, and there is at least one."""
        asks = self.roles == SIDES[CodeFamily.AppliesTo.INTERVIEWER.value]
        # Exchanges are numbered: one begins with each interview, and wherever the interviewer speaks after somebody else.
        begins = np.ones(len(asks), dtype=bool)
        begins[1:] = (self.interview_ids[1:] != self.interview_ids[:-1]) | (asks[1:] & ~asks[:-1])
        exchange = np.cumsum(begins) - 1
        size = int(exchange[-1]) + 1 if len(exchange) else 0
        needed = np.bincount(exchange[self.is_answer], minlength=size)
        found = self.decisions.copy()
        for row, through in enumerate(self.decisions):
            done = np.bincount(exchange[self.is_answer & through], minlength=size)
            found[row] |= asks & ((done >= needed) & (needed > 0))[exchange]
        return found

    def _place_units(self, unit: str) -> tuple[Numbers, Numbers]:
        """For each sentence the place of its unit, and for each unit the place of its first sentence."""
        if unit == CodeFamily.Unit.SENTENCE:
            every = np.arange(len(self.sentence_ids))
            return every, every
        keys = self.turn_ids if unit == CodeFamily.Unit.TURN else self.interview_ids
        _, first, places = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return np.argsort(order)[places.reshape(-1)], first[order]

    def _label(
        self, family: str, unit: str, codes: Sequence[str], places: Numbers, size: tuple[int, int]
    ) -> tuple[Bools, Bools, Bools]:
        """Labels by code; the units with any code of the family; the units whose reading is unknown because of a split code."""
        labels = np.zeros((len(codes), *size), dtype=bool)
        is_coded, is_foreign = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        row_of = {code: row for row, code in enumerate(codes)}
        sentences, coders, used = self.codings.T
        for number in np.unique(used):
            code = self.codes[int(number)]
            if (code.family, code.unit) != (family, unit):
                continue
            chosen = used == number
            where = coders[chosen], places[sentences[chosen]]
            if code.is_split or (self.span and not self.span.first <= code.version <= self.span.last):
                is_foreign[where] = True
                continue
            is_coded[where] = True
            if code.identifier in row_of:
                labels[row_of[code.identifier]][where] = True
        return labels, is_coded, is_foreign


def read_blind(
    study: Study, *, interviews: Collection[int] | None = None, span: VersionSpan | None = None
) -> BlindLabels:
    """The blind readings of the study, or of some interviews; with ``span`` those made under its versions.

    A coder's reading of a unit counts within a span only if all her codes of the family there were applied under it. Five
    queries.
    """
    condition, numbers = "", [study.pk]
    if interviews is not None:
        if not interviews:
            condition = "AND 1 = 0"
        else:
            condition = f"AND i.id IN ({', '.join(['%s'] * len(interviews))})"
            numbers += sorted(interviews)
    in_place, (more, moments) = IN_PLACE.replace(":interviews", condition), _limit(span)
    blind = BLIND.replace(":in_place", in_place)
    sentences = _fetch(SENTENCES.replace(":in_place", in_place), numbers, columns=5)
    decided = _fetch(DECISIONS.replace(":blind", blind).replace(":more", more), [*numbers, *moments], columns=2)
    coded = _fetch(CODINGS.replace(":blind", blind), numbers, columns=3)
    coders = np.union1d(decided[:, 1], coded[:, 1])
    order = np.argsort(sentences[:, 0])
    for rows in (decided, coded):
        rows[:, 0] = order[np.searchsorted(sentences[order, 0], rows[:, 0])]
        rows[:, 1] = np.searchsorted(coders, rows[:, 1])
    decisions = np.zeros((len(coders), len(sentences)), dtype=bool)
    decisions[decided[:, 1], decided[:, 0]] = True
    return BlindLabels(
        sentences[:, 0],
        sentences[:, 1],
        sentences[:, 2],
        sentences[:, 3].astype(bool),
        sentences[:, 4],
        tuple(map(int, coders)),
        decisions,
        coded,
        _read_codes(study),
        span,
    )


def _read_codes(study: Study) -> dict[int, UsedCode]:
    with connection.cursor() as cursor:
        cursor.execute(CODES, [study.pk])
        rows = cursor.fetchall()
        cursor.execute(CHANGES, [study.pk])
        changes = cursor.fetchall()
    latest = {identifier: family for _, identifier, family, *_ in rows}
    newest = max((version for *_, version in rows), default=0)
    current = {identifier for _, identifier, *_, version in rows if version == newest}
    into = {old: new for kind, old, new in changes if kind == "merged" and old not in current}
    parted = {old for kind, old, _ in changes if kind == "split"} - current
    found = {}
    for pk, identifier, _, unit, applies_to, version in rows:
        now = follow_merges(identifier, into)
        found[pk] = UsedCode(now, latest.get(now, ""), unit, applies_to, version, now in parted)
    return found


def _limit(span: VersionSpan | None) -> tuple[str, list[datetime.datetime]]:
    """The condition that a decision was made while one of the versions was current."""
    bounds = [] if span is None else [(">=", span.since), ("<", span.until)]
    used = [(sign, moment) for sign, moment in bounds if moment is not None]
    return " ".join(f"AND x.created_at {sign} %s" for sign, _ in used), [moment for _, moment in used]


def _fetch(sql: str, parameters: Sequence[Any], *, columns: int) -> Numbers:
    """The rows of a query of whole numbers as an array, without a list of tuples in between."""
    values = [
        moment if not isinstance(moment, datetime.datetime) else connection.ops.adapt_datetimefield_value(moment)
        for moment in parameters
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found = np.fromiter(chain.from_iterable(cursor.fetchall()), dtype=np.int64)
    return found.reshape(-1, columns)
