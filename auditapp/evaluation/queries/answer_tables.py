"""How an annotator answered the codes' own questions, beside people's blind answers: for case features, the status.

Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auditapp.annotators.queries.machine_turn_labels import read_turn_labels
from auditapp.evaluation.pure.calibrating import AnswerTable, tabulate_answers
from auditapp.evaluation.queries.calibration import Compared, ComparedCode
from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Coding, Layer


class AskedQuestion(NamedTuple):
    """A question that codes of a family ask alike, and the answers to it."""

    key: str
    label: str
    table: AnswerTable


def read_answer_tables(compared: Compared, family: str) -> list[AskedQuestion]:
    """The questions with fixed choices of the codes of a family for turns, each with the table of answers on the labels that
    machine and person both applied, over all codes that ask it alike. Empty for families of sentences. Six queries."""
    codes = [each for each in compared.codes if each.family == family and each.code.family.unit == CodeFamily.Unit.TURN]
    asking: dict[tuple[str, str, tuple[str, ...]], list[ComparedCode]] = {}
    for each in codes:
        for question in each.code.attributes:
            if question["kind"] == "choice":
                asked = question["key"], question["label"], tuple(question["choices"])
                asking.setdefault(asked, []).append(each)
    if not asking:
        return []
    machine = read_turn_labels(compared.annotator).answers
    people = _read_people(compared, codes)
    return [
        AskedQuestion(
            key,
            label,
            tabulate_answers(
                choices,
                (
                    (
                        machine.get((sentence, code), {}).get(key, ""),
                        people.get((coder, sentence, code), {}).get(key, ""),
                    )
                    for each in own
                    for coder, sentence, code in _list_shared(compared, each)
                ),
            ),
        )
        for (key, label, choices), own in asking.items()
    ]


def _list_shared(compared: Compared, each: ComparedCode) -> list[tuple[int, int, str]]:
    """Coder, first sentence of the turn, and code of each label that both applied."""
    rows, places = np.nonzero(each.labels.people & each.labels.counts & each.labels.machine)
    return [
        (compared.coders[row], int(compared.sentence_ids[place]), each.code.identifier)
        for row, place in zip(rows.tolist(), places.tolist(), strict=True)
    ]


def _read_people(compared: Compared, codes: list[ComparedCode]) -> dict[tuple[int, int, str], dict[str, str]]:
    """By coder, sentence and code, the answers of her last blind coding."""
    identifiers = {each.code.identifier for each in codes}
    rows = Coding.objects.filter(
        code__version__study=compared.annotator.study_id, code__identifier__in=identifiers, layer=Layer.BLIND
    ).order_by("pk")
    columns = ("coder_id", "sentence_id", "code__identifier", "attributes")
    return {(coder, sentence, code): given for coder, sentence, code, given in rows.values_list(*columns)}
