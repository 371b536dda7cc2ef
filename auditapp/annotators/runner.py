"""Writing the prompts about turns, in the same way for every kind of batch that asks about them.

The settings of an arm, the recorded consent and the study's redaction list determine what is sent. They are read at the last
moment, so that a withdrawn consent stops everything that was not yet sent.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from auditapp.annotators.models import (
    CHECK_KIND,
    KIND,
    Annotator,
    CheckAnswer,
    ControlSentence,
    Suggestion,
    TurnAnswer,
    Understood,
)
from auditapp.annotators.pure.answers import (
    ParsedAnswer,
    Proposal,
    list_annotator_alarms,
    parse_response,
    read_numbers,
    write_answer_schema,
)
from auditapp.annotators.pure.prompts import (
    Piece,
    Said,
    asks_for_enactment,
    asks_for_level,
    keep_latest,
    sends_earlier,
    write_user_prompt,
)
from auditapp.annotators.pure.sent_copy import SentCopy, find_instructions, make_copy
from auditapp.annotators.queries.annotators import goes_by_a_list, may_send_instructions, read_own_set
from auditapp.annotators.withholding import find_turn_visibility, list_read_interviews
from auditapp.batches.kinds import ANSWER_SCHEMA, Answered, ArmOutcomes, BatchKind, Visibility, alarm_by_model
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.llm.credentials import is_external
from auditapp.llm.models import Capabilities
from auditapp.llm.pure.json_answers import Judged
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code
from transcripts.corpus.models import Consent, RedactionList, Sentence, Turn
from transcripts.corpus.pure.boundaries import EditedSentence
from transcripts.corpus.pure.redacting import Entry, read_stored
from transcripts.corpus.queries import list_consenting, read_questions

# Where there is no room below a turn's own numbers, control sentences are numbered from here.
FIRST_FREE_NUMBER = 1_000_000_000


class AskedTurn(NamedTuple):
    """A turn as it was sent. ``texts``: the words of each sentence, by its number in the question, including control
    sentences.

    ``controls``: the key of a control sentence by its number in the question. ``text`` and ``question`` are the originals;
    ``copy``, ``sent_question`` and ``earlier`` are the copies that were sent.
    """

    text: str
    question: str
    copy: SentCopy
    sent_question: str
    spans: Mapping[int, EditedSentence]
    texts: Mapping[int, str]
    controls: Mapping[int, int]
    earlier: Sequence[Said] = ()

    def find_evidence(self, sentence: int, quote: tuple[int, int]) -> tuple[int, int]:
        """A position in a sentence as it was sent, converted to a position in the turn's own text, inside the sentence."""
        span = self.spans[sentence]
        begin = self.copy.find_copy(span.start, span.end)[0]
        start, end = self.copy.find_original(begin + quote[0], begin + quote[1])
        return max(start, span.start), min(end, span.end)

    def find_asked(self, answered: Iterable[int]) -> list[int]:
        """The sentences that the question was about: those that were current then. After boundary edits, those of the state
        whose numbers the answer names; if two states fit, the later one."""
        named = set(answered) & self.spans.keys()
        moments = sorted({cut for each in self.spans.values() for cut in (each.made_by, each.retired_by) if cut})
        states = [_list_current(self.spans.values(), moment) for moment in (0, *moments)]
        fits = [len(state & named) for state in states]
        return sorted(next(state for state, fit in zip(states[::-1], fits[::-1], strict=True) if fit == max(fits)))


def _list_current(spans: Iterable[EditedSentence], moment: int) -> set[int]:
    """The sentences after a boundary edit; for 0, those before all edits."""
    return {
        each.pk
        for each in spans
        if (each.made_by or 0) <= moment and (each.retired_by is None or each.retired_by > moment)
    }


