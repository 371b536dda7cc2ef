"""Counts by model, worked out by hand, and the chart of them."""

from hypothesis import given
from hypothesis import strategies as st

from transcripts.analysis.themes.pure import (
    Cell,
    Evidence,
    Heading,
    count_presence,
    describe_cell,
    draw_presence,
)
from transcripts.charts.figures import Missing, Verdict

ROWS = [
    Heading("1", "Balance", frozenset({"a", "b"})),
    Heading("2", "Context", frozenset({"b"})),
    Heading("3", "Empty", frozenset()),
]
COLUMNS = [
    Heading("A", "Model A", frozenset({1, 2})),
    Heading("B", "Model B", frozenset({3})),
    Heading("C", "C", frozenset({4})),
]
DECIDED = {1: (10, 3), 2: (5, 2), 3: (8, 4)}


def code(pk, identifier, place, prompting="unprompted", level="semantic", coder=1):
    sentence, turn, interview = place
    return Evidence(pk, coder, identifier, level, prompting, sentence, turn, interview)


EVIDENCE = [
    code(1, "a", (11, 101, 1)),
    code(2, "b", (11, 101, 1), "prompted"),
    code(3, "a", (11, 101, 1), "unclear", "latent", coder=2),
    code(4, "a", (12, 101, 1), "unclear"),
    code(5, "a", (21, 201, 2), level="latent"),
    code(6, "b", (31, 301, 3), "prompted"),
    code(7, "c", (32, 301, 3)),
    code(8, "a", (51, 501, 5)),
]


def test_a_sentence_counts_once_and_the_weaker_claim_wins():
    presence = count_presence(rows=ROWS, columns=COLUMNS, evidence=EVIDENCE, decided=DECIDED)
    (_, balance, total), (_, context, _), (_, _, empty) = presence.rows
    in_a, in_b, in_c = balance
    assert (in_a.sentences, in_a.turns, in_a.interviews, in_a.out_of) == (3, 2, 2, 15)
    assert (in_a.prompted, in_a.unclear, in_a.unprompted) == (1, 1, 1)
    assert (in_a.semantic, in_a.latent) == (2, 2)
    assert (in_b.sentences, in_b.prompted, in_b.out_of) == (1, 1, 8)
    assert not in_c.is_present
    assert not in_c.is_read
    assert (total.sentences, total.out_of) == (4, 23)
    assert [cell.sentences for cell in context] == [1, 1, 0]
    assert empty.sentences == 0


def test_denominators_say_how_much_was_read():
    presence = count_presence(rows=ROWS, columns=COLUMNS, evidence=[], decided=DECIDED)
    in_a, _, in_c, overall = presence.denominators
    assert (in_a["sentences"], in_a["turns"], in_a["interviews"], in_a["in_study"]) == (15, 5, 2, 2)
    assert (in_c["sentences"], in_c["interviews"], in_c["in_study"]) == (0, 0, 1)
    assert (overall["sentences"], overall["interviews"], overall["in_study"]) == (23, 3, 4)


def test_what_is_not_decided_is_counted_beside():
    said = {interview: (30, 9) for column in COLUMNS for interview in column.members}
    presence = count_presence(rows=ROWS, columns=COLUMNS, evidence=[], decided=DECIDED, said=said)
    assert [out_of["undecided"] for out_of in presence.denominators] == [
        30 * out_of["in_study"] - out_of["sentences"] for out_of in presence.denominators
    ]


PLACES = st.builds(
    lambda interview, turn: (10 * (interview * 7 + turn) + 1, interview * 7 + turn, interview),
    st.integers(1, 5),
    st.integers(1, 3),
)
CODINGS = st.lists(
    st.builds(
        code,
        st.integers(1, 999),
        st.sampled_from("abc"),
        PLACES,
        st.sampled_from(["prompted", "unprompted", "unclear"]),
        st.sampled_from(["semantic", "latent"]),
        st.integers(1, 3),
    ),
    max_size=30,
)


@given(CODINGS)
def test_parts_add_up_and_the_chart_holds_every_cell(codings):
    presence = count_presence(rows=ROWS, columns=COLUMNS, evidence=codings, decided=dict.fromkeys(range(1, 6), (3, 3)))
    for _, cells, total in presence.rows:
        assert total.sentences == sum(cell.sentences for cell in cells)
        for cell in [*cells, total]:
            assert cell.prompted + cell.unprompted + cell.unclear == cell.sentences <= cell.out_of
            assert max(cell.semantic, cell.latent) <= cell.sentences <= cell.semantic + cell.latent
    drawn = [cell for row in draw(presence).rows for cell in row.cells]
    counted = [cell for _, cells, _ in presence.rows for cell in cells]
    assert [(bool(each.href), each.value) for each in drawn] == [
        (cell.is_present, cell.sentences / cell.out_of if cell.is_read else None) for cell in counted
    ]


def test_a_share_of_fewer_than_three_turns_has_no_shade_and_few_turns_are_named():
    presence = count_presence(rows=ROWS, columns=COLUMNS, evidence=EVIDENCE, decided={1: (15, 12), 3: (1, 1)})
    assert [out_of["few"] for out_of in presence.denominators] == [0, 1, 0, 0]
    chart = draw(presence)
    assert [(cell.value, cell.text) for cell in chart.rows[0].cells] == [(0.2, "3/15"), (None, "1/1"), (None, "")]
    assert "Here: Model B." in chart.note


def test_the_chart_tells_its_cells_in_words_and_judges_its_rows():
    chart = draw(count_presence(rows=ROWS, columns=COLUMNS, evidence=EVIDENCE, decided=DECIDED))
    assert [row.verdict and row.verdict.words for row in chart.rows] == [
        "in 2 of 2 models, unprompted in 1",
        "in 2 of 2 models, unprompted in 0",
        "in 0 of 2 models",
    ]
    first, *_, unread = chart.rows[0].cells
    assert first.label == "Balance, Model A: 3 of 15 sentences, 1 unprompted, 1 prompted, 1 unclear"
    assert (first.text, first.value, first.href) == ("3/15", 0.2, "?theme=1&model=A")
    assert (unread.value, unread.href) == (None, "")
    assert unread.label.endswith(": nothing decided")
    assert describe_cell(Cell(0, 0, 0, 0, 0, 0, 0, 0, 5)) == "none of 5 sentences"


def test_a_chart_of_noughts_says_what_is_missing():
    for decided in ({}, DECIDED):
        chart = draw(count_presence(rows=ROWS, columns=COLUMNS, evidence=[], decided=decided))
        assert chart.is_empty
        assert chart.missing == MISSING
    assert chart.rows[0].verdict == Verdict("in 0 of 2 models")


MISSING = Missing("Nothing is decided.", "/interviews/", "Code")


def draw(presence):
    return draw_presence(
        presence,
        title="Themes by model",
        things="models",
        link=lambda row, column: f"?theme={row}&model={column}",
        missing=MISSING,
    )
