"""Counts as charts: shares add up to what is counted, pairs appear once, and noughts are not drawn."""

from __future__ import annotations

import pytest

from transcripts.retrieval.pure.charts import draw_pairs, draw_shares
from transcripts.retrieval.pure.tables import Count, Heading

CODES = [Heading(name, name.title(), "themes", "sentence") for name in ("care", "balance", "context")]


def count(places: int, semantic: int, latent: int, out_of: int = 54) -> Count:
    return Count(places, semantic, latent, out_of, 0, "sentence")


def test_a_bar_is_as_long_as_its_share_and_its_parts_are_the_levels() -> None:
    # The second has one place at both levels; the third was never applied.
    chart = draw_shares(CODES, [("Model A", [count(12, 12, 0), count(9, 6, 4), count(0, 0, 0)])])
    assert [(row.name, row.group, row.text) for row in chart.rows] == [
        ("Care", "", "12/54"),
        ("Balance", "", "9/54"),
    ]
    assert [[part.amount for part in row.parts] for row in chart.rows] == [
        [pytest.approx(100 * 12 / 54), 0],
        [pytest.approx(100 * 6 / 54), pytest.approx(100 * 3 / 54)],
    ]


def test_models_are_groups_and_a_chart_of_noughts_says_what_is_missing() -> None:
    none = [count(0, 0, 0)] * 3
    two = draw_shares(CODES, [("Model A", [count(1, 1, 0), *none[1:]]), ("Model B", none)])
    assert [(row.group, row.name) for row in two.rows] == [("Model A", "Care")]
    empty = draw_shares(CODES, [("Model A", none)])
    assert empty.is_empty
    assert empty.missing is not None
    assert "None of these codes" in empty.missing.words


def test_each_pair_is_drawn_once_below_the_diagonal() -> None:
    found = {(1, 0): 3, (2, 0): 0, (2, 1): 1}
    chart = draw_pairs(CODES, lambda n, m: (found[n, m], 0), by_turn=False)
    assert [[cell.text for cell in row.cells] for row in chart.rows] == [["", ""], ["3", ""], ["", "1"]]
    assert chart.rows[1].cells[0].label == "Balance and Care: 3"
    assert not chart.is_empty


@pytest.mark.parametrize(("by_turn", "words"), [(False, "Choose “in the same turn”"), (True, "in the same turn yet")])
def test_no_pair_says_so_and_where_to_look(by_turn: bool, words: str) -> None:
    chart = draw_pairs(CODES, lambda n, m: (0, 0), by_turn=by_turn)
    assert chart.is_empty
    assert chart.missing is not None
    assert words in chart.missing.words
    assert draw_pairs([], lambda n, m: (0, 0), by_turn=by_turn).is_empty
