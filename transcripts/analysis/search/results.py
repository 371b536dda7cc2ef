"""The data shown for the sentences on one page of results: their context, and the labels that the viewer may see."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from transcripts.accounts.models import User
from transcripts.analysis.search.pure.words import EVERYBODY, OWN, Term, mark
from transcripts.analysis.search.queries import Catalog, Visibility
from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Coding, Level
from transcripts.coding.values import read_json
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.corpus.queries import read_questions
from transcripts.studies.models import Study
from transcripts.studies.roles import ROLES, Permission

NEIGHBOURS = 2
# Characters; longer texts are cut here and can be read at the desk.
MAX_SHOWN = 3_000
CHIPS = """
SELECT c.sentence_id, k.name, f.identifier, f.unit, c.level, c.enactment, u.username, c.coder_id,
       CAST(k.attributes AS text), CAST(c.attributes AS text)
FROM coding_coding c
JOIN codebook_code k ON k.id = c.code_id
JOIN codebook_codefamily f ON f.id = k.family_id
JOIN accounts_user u ON u.id = c.coder_id
WHERE c.withdrawn_at IS NULL AND c.sentence_id IN ({places}) {whose}
ORDER BY c.id
"""
DECISIONS = """
SELECT d.sentence_id, u.username, d.coder_id
FROM coding_decision d JOIN accounts_user u ON u.id = d.coder_id
WHERE d.withdrawn_at IS NULL AND d.none_applies AND d.sentence_id IN ({places}) {whose}
ORDER BY d.id
"""
MEMOS = """
SELECT m.sentence_id, m.text
FROM coding_memo m
WHERE m.withdrawn_at IS NULL AND m.author_id = %s AND m.sentence_id IN ({places})
"""
CODING_ROLES = [key for key, role in ROLES.items() if Permission.CODE in role.permissions]


@dataclass(frozen=True, slots=True)
class Chip:
    """A coding as results show it; ``coder`` is empty for the viewer's own, ``name`` for "none applies".

    ``answers`` are its answers to the questions of its code: question and answer.
    """

    name: str
    family: str
    of_turn: bool
    is_latent: bool
    enactment: str
    coder: str
    answers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A sentence next to the one that was found, in the same turn."""

    label: str
    text: str


@dataclass(slots=True)
class Result:
    """A sentence that was found, as it is shown."""

    sentence: Sentence
    pieces: list[tuple[str, bool]]
    is_cut: bool
    is_closed: bool = False
    chips: list[Chip] = field(default_factory=list)
    memo: str = ""
    question: str = ""
    before: list[Neighbour] = field(default_factory=list)
    after: list[Neighbour] = field(default_factory=list)

    @property
    def turn(self) -> Turn:
        return self.sentence.turn

    @property
    def interview(self) -> Interview:
        return self.turn.interview

    @property
    def speaker(self) -> str:
        """Who says it, in words."""
        role = self.turn.get_role_display()
        if self.turn.channel == Turn.Channel.UTTERANCE:
            return role
        tool = f" {self.turn.speaker}" if self.turn.speaker and self.turn.channel != Turn.Channel.REASONING else ""
        return f"{role}, {self.turn.get_channel_display().lower()}{tool}"

    @property
    def place(self) -> str:
        """Its address on the desk of its interview. The result of a tool has no row there, but its turn has one."""
        if self.turn.channel == Turn.Channel.TOOL_RESULT:
            return f"#turn-{self.turn.position}"
        return f"?at={self.sentence.pk}#s{self.sentence.pk}"


def build_results(ids: Sequence[int], terms: Sequence[Term], visibility: Visibility, viewer_id: int) -> list[Result]:
    """What is shown of these sentences, in their order: seven queries, however many they are."""
    sentences = Sentence.objects.select_related("turn__interview").in_bulk(ids)
    results = [_start(sentences[pk], terms, visibility) for pk in ids if pk in sentences]
    hidden = {pk for pk, sentence in sentences.items() if sentence.turn.interview_id in visibility.hidden}
    chips, memos = _read_chips(ids, hidden, visibility, viewer_id), _read_memos(ids, viewer_id)
    questions = read_questions({result.turn.pk: result.turn for result in results}.values())
    beside = _read_turns({result.turn.pk for result in results})
    for result in results:
        pk = result.sentence.pk
        result.chips, result.memo = chips.get(pk, []), memos.get(pk, "")
        result.question = questions.get(result.turn.pk, "")[:MAX_SHOWN]
        _set_neighbours(result, beside[result.turn.pk])
    return results


