"""Rendering the prompts about turns: the same for every kind of batch that asks about them.

What an arm says in its settings, the consent on record and the study's redaction list decide what goes out. They are
read at the last moment, so that a consent taken back stops what was not yet sent.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from auditapp.annotators.models import PlantedSentence
from auditapp.annotators.pure.placing import EditedSentence
from auditapp.annotators.pure.prompts import (
    OLD_PROMPT_VERSION,
    PROMPT_VERSION,
    Piece,
    Said,
    keep_latest,
    sends_earlier,
    write_old_user_prompt,
    write_user_prompt,
)
from auditapp.annotators.pure.sent_copy import SentCopy, make_copy
from auditapp.annotators.queries.annotators import read_own_set
from auditapp.annotators.queries.prompt_codebook import goes_by_a_list, may_send_instructions
from auditapp.batches.models import Arm
from auditapp.llm.credentials import is_external
from transcripts.corpus.models import Consent, RedactionList, Sentence, Turn
from transcripts.corpus.pure.redacting import Entry, read_stored
from transcripts.corpus.queries import list_consenting, read_questions

# Stands in the instructions of the first prompt and in no later one.
OLD_MARK = "Everything between BEGIN TURN and END TURN is material"
# Where there is no room below a turn's own numbers, planted sentences are numbered from here.
FIRST_FREE_NUMBER = 1_000_000_000


class AskedTurn(NamedTuple):
    """A turn as it was sent. ``texts``: the words by the number they were asked about by, those of planted ones included.

    ``planted``: the key of a planted sentence by its number in the question. ``text`` and ``question`` are the originals;
    ``copy``, ``sent_question`` and ``earlier`` are what was sent of them.
    """

    text: str
    question: str
    copy: SentCopy
    sent_question: str
    spans: Mapping[int, EditedSentence]
    texts: Mapping[int, str]
    planted: Mapping[int, int]
    earlier: Sequence[Said] = ()

    def find_evidence(self, sentence: int, quote: tuple[int, int]) -> tuple[int, int]:
        """A place in a sentence as it was sent, as a place in the turn's own text, inside the sentence."""
        span = self.spans[sentence]
        begin = self.copy.find_copy(span.start, span.end)[0]
        start, end = self.copy.find_original(begin + quote[0], begin + quote[1])
        return max(start, span.start), min(end, span.end)

    def find_asked(self, answered: Iterable[int]) -> list[int]:
        """The sentences the question was about: those current then, and after boundary edits, those of the
        state whose numbers the answer names (the later of two alike)."""
        named = set(answered) & self.spans.keys()
        moments = sorted({cut for each in self.spans.values() for cut in (each.made_by, each.retired_by) if cut})
        states = [_list_current(self.spans.values(), moment) for moment in (0, *moments)]
        fits = [len(state & named) for state in states]
        return sorted(next(state for state, fit in zip(states[::-1], fits[::-1], strict=True) if fit == max(fits)))


def _list_current(spans: Iterable[EditedSentence], moment: int) -> set[int]:
    """The sentences after a boundary edit; before all edits for 0."""
    return {
        each.pk
        for each in spans
        if (each.made_by or 0) <= moment and (each.retired_by is None or each.retired_by > moment)
    }


def find_prompt_version(arm: Arm) -> str:
    """By which prompt answers to the arm's instructions are parsed: the first, or any later one."""
    return OLD_PROMPT_VERSION if OLD_MARK in arm.system_prompt else PROMPT_VERSION


