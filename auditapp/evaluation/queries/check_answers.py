"""From a figure of a check down to its answers: which sentences, which codes each answer applied, which call it was;
and the turns of a turn answer that were asked about again, with what was said of them the first time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from auditapp.annotators.models import ControlSentence, Suggestion, TurnAnswer
from auditapp.annotators.pure.checking import (
    FIRST,
    GENERIC,
    REASK,
    REPEAT,
    REVERSED,
    SWAPPED,
    Answer,
    AskedAgain,
    Control,
    Labels,
    follow_swap,
    tabulate_labels,
)
from auditapp.annotators.queries.turn_answers import find_answers, read_answer
from auditapp.batches.models import Arm, Batch
from transcripts.corpus.models import Sentence, Turn

OF_SENTENCES = ("order", "generic", "swapped", "stability", "rates")
OF_ANSWERS = ("legal", "answered")
OF_REASK = ("same", "controls")
SCOPES = (("changed", "only where it changes"), ("put", "where the code was applied at least once"), ("all", "all"))
CONDITION_WORDS = {
    REVERSED: "codes in reverse",
    GENERIC: "numbers for names",
    SWAPPED: "definitions swapped",
}


def name_condition(condition: str) -> str:
    """A condition in words."""
    kind, _, number = condition.partition("-")
    return f"as it is, {number}" if kind == REPEAT else CONDITION_WORDS.get(condition, condition)


def list_answer_entries(answers: Sequence[Answer], figure: str) -> list[dict[str, Any]]:
    """The answers with something that was not applied (``legal``), or that left sentences out (``answered``)."""
    return [
        {
            "turn_id": each.turn_id,
            "task": each.task,
            "attempt_id": each.attempt_id,
            "problem": each.problem,
            "missing": sorted(each.asked - each.answered),
            "rejected": [
                (item.get("sentence"), item.get("code"), str(item.get("reason", ""))) for item in each.rejected_items
            ],
        }
        for each in answers
        if (each.rejected_items if figure == "legal" else each.asked - each.answered)
    ]


def list_sentence_entries(
    answers: Sequence[Answer], definitions: Mapping[str, str], figure: str, code: str, scope: str
) -> list[dict[str, Any]]:
    """The sentences of a figure of a code."""
    labels = tabulate_labels(answers)
    conditions = find_conditions(labels, figure)
    swaps = follow_swap(labels, code, definitions) if figure == "swapped" else {}
    turns = {sentence: each.turn_id for each in answers for sentence in each.asked}
    # With the codes whose prompt entry held its definition.
    holders = [holder for holder, of in definitions.items() if of == code]
    index = _index(answers, {code, definitions.get(code), *holders})
    return [
        {
            "turn_id": turns[sentence],
            "sentence_id": sentence,
            "answers": [each for condition in conditions for each in _list_suggested(index, condition, sentence)],
            "note": swaps.get(sentence, ""),
        }
        for sentence in _choose(labels, conditions, code, scope, swaps)
    ]


def find_conditions(labels: Labels, figure: str) -> list[str]:
    """The conditions that a figure compares."""
    if figure == "stability":
        return sorted(condition for condition in labels if condition.partition("-")[0] == REPEAT)
    return [FIRST, *{"order": [REVERSED], "generic": [GENERIC], "swapped": [SWAPPED]}.get(figure, [])]


def _choose(labels: Labels, conditions: Sequence[str], code: str, scope: str, swaps: Mapping[int, str]) -> list[int]:
    columns = [labels.get(condition, {}).get(code, {}) for condition in conditions]
    if not columns:
        return []
    if conditions[-1] == SWAPPED and scope != "all":
        left_out = {"unclear"} if scope == "put" else {"unclear", "definition"}
        return sorted(each for each, word in swaps.items() if word not in left_out)
    shared = set.intersection(*(set(column) for column in columns))
    if scope == "all":
        return sorted(shared)
    if scope == "put" or len(columns) == 1:
        return sorted(each for each in shared if any(column[each] for column in columns))
    return sorted(each for each in shared if len({column[each] for column in columns}) > 1)


Index = Mapping[tuple[str, int], list[Answer]]


def _index(answers: Iterable[Answer], codes: Collection[str | None]) -> Index:
    """By condition and sentence, the answers that were asked for one of the codes."""
    found: dict[tuple[str, int], list[Answer]] = {}
    for each in answers:
        if set(codes) & set(each.codes):
            for sentence in each.asked:
                found.setdefault((each.condition, sentence), []).append(each)
    return found


def _list_suggested(index: Index, condition: str, sentence: int) -> Iterator[dict[str, Any]]:
    for each in index.get((condition, sentence), []):
        is_answered = sentence in each.answered
        codes = tuple(sorted(each.picks.get(sentence, ()))) if is_answered else None
        yield {"asked": name_condition(condition), "codes": codes, "attempt_id": each.attempt_id}


def list_reask_entries(pairs: Sequence[AskedAgain], code: str, scope: str) -> list[dict[str, Any]]:
    """The sentences that were asked about twice: where a code, or without one any code, changes."""
    return [
        _write_pair(each, sentence)
        for each in pairs
        for sentence in sorted(each.before)
        if (not code or code in each.codes) and _is_within(each, sentence, code, scope)
    ]


def _is_within(each: AskedAgain, sentence: int, code: str, scope: str) -> bool:
    before, again = each.before[sentence], each.again.get(sentence)
    if scope == "all":
        return True
    if again is None:
        return scope == "changed" and not code
    if code:
        before, again = before & {code}, again & {code}
    return bool(before | again) if scope == "put" else before != again


def _write_pair(each: AskedAgain, sentence: int) -> dict[str, Any]:
    before, again = each.before[sentence], each.again.get(sentence)
    return {
        "turn_id": each.turn_id,
        "sentence_id": sentence,
        "answers": [
            {"asked": "first", "codes": tuple(sorted(before)), "attempt_id": each.before_attempt},
            {
                "asked": "again",
                "codes": None if again is None else tuple(sorted(again)),
                "attempt_id": each.again_attempt,
            },
        ],
        "note": "looks like instructions" if each.is_flagged else "",
    }


def list_control_rows(controls: Sequence[Control]) -> list[dict[str, Any]]:
    """Every invented sentence that was asked about, its known codes, and how often which codes came back."""
    numbers = sorted({number for number, *_ in controls})
    texts = ControlSentence.objects.in_bulk(numbers)
    rows = []
    for number in numbers:
        own = [(known, put) for each, known, put in controls if each == number]
        others = sorted({tuple(sorted(put)) for known, put in own if put != known})
        codes = tuple(sorted({code for known, _ in own for code in known}))
        right = sum(put == known for known, put in own)
        rows.append({"text": texts[number].text, "known": codes, "times": len(own), "right": right, "others": others})
    return rows


def read_places(sentence_ids: Collection[int]) -> dict[int, dict[str, object]]:
    """The place and the words of each sentence of a page."""
    rows = Sentence.objects.filter(pk__in=sentence_ids).select_related("turn__interview")
    return {
        row.pk: {
            "interview_id": row.turn.interview_id,
            "interview": row.turn.interview.title,
            "turn": row.turn.position,
            "label": row.label,
            "text": row.read_text(),
        }
        for row in rows
    }


def read_interviews(turn_ids: Collection[int]) -> dict[int, int]:
    """By turn its interview."""
    found: dict[int, int] = {}
    ordered = sorted(set(turn_ids))
    for start in range(0, len(ordered), 5_000):
        turns = Turn.objects.filter(pk__in=ordered[start : start + 5_000])
        found |= dict(turns.order_by().values_list("pk", "interview_id"))
    return found


IDS_AT_A_TIME = 5_000
Picks = Mapping[int, frozenset[str]]


def read_reask(batch: Batch) -> tuple[list[AskedAgain], list[Control], list[str], int]:
    """All that a batch asked again and has an answer to: turns with both answers, control sentences, the codes in their
    order, and the number of turns without a usable first answer to compare with."""
    arms = {arm.pk: arm for arm in batch.arms.all()}
    rows = list(find_answers(batch, conditions=[REASK]))
    answers = [(read_answer(row, arms[row.cell.arm_id]), row.controls) for row in rows]
    firsts = _read_firsts(batch, arms, {each.turn_id for each, _ in answers})
    pairs = [
        AskedAgain(each.codes, found[0], _read_picks(each), found[1], each.turn_id, found[2], each.attempt_id)
        for each, _ in answers
        if (found := firsts.get((each.turn_id, frozenset(each.codes)))) is not None
    ]
    known = {row.pk: row.codes for row in ControlSentence.objects.filter(study=batch.study_id)}
    order = {code: None for arm in arms.values() if not arm.settings.get("condition") for code in _list_codes(arm)}
    controls = [controls for each, put in answers for controls in _read_controls(each, put, known)]
    return pairs, controls, list(order), len(answers) - len(pairs)


# A first answer: the codes of the sentences that it reached, whether it is flagged, and its attempt.
First = tuple[Picks, bool, int | None]


def _read_firsts(batch: Batch, arms: Mapping[int, Arm], turns: set[int]) -> dict[tuple[int, frozenset[str]], First]:
    """By turn and the codes that were asked for."""
    found: dict[tuple[int, frozenset[str]], First] = {}
    ordered = sorted(turns)
    for start in range(0, len(ordered), IDS_AT_A_TIME):
        some = ordered[start : start + IDS_AT_A_TIME]
        turn_answers = TurnAnswer.objects.filter(cell__batch=batch, cell__input_id__in=some).select_related(
            "cell__result"
        )
        usable = list(turn_answers.exclude(outcome=TurnAnswer.Outcome.INVALID).order_by("pk"))
        picks = _read_suggestions([turn_answer.pk for turn_answer in usable])
        for turn_answer in usable:
            result = getattr(turn_answer.cell, "result", None)
            codes = picks[turn_answer.pk]
            answered = set(turn_answer.asked) - set(turn_answer.missing)
            found[turn_answer.cell.input_id, frozenset(_list_codes(arms[turn_answer.cell.arm_id]))] = (
                {number: frozenset(codes[number]) for number in answered},
                bool(turn_answer.flags),
                result.attempt_id if result else None,
            )
    return found


def _read_suggestions(cell_ids: list[int]) -> dict[int, dict[int, set[str]]]:
    picks: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for start in range(0, len(cell_ids), IDS_AT_A_TIME):
        rows = Suggestion.objects.filter(cell__in=cell_ids[start : start + IDS_AT_A_TIME]).order_by()
        for cell_id, sentence_id, code in rows.values_list("cell_id", "sentence_id", "code__identifier"):
            picks[cell_id][sentence_id].add(code)
    return picks


def _read_picks(each: Answer) -> Picks:
    return {number: each.picks.get(number, frozenset()) for number in each.answered}


def _read_controls(each: Answer, put: Mapping[str, list[str]], known: Mapping[int, list[str]]) -> list[Control]:
    """The invented sentences of an answer. One whose codes are all of another family says nothing of this one: nobody
    said that none of these codes applies."""
    asked = set(each.codes)
    found = []
    for number, codes in put.items():
        own = known.get(int(number), [])
        if not own or asked & set(own):
            found.append((int(number), frozenset(own) & asked, frozenset(codes)))
    return found


def _list_codes(arm: Arm) -> list[str]:
    return list(arm.settings.get("codes") or [])
