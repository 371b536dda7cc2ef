from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.benchmarks.sob.pure.dataset_texts import (
    DatasetText,
    SampleError,
    Statement,
    draw_sample,
    drop_repeated,
    share_by_size,
    share_equally,
)

SIZES = st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.integers(1, 40), min_size=1, max_size=6)


def make_texts(**counts):
    targets = [target for target, count in counts.items() for _ in range(count)]
    return [DatasetText("s", str(number), f"text {number}", target) for number, target in enumerate(targets)]


def test_proportional_sample_states_every_stratum():
    rows = make_texts(women=60, old=30, black=10)
    kept, statement = draw_sample(rows, size=11)
    assert Counter(rows[place].target for place in kept) == {"women": 7, "old": 3, "black": 1}
    assert statement.write() == {
        "method": "proportional",
        "seed": 42,
        "by": "target",
        "size": 11,
        "read": 100,
        "kept": 11,
        "dropped": {"not drawn": 89},
        "strata": {
            "women": {"read": 60, "kept": 7},
            "old": {"read": 30, "kept": 3},
            "black": {"read": 10, "kept": 1},
        },
    }


def test_equal_sample_gives_the_others_what_a_small_stratum_lacks():
    rows = make_texts(women=60, old=30, black=2)
    kept, statement = draw_sample(rows, size=20, method="stratum")
    assert Counter(rows[place].target for place in kept) == {"women": 9, "old": 9, "black": 2}
    assert statement.strata["black"] == {"read": 2, "kept": 2}


def test_simple_sample_has_no_strata():
    kept, statement = draw_sample(make_texts(women=5, old=5), size=4, method="simple")
    assert len(kept) == 4
    assert (statement.by, statement.strata) == ("", {})


def test_the_same_seed_draws_the_same_rows_and_another_seed_others():
    rows = make_texts(women=200, old=100)
    first = draw_sample(rows, size=50, seed=7)
    assert first == draw_sample(rows, size=50, seed=7)
    assert first[0] != draw_sample(rows, size=50, seed=8)[0]
    assert list(first[0]) == sorted(first[0])


def test_a_text_without_the_label_is_a_stratum_of_its_own():
    rows = [DatasetText("s", "1", "a", ""), DatasetText("s", "2", "b", "women")]
    assert draw_sample(rows, size=2)[1].strata == {
        "(none)": {"read": 1, "kept": 1},
        "women": {"read": 1, "kept": 1},
    }


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"size": 0}, "0 texts cannot be drawn from 3. Ask for 1 to 3"),
        ({"size": 4}, "4 texts cannot be drawn from 3"),
        ({"size": 1, "method": "best"}, 'no sampling method "best"'),
        ({"size": 1, "by": "text"}, 'not sampled by "text"'),
        ({"size": 1, "seed": -1}, "whole number from 0"),
    ],
)
def test_senseless_sample_is_refused(wish, sentence):
    with pytest.raises(SampleError, match=sentence):
        draw_sample(make_texts(women=3), **wish)


@given(SIZES, st.data())
def test_shares_add_up_and_never_exceed_a_stratum(sizes, data):
    size = data.draw(st.integers(1, sum(sizes.values())))
    for shares in (share_by_size(sizes, size), share_equally(sizes, size)):
        assert sum(shares.values()) == size
        assert all(0 <= shares[stratum] <= sizes[stratum] for stratum in sizes)


@given(SIZES, st.data())
def test_proportional_share_is_less_than_one_from_its_quota(sizes, data):
    size = data.draw(st.integers(1, sum(sizes.values())))
    shares = share_by_size(sizes, size)
    assert all(abs(shares[name] - size * count / sum(sizes.values())) < 1 for name, count in sizes.items())


def test_a_text_is_repeated_only_within_its_source():
    rows = [DatasetText(source, "1", text, "") for source, text in [("s", "a"), ("t", "a"), ("s", "a"), ("s", "A")]]
    assert drop_repeated(rows) == ((0, 1, 3), (2,))


def test_nothing_is_stated_where_every_row_was_taken():
    assert Statement(4, 4).write() == {}