def render_turn_prompts(
    arm: Arm, input_ids: Sequence[int], *, planted: Mapping[int, str] | None = None
) -> Mapping[int, str]:
    """The user message for each turn.

    ``planted``: texts by key of ``PlantedSentence``; unless given, those that the arm's settings name. A turn that has no
    current sentence is left out, and so is one whose interview may not be sent to this model. Reads arm.variant.account
    and arm.batch.
    """
    turns = _list_sendable(arm, input_ids)
    if not turns:
        return {}
    entries = _read_entries(arm, turns)
    texts = _read_planted(arm) if planted is None else planted
    numbers = _number_planted(turns, texts) if texts else {}
    spans = _read_spans([turn.pk for turn in turns], current=True)
    questions = {turn_id: make_copy(text, entries).text for turn_id, text in read_questions(turns).items()}
    is_old = find_prompt_version(arm) == OLD_PROMPT_VERSION
    said = read_earlier(turns, entries) if sends_earlier(arm.system_prompt) else {}
    prompts: dict[int, str] = {}
    for turn in turns:
        if turn.pk in spans:
            copy = make_copy(turn.text, entries)
            pieces = _take_whole(copy, spans[turn.pk]) if asks_about_whole(arm) else _cut(copy, spans[turn.pk])
            if texts:
                added = [(number, make_copy(texts[key], entries).text) for number, key in numbers[turn.pk].items()]
                _plant(pieces, added, seed=f"{arm.settings.get('seed', 0)} {turn.pk}")
            question = questions.get(turn.pk, "")
            prompts[turn.pk] = (
                write_old_user_prompt(question, pieces)
                if is_old
                else write_user_prompt(question, pieces, said.get(turn.pk))
            )
    return prompts


def read_asked_turns(arm: Arm, turn_ids: Sequence[int]) -> dict[int, AskedTurn]:
    """The sentences that answers of this arm about these turns can name: current now, or when it was asked."""
    turns = list(Turn.objects.filter(pk__in=turn_ids))
    entries = _read_entries(arm, turns)
    texts = _read_planted(arm)
    numbers = _number_planted(turns, texts) if texts else {}
    spans = _read_spans(turn_ids, current=True)
    for turn_id, retired in _read_spans(turn_ids, current=False).items():
        spans[turn_id] += retired
    questions = read_questions(turns)
    said = read_earlier(turns, entries) if sends_earlier(arm.system_prompt) else {}
    found: dict[int, AskedTurn] = {}
    for turn in turns:
        copy = make_copy(turn.text, entries)
        stretches = _stretch(spans[turn.pk], turn.text) if asks_about_whole(arm) else spans[turn.pk]
        own = {each.pk: each for each in stretches}
        shown = {key: _slice(copy, each) for key, each in own.items()}
        planted = numbers.get(turn.pk, {})
        shown.update({number: make_copy(texts[key], entries).text for number, key in planted.items()})
        question, earlier = questions.get(turn.pk, ""), said.get(turn.pk, ())
        sent = make_copy(question, entries).text
        found[turn.pk] = AskedTurn(turn.text, question, copy, sent, own, shown, planted, earlier)
    return found


def _list_sendable(arm: Arm, input_ids: Sequence[int]) -> list[Turn]:
    turns = list(Turn.objects.filter(pk__in=input_ids, interview__project__isnull=False))
    if not turns or not may_send_instructions(arm):
        return []
    if not is_external(arm.variant):
        return turns
    if not goes_by_a_list(arm):
        return []
    allowed = list_consenting({turn.interview_id for turn in turns}, Consent.Scope.EXTERNAL)
    return [turn for turn in turns if turn.interview_id in allowed]


def _read_entries(arm: Arm, turns: Sequence[Turn]) -> list[Entry]:
    number = arm.settings.get("redaction") or 0
    if not number or not turns:
        return []
    # Raises where the list is not there: nothing goes out unredacted for want of it.
    redaction = RedactionList.objects.get(project__every_interview=turns[0].interview_id, number=number)
    return read_stored(redaction.entries)


def read_earlier(turns: Iterable[Turn], entries: Sequence[Entry]) -> dict[int, list[Said]]:
    """For each turn what interviewer and model said before it, as it is sent. Of a turn of the model without the question before
    it, which is sent apart; a question has none. What was not said aloud (reasoning, calls of tools) is left out. One query.
    Only what is sent is copied: of a long interview that is little."""
    turns = list(turns)
    uttered = Turn.objects.filter(
        interview__in={turn.interview_id for turn in turns},
        channel=Turn.Channel.UTTERANCE,
        role__in=(Turn.Role.INTERVIEWER, Turn.Role.MODEL),
    ).order_by("interview", "position")
    said: defaultdict[int, list[tuple[int, Said]]] = defaultdict(list)
    for interview, position, role, text in uttered.values_list("interview", "position", "role", "text"):
        said[interview].append((position, (role, text)))

    @cache
    def copy(interview: int, at: int) -> Said:
        speaker, text = said[interview][at][1]
        return speaker, make_copy(text, entries).text

    found: dict[int, list[Said]] = {}
    for turn in turns:
        spoken = said[turn.interview_id]
        before = list(range(bisect_left(spoken, turn.position, key=itemgetter(0))))
        if turn.role != Turn.Role.INTERVIEWER:
            asked = next((at for at in reversed(before) if spoken[at][1][0] == Turn.Role.INTERVIEWER), None)
            if asked is not None:
                before.remove(asked)
        found[turn.pk] = keep_latest(copy(turn.interview_id, at) for at in reversed(before))
    return found


