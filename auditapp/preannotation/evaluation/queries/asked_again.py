"""The turns of a reading that were asked about again, beside what was said of them the first time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from auditapp.batches.models import Arm, Batch
from auditapp.preannotation.annotators.pure.conditions import REASK
from auditapp.preannotation.evaluation.pure.checking import Answer
from auditapp.preannotation.evaluation.pure.reasking import AskedAgain, Planted
from auditapp.preannotation.evaluation.queries.checks import find_answers, read_answer
from auditapp.preannotation.models import PlantedSentence, Reading, Suggestion

IDS_AT_A_TIME = 5_000
Picks = Mapping[int, frozenset[str]]


def read_reask(batch: Batch) -> tuple[list[AskedAgain], list[Planted], list[str], int]:
    """All that a batch asked again and has an answer to: turns with both answers, planted sentences, the codes in their
    order, and the number of turns without a usable first answer to compare with."""
    arms = {arm.pk: arm for arm in batch.arms.all()}
    rows = list(find_answers(batch, conditions=[REASK]))
    answers = [(read_answer(row, arms[row.cell.arm_id]), row.planted) for row in rows]
    firsts = _read_firsts(batch, arms, {each.turn_id for each, _ in answers})
    pairs = [
        AskedAgain(each.codes, found[0], _read_picks(each), found[1], each.turn_id, found[2], each.attempt_id)
        for each, _ in answers
        if (found := firsts.get((each.turn_id, frozenset(each.codes)))) is not None
    ]
    known = {row.pk: row.codes for row in PlantedSentence.objects.filter(project=batch.project_id)}
    order = {code: None for arm in arms.values() if not arm.settings.get("condition") for code in _list_codes(arm)}
    planted = [planted for each, put in answers for planted in _read_planted(each, put, known)]
    return pairs, planted, list(order), len(answers) - len(pairs)


# A first answer: the codes of the sentences that it reached, whether it is flagged, and its attempt.
First = tuple[Picks, bool, int | None]


def _read_firsts(batch: Batch, arms: Mapping[int, Arm], turns: set[int]) -> dict[tuple[int, frozenset[str]], First]:
    """By turn and the codes that were asked for."""
    found: dict[tuple[int, frozenset[str]], First] = {}
    ordered = sorted(turns)
    for start in range(0, len(ordered), IDS_AT_A_TIME):
        some = ordered[start : start + IDS_AT_A_TIME]
        readings = Reading.objects.filter(cell__batch=batch, cell__input_id__in=some).select_related("cell__result")
        usable = list(readings.exclude(outcome=Reading.Outcome.INVALID).order_by("pk"))
        picks = _read_suggestions([reading.pk for reading in usable])
        for reading in usable:
            result = getattr(reading.cell, "result", None)
            codes = picks[reading.pk]
            answered = set(reading.asked) - set(reading.missing)
            found[reading.cell.input_id, frozenset(_list_codes(arms[reading.cell.arm_id]))] = (
                {number: frozenset(codes[number]) for number in answered},
                bool(reading.flags),
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


def _read_planted(each: Answer, put: Mapping[str, list[str]], known: Mapping[int, list[str]]) -> list[Planted]:
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