def _start(sentence: Sentence, terms: Sequence[Term], visibility: Visibility) -> Result:
    if sentence.turn_id in visibility.closed:
        return Result(sentence, [], is_cut=False, is_closed=True)
    text = sentence.read_text()
    return Result(sentence, mark(text[:MAX_SHOWN], terms), is_cut=len(text) > MAX_SHOWN)


def _set_neighbours(result: Result, sentences: list[Sentence]) -> None:
    place = next((n for n, other in enumerate(sentences) if other.pk == result.sentence.pk), None)
    if place is None or result.is_closed:
        return
    text = result.turn.text
    result.before, result.after = (
        [Neighbour(each.label, text[each.start : each.end][:MAX_SHOWN]) for each in part]
        for part in (sentences[max(place - NEIGHBOURS, 0) : place], sentences[place + 1 : place + 1 + NEIGHBOURS])
    )


def _read_turns(turn_ids: Iterable[int]) -> dict[int, list[Sentence]]:
    """The sentences of these turns, in order."""
    sentences = Sentence.objects.current().filter(turn__in=list(turn_ids)).order_by("turn", "start")
    fields = sentences.only("turn", "position", "suffix", "start", "end")
    return defaultdict(list, {turn: list(group) for turn, group in groupby(fields, key=lambda each: each.turn_id)})


def _read_chips(
    ids: Sequence[int], hidden: Collection[int], visibility: Visibility, viewer_id: int
) -> dict[int, list[Chip]]:
    """The selected people's labels on these sentences, without others' labels on the ``hidden`` sentences."""
    found: dict[int, list[Chip]] = defaultdict(list)
    for pk, name, family, unit, level, enactment, username, coder_id, *asked in _read(
        CHIPS, "c.coder_id", ids, visibility
    ):
        if coder_id == viewer_id or pk not in hidden:
            coder = "" if coder_id == viewer_id else username
            is_latent = level == Level.LATENT
            found[pk].append(Chip(name, family, unit != "sentence", is_latent, enactment, coder, _pair(*asked)))
    for pk, username, coder_id in _read(DECISIONS, "d.coder_id", ids, visibility):
        if coder_id == viewer_id or pk not in hidden:
            found[pk].append(Chip("", "", False, False, "", "" if coder_id == viewer_id else username))
    return found


def _pair(questions: str, answers: str) -> tuple[tuple[str, str], ...]:
    """The answered questions of a coding's code, each with its answer."""
    given = read_json(answers)
    if not given:
        return ()
    return tuple((each["label"], given[each["key"]]) for each in json.loads(questions) if given.get(each["key"]))


def _read(sql: str, column: str, ids: Sequence[int], visibility: Visibility) -> list[tuple[Any, ...]]:
    if not ids:
        return []
    whose = f"AND {column} = %s" if visibility.coder_id is not None else ""
    values = [*ids, *([visibility.coder_id] if visibility.coder_id is not None else [])]
    with connection.cursor() as cursor:
        cursor.execute(sql.format(places=_places(ids), whose=whose), values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _read_memos(ids: Sequence[int], viewer_id: int) -> dict[int, str]:
    """The viewer's own memos on these sentences."""
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(MEMOS.format(places=_places(ids)), [viewer_id, *ids])
        return dict(cursor.fetchall())


def _places(ids: Sequence[int]) -> str:
    return ", ".join(["%s"] * len(ids))


def find_visibility(viewer: Viewer, coder: str) -> Visibility:
    """The coder meant by the requested ``coder``; the forms check whose codings a person may request."""
    if coder == OWN or not viewer.sees_all:
        return Visibility(viewer.user_id, closed=viewer.closed_turns)
    coder_id = None if coder == EVERYBODY else User.objects.get(username=coder).pk
    return Visibility(coder_id, viewer.hidden_interviews, viewer.closed_turns)


def list_coders(study: Study, catalog: Catalog) -> list[str]:
    """The names of people who code or have coded in the study."""
    codes = [pk for ids in catalog.ids.values() for pk in ids]
    coded = Exists(Coding.objects.filter(coder=OuterRef("pk"), code__in=codes))
    coders = User.objects.filter(Q(memberships__study=study, memberships__role__in=CODING_ROLES) | coded)
    return list(coders.distinct().order_by("username").values_list("username", flat=True))