def render_turn_prompts(
    arm: Arm, input_ids: Sequence[int], *, controls: Mapping[int, str] | None = None
) -> Mapping[int, str]:
    """The user message for each turn.

    ``controls``: texts by key of ``ControlSentence``; if not given, those named in the arm's settings. A turn without a current
    sentence is left out, and so is a turn whose interview may not be sent to this model. Reads arm.variant.account and arm.batch.
    """
    turns = _list_sendable(arm, input_ids)
    if not turns:
        return {}
    entries = _read_entries(arm, turns)
    texts = _read_controls(arm) if controls is None else controls
    numbers = _number_controls(turns, texts) if texts else {}
    spans = _read_spans([turn.pk for turn in turns], current=True)
    questions = {turn_id: make_copy(text, entries).text for turn_id, text in read_questions(turns).items()}
    said = read_earlier(turns, entries) if sends_earlier(arm.system_prompt) else {}
    prompts: dict[int, str] = {}
    for turn in turns:
        if turn.pk in spans:
            copy = make_copy(turn.text, entries)
            pieces = _take_whole(copy, spans[turn.pk]) if asks_about_whole(arm) else _cut(copy, spans[turn.pk])
            if texts:
                added = [(number, make_copy(texts[key], entries).text) for number, key in numbers[turn.pk].items()]
                _plant(pieces, added, seed=f"{arm.settings.get('seed', 0)} {turn.pk}")
            prompts[turn.pk] = write_user_prompt(questions.get(turn.pk, ""), pieces, said.get(turn.pk))
    return prompts


def read_asked_turns(arm: Arm, turn_ids: Sequence[int]) -> dict[int, AskedTurn]:
    """The sentences that answers of this arm about these turns can name: those that are current now, or were current when the
    question was asked."""
    turns = list(Turn.objects.filter(pk__in=turn_ids))
    entries = _read_entries(arm, turns)
    texts = _read_controls(arm)
    numbers = _number_controls(turns, texts) if texts else {}
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
        controls = numbers.get(turn.pk, {})
        shown.update({number: make_copy(texts[key], entries).text for number, key in controls.items()})
        question, earlier = questions.get(turn.pk, ""), said.get(turn.pk, ())
        sent = make_copy(question, entries).text
        found[turn.pk] = AskedTurn(turn.text, question, copy, sent, own, shown, controls, earlier)
    return found


def _list_sendable(arm: Arm, input_ids: Sequence[int]) -> list[Turn]:
    turns = list(Turn.objects.filter(pk__in=input_ids, interview__study__isnull=False))
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
    redaction = RedactionList.objects.get(study__every_interview=turns[0].interview_id, number=number)
    return read_stored(redaction.entries)


def read_earlier(turns: Iterable[Turn], entries: Sequence[Entry]) -> dict[int, list[Said]]:
    """For each turn, what the interviewer and the model said before it, in the form in which it is sent. For a turn of the
    model, the question before it is not included, because it is sent separately. What was not said aloud (reasoning, tool calls)
    is left out. One query. Only what is sent is copied, which is little of a long interview."""
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


def _read_controls(arm: Arm) -> dict[int, str]:
    keys = arm.settings.get("controls") or []
    texts = dict(ControlSentence.objects.filter(pk__in=keys).values_list("pk", "text")) if keys else {}
    # Of a launch that is only reviewed: sentences of the program's own set that it would add.
    texts |= {key: read_own_set()[key][0] for key in keys if key < 0}
    return {key: texts[key] for key in keys if key in texts}


def _number_controls(turns: Sequence[Turn], controls: Mapping[int, str]) -> dict[int, dict[int, int]]:
    """For each turn, the control sentences by their numbers in the question: these are just below the turn's own numbers, so
    no sentence can get one of them later, because sentences are numbered upwards."""
    ids = [turn.pk for turn in turns]
    lowest: dict[int, int] = {}
    for current in (True, False):
        for turn_id, own in _read_spans(ids, current=current).items():
            lowest[turn_id] = min([lowest.get(turn_id, FIRST_FREE_NUMBER), *(each.pk for each in own)])
    numbered: dict[int, dict[int, int]] = {}
    for turn_id in ids:
        first = lowest.get(turn_id, 0) - len(controls)
        first = first if first > 0 else FIRST_FREE_NUMBER
        numbered[turn_id] = {first + place: key for place, key in enumerate(controls)}
    return numbered


def _read_spans(turn_ids: Sequence[int], *, current: bool) -> defaultdict[int, list[EditedSentence]]:
    """The sentences of these turns in order. Current and retired sentences each have an index."""
    rows = Sentence.objects.filter(turn_id__in=turn_ids, retired_by__isnull=current).order_by("turn_id", "start", "pk")
    found: defaultdict[int, list[EditedSentence]] = defaultdict(list)
    for turn_id, *row in rows.values_list("turn_id", "pk", "start", "end", "made_by_id", "retired_by_id"):
        found[turn_id].append(EditedSentence(*row))
    return found