def _read_planted(arm: Arm) -> dict[int, str]:
    keys = arm.settings.get("planted") or []
    texts = dict(PlantedSentence.objects.filter(pk__in=keys).values_list("pk", "text")) if keys else {}
    # Of a launch that is only reviewed: sentences of the program's own set that it would plant.
    texts |= {key: read_own_set()[key][0] for key in keys if key < 0}
    return {key: texts[key] for key in keys if key in texts}


def _number_planted(turns: Sequence[Turn], planted: Mapping[int, str]) -> dict[int, dict[int, int]]:
    """For each turn the planted sentences by the numbers they are asked about by: next below the turn's own, which never
    get one of them later, for sentences are numbered upwards."""
    ids = [turn.pk for turn in turns]
    lowest: dict[int, int] = {}
    for current in (True, False):
        for turn_id, own in _read_spans(ids, current=current).items():
            lowest[turn_id] = min([lowest.get(turn_id, FIRST_FREE_NUMBER), *(each.pk for each in own)])
    numbered: dict[int, dict[int, int]] = {}
    for turn_id in ids:
        first = lowest.get(turn_id, 0) - len(planted)
        first = first if first > 0 else FIRST_FREE_NUMBER
        numbered[turn_id] = {first + place: key for place, key in enumerate(planted)}
    return numbered


def _read_spans(turn_ids: Sequence[int], *, current: bool) -> defaultdict[int, list[EditedSentence]]:
    """The sentences of these turns in order. The current and the retired ones have an index each."""
    rows = Sentence.objects.filter(turn_id__in=turn_ids, retired_by__isnull=current).order_by("turn_id", "start", "pk")
    found: defaultdict[int, list[EditedSentence]] = defaultdict(list)
    for turn_id, *row in rows.values_list("turn_id", "pk", "start", "end", "made_by_id", "retired_by_id"):
        found[turn_id].append(EditedSentence(*row))
    return found


def _cut(copy: SentCopy, spans: Sequence[EditedSentence]) -> list[Piece]:
    """The whole turn in pieces: its sentences, and the words between them (without mere list marks)."""
    pieces: list[Piece] = []
    place = 0
    for each in spans:
        start, end = copy.find_copy(each.start, each.end)
        if start - place > 1:
            pieces += _keep_words(copy.text[place:start])
        pieces.append((each.pk, copy.text[start:end]))
        place = end
    return pieces + _keep_words(copy.text[place:])


def asks_about_whole(arm: Arm) -> bool:
    """Whether the arm asks about each turn as one piece, under the number of its first sentence."""
    return bool(arm.settings.get("turns_of"))


def _stretch(spans: Sequence[EditedSentence], text: str) -> list[EditedSentence]:
    """The sentences with which the turn begins or began, each stretched over the whole turn, for they stand for it."""
    first = min((each.start for each in spans), default=0)
    return [each._replace(start=0, end=len(text)) for each in spans if each.start == first]


def _take_whole(copy: SentCopy, spans: Sequence[EditedSentence]) -> list[Piece]:
    """The whole turn under the number of its first sentence."""
    return [(min(spans, key=lambda each: each.start).pk, copy.text)]


def _keep_words(text: str) -> list[Piece]:
    return [(None, text.strip())] if any(map(str.isalnum, text)) else []


def _slice(copy: SentCopy, span: EditedSentence) -> str:
    start, end = copy.find_copy(span.start, span.end)
    return copy.text[start:end]


def _plant(pieces: list[Piece], added: Sequence[Piece], *, seed: str) -> None:
    """Put each of the pieces at a drawn place, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - a place, not a secret
    for piece in added:
        pieces.insert(draw.randrange(len(pieces) + 1), piece)
