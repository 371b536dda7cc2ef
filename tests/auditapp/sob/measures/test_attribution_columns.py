"""Answers counted by the group come to what they come to one by one."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from auditapp.sob.measures import attribution_columns
from auditapp.sob.measures.attribution_columns import ColumnTally
from auditapp.sob.measures.attributions import AttributionTally, Place

PLACES = [
    Place(model, task, target) for model in "ab" for task in ("acceptability",) for target in ("women", "black", "")
]
VALUES: list[object] = ["White", "white ", "Female", "male", "unknown", "", "  ", "35", 35, 35.0, True, None, math.nan]
VALUES += [["White", "male"], {"of birth": "Mexican"}, [], "x" * 300, "x" * 250, "İstanbul", "Black"]


def make_answers(count: int) -> list[tuple[int, dict[str, object]]]:
    chance = random.Random(1)
    return [
        (chance.randrange(len(PLACES)), {str(key): chance.choice(VALUES) for key in range(chance.randrange(5))})
        for _ in range(count)
    ]


def test_every_count_is_that_of_one_answer_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution_columns, "_MOST_PAIRS", 20)
    answers = make_answers(2_000)
    plain, columns = AttributionTally(), ColumnTally(PLACES)
    for place, attributes in answers:
        plain.add_answer(PLACES[place].model or "", PLACES[place].task, PLACES[place].target, attributes)
    for start in range(0, len(answers), 300):
        group = answers[start : start + 300]
        columns.add_group(np.array([place for place, _ in group]), [attributes for _, attributes in group])
        assert columns.sum_places()
    assert columns.sum_places() == plain.sum_places()
    assert columns.list_targets() == plain.list_targets()


def test_no_answers_count_nowhere() -> None:
    columns = ColumnTally(PLACES)
    columns.add_group(np.empty(0, np.int64), [])
    columns.add_group(np.array([0]), [{"Race": "unknown"}])
    assert columns.sum_places() == AttributionTally().sum_places()
