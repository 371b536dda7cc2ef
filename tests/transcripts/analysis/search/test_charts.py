"""Counts as charts: shares add up to what is counted, pairs appear once, and noughts are not drawn."""

import pytest

from transcripts.analysis.search.counts import Mark
from transcripts.analysis.search.pure.tables import (
    Count,
    CountTable,
    Heading,
    PairTable,
    build_sheet,
    draw_pairs,
    draw_shares,
)

CODES = [Heading(name, name.title(), "themes", "sentence") for name in ("care", "balance", "context")]


MOVES = [Heading(name, name.title(), "moves", "sentence", has_enactment=True) for name in ("refuse", "bracket")]


def count(places, semantic, latent, out_of=54, clusters=20):
    return Count(places, semantic, latent, out_of, clusters, 0, "sentence")


def move(sentence, model, code="refuse", enactment="enacted"):
    """A move on a sentence; a turn has five sentences."""
    return Mark(sentence, sentence // 5, sentence // 5, 1, model, code, "semantic", enactment)


def test_a_bar_is_as_long_as_its_share_and_its_parts_are_the_levels():
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


def test_models_are_groups_and_a_chart_of_noughts_says_what_is_missing():
    none = [count(0, 0, 0)] * 3
    two = draw_shares(CODES, [("Model A", [count(1, 1, 0), *none[1:]]), ("Model B", none)])
    assert [(row.group, row.name) for row in two.rows] == [("Model A", "Care")]
    empty = draw_shares(CODES, [("Model A", none)])
    assert empty.is_empty
    assert empty.missing is not None
    assert "None of these codes" in empty.missing.words


def test_each_pair_is_drawn_once_below_the_diagonal():
    found = {(1, 0): 3, (2, 0): 0, (2, 1): 1}
    chart = draw_pairs(CODES, lambda n, m: (found[n, m], 0), by_turn=False)
    assert [[cell.text for cell in row.cells] for row in chart.rows] == [["", ""], ["3", ""], ["", "1"]]
    assert chart.rows[1].cells[0].label == "Balance and Care: 3"
    assert not chart.is_empty


@pytest.mark.parametrize(("by_turn", "words"), [(False, "Choose “in the same turn”"), (True, "in the same turn yet")])
def test_no_pair_says_so_and_where_to_look(by_turn, words):
    chart = draw_pairs(CODES, lambda n, m: (0, 0), by_turn=by_turn)
    assert chart.is_empty
    assert chart.missing is not None
    assert words in chart.missing.words
    assert draw_pairs([], lambda n, m: (0, 0), by_turn=by_turn).is_empty


def test_ten_described_refusals_are_not_above_the_enacted_ones_of_another_model():
    marks = [
        *(move(n, "A", enactment="described") for n in range(10)),
        move(10, "A"),
        move(11, "A", enactment="demonstrated"),
        *(move(n, "D") for n in range(100, 103)),
    ]
    sizes = {model: {"sentence": 60, "turn": 12, "interview": 1} for model in "AD"}
    table = CountTable(MOVES, ((mark.model, mark) for mark in marks), sizes)
    of_a, of_d = (table.count(model, MOVES[0]) for model in "AD")
    assert (of_a.places, of_a.apart, of_d.places, of_d.apart) == (1, (1, 10, 0), 3, (0, 0, 0))
    assert of_a.step < of_d.step
    assert (table.total(MOVES[0]).places, table.total(MOVES[0]).apart) == (4, (1, 10, 0))
    chart = draw_shares(MOVES[:1], [("A", [of_a]), ("D", [of_d])])
    assert [(row.group, row.text) for row in chart.rows] == [("A", "1/60"), ("D", "3/60")]


def test_a_share_of_one_decided_sentence_is_no_figure():
    marks = [move(1, "A"), *(move(n, "D") for n in range(100, 105))]
    sizes = {
        "A": {"sentence": 1, "turn": 1},
        "C": {"sentence": 20, "turn": 9},
        "D": {"sentence": 67, "turn": 12},
    }
    table = CountTable(MOVES, ((mark.model, mark) for mark in marks), sizes)
    of_a, of_d = (table.count(model, MOVES[0]) for model in "AD")
    assert (of_a.share, of_a.is_few, of_a.step) == (1.0, True, 0)
    # The scale ends at the largest share that may be drawn, not at the 100 % of one sentence.
    assert (of_d.is_few, of_d.step) == (False, 20)
    assert table.count("C", MOVES[0]).is_few
    chart = draw_shares(MOVES[:1], [("A", [of_a]), ("D", [of_d])])
    assert [(row.text, bool(row.parts)) for row in chart.rows] == [("1/1 few", False), ("5/67", True)]
    alone = draw_shares(MOVES[:1], [("A", [of_a])])
    assert alone.is_empty
    assert alone.missing is not None
    assert "fewer than 3 decided turns" in alone.missing.words


def test_moves_together_are_pairs_of_one_enactment():
    marks = [
        *(move(n, "A", code, "described") for n in range(10) for code in ("refuse", "bracket")),
        *(move(20, "A", code) for code in ("refuse", "bracket")),
        move(30, "A", "refuse"),
        move(30, "A", "bracket", "described"),
        Mark(20, 4, 4, 1, "A", "care", "semantic", ""),
    ]
    headings = [*MOVES, CODES[0]]
    table = PairTable(headings, marks, by_turn=False)
    assert [table.count(*pair)[0] for pair in ((0, 0), (0, 1), (0, 2))] == [2, 1, 1]
    assert table.apart == {"described": 21}
    described = PairTable(headings, marks, by_turn=False, enactment="described")
    assert [described.count(*pair)[0] for pair in ((0, 0), (0, 1), (2, 2))] == [10, 10, 1]


def test_a_score_sheet_counts_turns_where_a_move_is_enacted():
    marks = [
        move(5, "A", enactment="described"),
        move(10, "A", enactment="described"),
        move(11, "A"),
        move(15, "A", enactment=""),
    ]
    row, _, theme = build_sheet(
        [*MOVES, CODES[0]],
        [(turn, False) for turn in range(1, 5)],
        [
            *marks,
            Mark(5, 1, 1, 1, "A", "care", "latent", ""),
        ],
    )
    assert row.turns == 1
    assert [(part.word, part.count) for part in row.apart] == [("described", 2), ("enactment not stated", 1)]
    assert (theme.turns, theme.apart) == (1, [])
