"""What holds of every set of threads."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.negotiation.report_lines import Coder, make_thread, read
from transcripts.negotiation.pure.episodes import KINDS, OUTCOMES, Episode, measure_episodes
from transcripts.negotiation.pure.records import STATUSES
from transcripts.negotiation.pure.report import make_report
from transcripts.negotiation.pure.sequences import measure_distance, measure_transitions
from transcripts.statistics.significance import measure_fisher, measure_mcnemar

SETS = st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=4)
SEQUENCES = st.lists(SETS, max_size=8)


@given(SEQUENCES, SEQUENCES)
def test_a_distance_is_the_same_both_ways_and_at_most_the_longer_length(one, other):
    distance = measure_distance(one, other)
    assert distance == pytest.approx(measure_distance(other, one))
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))


@given(SEQUENCES)
def test_a_sequence_is_at_no_distance_from_itself_alone(sequence):
    assert measure_distance(sequence, sequence) == 0
    assert measure_distance(sequence, [*sequence, frozenset("a")]) == 1


@given(SEQUENCES, SEQUENCES, SEQUENCES)
def test_no_detour_is_shorter(one, between, other):
    detour = measure_distance(one, between) + measure_distance(between, other)
    assert measure_distance(one, other) <= detour + 1e-9


@given(st.lists(SEQUENCES, max_size=6))
def test_transitions_sum_to_the_steps(sequences):
    found = measure_transitions(sequences)
    steps = sum(max(0, len(sequence) - 1) for sequence in sequences)
    cells = [cell for row in found["cells"].values() for cell in row.values()]
    assert found["pairs"] == steps
    for total in (found["row"].values(), found["column"].values(), (cell["observed"] for cell in cells)):
        assert math.fsum(total) == pytest.approx(steps)
    assert math.fsum(cell["expected"] for cell in cells) == pytest.approx(steps)
    for row in found["cells"].values():
        assert math.fsum(cell["probability"] for cell in row.values()) == pytest.approx(1)


@given(st.lists(st.tuples(st.integers(0, 15), st.sampled_from(KINDS), st.sampled_from((*OUTCOMES, "undecided")))))
def test_outcomes_sum_to_episodes_and_every_interval_holds_its_rate(drawn):
    figures = measure_episodes(
        Episode(f"t{thread}", turn, kind, outcome) for turn, (thread, kind, outcome) in enumerate(drawn)
    )
    for kind in KINDS:
        row = figures[kind]
        assert sum(row[outcome] for outcome in OUTCOMES) == row["decided"] == row["episodes"] - row["undecided"]
        if row["ci"] is not None:
            low, high = row["ci"]
            assert low <= row["rate"] <= high


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_exact_tests_are_symmetric_probabilities(a, b, c, d):
    assert measure_mcnemar(a, b) == measure_mcnemar(b, a)
    assert 0 < measure_mcnemar(a, b) <= 1
    p, swapped = measure_fisher(a, a + b, c, c + d), measure_fisher(c, c + d, a, a + b)
    if p is not None:
        assert p == pytest.approx(swapped, rel=1e-9)
        assert 0 < p <= 1


@st.composite
def studies(draw):
    lines = [*make_thread(turns="irmcim", relevant=["feature.power"]), *make_thread("t2", turns="imim")]
    lines.append({"record": "pair", "pair": "p", "a": "t1", "b": "t2", "expect": "change"})
    coders = {name: Coder(name) for name in ("ana", "ben")}
    for name in draw(st.lists(st.sampled_from(sorted(coders)), max_size=14)):
        coder, thread = coders[name], draw(st.sampled_from(["t1", "t2"]))
        turn, start = draw(st.integers(1, 4)), draw(st.sampled_from([0, 9]))
        kind = draw(st.sampled_from(["move", "feature", "challenge", "response", "decided"]))
        place = {"thread": thread, "start": start}
        if kind == "move":
            lines.append(coder.move(turn, draw(st.sampled_from(["elicit", "revise"])), **place))
        elif kind == "feature":
            lines.append(
                coder.enter(turn, draw(st.sampled_from(["power", "task"])), draw(st.sampled_from(STATUSES)), **place)
            )
        elif kind == "decided":
            lines.append(coder.decide(turn, thread=thread))
        else:
            what = "warranted" if kind == "challenge" else "revised"
            lines.append(coder.apply(turn, f"{kind}.{what}", **place))
    return lines


@given(studies(), st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_no_figure(lines, chance):
    expected = make_report(read(lines))
    shuffled = list(lines)
    chance.shuffle(shuffled)
    assert make_report(read(shuffled)) == expected