def _cut(copy: SentCopy, spans: Sequence[EditedSentence]) -> list[Piece]:
    """The whole turn in pieces: its sentences, and the words between them (except for list marks alone)."""
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
    """The sentences with which the turn begins or once began, each extended over the whole turn, which they represent."""
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
    """Insert each of the pieces at a random place, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - a place, not a secret
    for piece in added:
        pieces.insert(draw.randrange(len(pieces) + 1), piece)


Outcome = Understood.Outcome


def parse_responses(
    batch: Batch, answers: Sequence[Answered]
) -> Iterator[tuple[TurnAnswer | CheckAnswer, list[Suggestion]]]:
    """For each received answer, the row to store and its suggestions. Writes nothing.

    The answer of an arm with a condition is a ``CheckAnswer``, which is not shown at the desk and has no suggestions.
    """
    by_arm: dict[int, list[Answered]] = defaultdict(list)
    for each in answers:
        if each.answer is not None:
            by_arm[each.arm_id].append(each)
    arms = list(batch.arms.filter(pk__in=by_arm))
    keys = {*batch.parameters.get("annotators", ()), *(arm.settings.get("annotator") for arm in arms)}
    annotators = list(Annotator.objects.filter(pk__in=keys - {None}).select_related("version"))
    # Several arms ask about one turn, and searching it is slow.
    find_flags = cache(find_instructions)
    for arm in arms:
        annotator = _find_annotator(arm, annotators)
        codes = read_codes(arm, annotator)
        turns = read_asked_turns(arm, [each.input_id for each in by_arm[arm.pk]])
        for each in by_arm[arm.pk]:
            turn = turns[each.input_id]
            row, suggestions = _parse(each, arm, annotator, codes, turn)
            if isinstance(row, TurnAnswer):
                sent = (f"{turn.question}\n\n{turn.text}", *(text for _, text in turn.earlier))
                row.flags = list(dict.fromkeys(flag for text in sent for flag in find_flags(text)))
            yield row, suggestions


def _find_annotator(arm: Arm, annotators: Iterable[Annotator]) -> Annotator:
    """The arm's annotator; for batches that did not record it, the annotator with the arm's model."""
    key = arm.settings.get("annotator")
    return next(each for each in annotators if (each.pk == key if key else each.variant_id == arm.variant_id))


def read_codes(arm: Arm, annotator: Annotator) -> dict[str, Code]:
    """The codes of the annotator's own version that an answer of this arm may name, by their name in its prompt."""
    codes = Code.objects.filter(version_id=annotator.version_id).select_related("family")
    chosen = arm.settings.get("codes")
    if chosen is None:
        codes = codes.filter(family__identifier=arm.settings.get("family") or arm.task)
    else:
        codes = codes.filter(identifier__in=chosen)
    found = {code.identifier: code for code in codes}
    renamed = {name: found[own] for name, own in (arm.settings.get("names") or {}).items() if own in found}
    return {own: code for own, code in found.items() if code not in renamed.values()} | renamed


def _parse(
    each: Answered, arm: Arm, annotator: Annotator, codes: Mapping[str, Code], turn: AskedTurn
) -> tuple[TurnAnswer | CheckAnswer, list[Suggestion]]:
    parsed = parse_response(
        each.answer or "",
        sentences=turn.texts,
        codes=codes.keys(),
        reads_latent=asks_for_level(arm.system_prompt),
        reads_enactment=asks_for_enactment(arm.system_prompt),
        finish_reason=each.finish_reason,
        once=[name for name, code in codes.items() if code.family.once_per_answer],
        controls=turn.controls,
        questions={name: _list_offered(code) for name, code in codes.items() if code.attributes}
        if arm.settings.get("questions")
        else {},
        judged=Judged((turn.sent_question, turn.copy.text, *(text for _, text in turn.earlier))),
    )
    answered = turn.texts.keys() - set(parsed.missing)
    asked = turn.find_asked(answered)
    missing = [number for number in asked if number not in answered]
    suggestions = [
        _make_suggestion(proposal, each.cell_id, annotator, codes[proposal.code], turn)
        for proposal in parsed.proposals
        if proposal.sentence in turn.spans
    ]
    common: dict[str, Any] = {
        "cell_id": each.cell_id,
        "annotator": annotator,
        "outcome": _choose_outcome(parsed, is_whole=not missing and turn.controls.keys() <= answered),
        "problem": parsed.problem,
        "rejected": parsed.rejected,
        "asked": asked,
        "missing": missing,
    }
    condition = arm.settings.get("condition") or ""
    if not condition:
        return TurnAnswer(**common, accepted=len(suggestions)), suggestions
    picks: dict[str, list[str]] = {str(number): [] for number in asked if number not in missing}
    for suggestion in suggestions:
        picks.setdefault(str(suggestion.sentence_id), []).append(suggestion.code.identifier)
    controls = _list_controls(parsed, turn, codes, answered)
    return CheckAnswer(**common, condition=condition, picks=picks, controls=controls), []


def _make_suggestion(proposal: Proposal, cell_id: int, annotator: Annotator, code: Code, turn: AskedTurn) -> Suggestion:
    quote = turn.find_evidence(proposal.sentence, proposal.quote) if proposal.quote else (None, None)
    return Suggestion(
        annotator=annotator,
        cell_id=cell_id,
        sentence_id=proposal.sentence,
        code=code,
        level=proposal.level,
        enactment=proposal.enactment,
        answers=dict(proposal.answers),
        rationale=proposal.rationale,
        quote_start=quote[0],
        quote_end=quote[1],
    )


def _list_offered(code: Code) -> dict[str, list[str]]:
    """The choices that the code's own questions offer."""
    return {question["key"]: question["choices"] for question in code.attributes if question["kind"] == "choice"}


def _list_controls(
    parsed: ParsedAnswer, turn: AskedTurn, codes: Mapping[str, Code], answered: set[int]
) -> dict[str, list[str]]:
    """For each control sentence that has an answer, by its key: the identifiers of its codes."""
    found: dict[str, list[str]] = {str(key): [] for number, key in turn.controls.items() if number in answered}
    for proposal in parsed.proposals:
        if proposal.sentence in turn.controls:
            found[str(turn.controls[proposal.sentence])].append(codes[proposal.code].identifier)
    return found


def _choose_outcome(parsed: ParsedAnswer, *, is_whole: bool) -> Outcome:
    if parsed.problem:
        return Outcome.INVALID
    return Outcome.VALID if is_whole and not parsed.rejected else Outcome.PARTIAL


class PreannotationKind(BatchKind):
    """Inputs are keys of ``Turn``. Answers of an arm with a condition (repeated questions) are not shown at the desk."""

    name = KIND
    unreadable = (Outcome.INVALID,)

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return render_turn_prompts(arm, input_ids)

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        parsed = list(parse_responses(batch, answers))
        TurnAnswer.objects.bulk_create(row for row, _ in parsed if isinstance(row, TurnAnswer))
        Suggestion.objects.bulk_create(
            suggestion for row, suggestions in parsed for suggestion in _shuffle(row.cell_id, suggestions)
        )
        CheckAnswer.objects.bulk_create(row for row, _ in parsed if isinstance(row, CheckAnswer))
        outcomes = {each.cell_id: PROVIDER_ERROR for each in answers if each.answer is None}
        return outcomes | {row.cell_id: str(row.outcome) for row, _ in parsed}

    def write_schema(self, arm: Arm, prompt: str) -> dict[str, Any]:
        """The schema of the answer about one turn. Reads arm.settings and its instructions."""
        is_ordered = arm.settings[ANSWER_SCHEMA] == Capabilities.AnswerSchema.FULL
        return write_answer_schema(
            arm.system_prompt,
            arm.settings["codes"],
            read_numbers(prompt),
            is_ordered=is_ordered,
            questions=arm.settings.get("questions"),
        )

    def find_visibility(self, batch: Batch, viewer: Viewer) -> Visibility:
        return find_turn_visibility(batch, viewer)

    def list_interviews(self, batch: Batch, *, input_id: int | None = None) -> set[int]:
        return list_read_interviews(batch, input_id=input_id)

    def find_alarms(self, outcomes: ArmOutcomes) -> list[str]:
        return alarm_by_model(outcomes, list_annotator_alarms)


class CheckKind(PreannotationKind):
    """Questions of a check. Every arm has a condition, so no answer ever becomes a suggestion."""

    name = CHECK_KIND


def _shuffle(cell_id: int, suggestions: Sequence[Suggestion]) -> Iterator[Suggestion]:
    """The suggestions in a shuffled order, which must not reveal the machine's order and is the same each time they are shown."""
    places = list(range(len(suggestions)))
    random.Random(cell_id).shuffle(places)  # noqa: S311 - an order, not a secret
    for suggestion, place in zip(suggestions, places, strict=True):
        suggestion.place = place
        yield suggestion
