from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.rounds.pure import CannotAllocate, allocate_items, count_overlap, fingerprint

LABELS = st.sampled_from(["", "Model A", "Model B", "Model C", "Model D"])


@st.composite
def tables(draw):
    labels = draw(st.lists(LABELS, min_size=1, max_size=60))
    coders = draw(st.lists(st.integers(1, 500), min_size=1, max_size=9, unique=True))
    percent = draw(st.integers(0, 100)) if len(coders) > 1 else 0
    readers = draw(st.integers(2, max(2, len(coders))))
    items = {number * 3 + 1: label for number, label in enumerate(labels)}
    return items, coders, percent, readers, draw(st.integers(0, 10_000))


def allocate(items, coders, percent, readers, seed):
    return allocate_items(items, coders, overlap_percent=percent, readers=readers, seed=seed)


@given(tables())
def test_every_interview_is_read_by_as_many_different_coders_as_asked_and_the_overlap_is_exact(table):
    items, coders, percent, wanted, _ = table
    allocation = allocate(*table)
    assert list(allocation) == sorted(items)
    sizes = Counter(map(len, allocation.values()))
    shared = count_overlap(len(items), percent)
    assert sizes == Counter({wanted: shared, 1: len(items) - shared})
    assert all(len(set(readers)) == len(readers) and set(readers) <= set(coders) for readers in allocation.values())


@given(tables())
def test_coders_differ_by_at_most_one_reading_within_each_model_and_in_all(table):
    items, coders, *_ = table
    allocation = allocate(*table)
    for label in [None, *set(items.values())]:
        count = Counter(coder for key in allocation if label in {None, items[key]} for coder in allocation[key])
        readings = [count[coder] for coder in coders]
        assert max(readings) - min(readings) <= 1, label


@given(tables())
def test_overlap_is_spread_over_models_by_their_size(table):
    items, _, percent, readers, _ = table
    allocation = allocate(*table)
    shared = count_overlap(len(items), percent)
    for label, size in Counter(items.values()).items():
        here = sum(len(allocation[key]) == readers and items[key] == label for key in allocation)
        assert abs(here - shared * size / len(items)) < 1


@given(tables(), st.randoms(use_true_random=False))
def test_same_seed_gives_the_same_plan_whatever_the_order_of_what_is_dealt(table, random):
    items, coders, *rest = table
    again_items, again_coders = list(items.items()), list(coders)
    random.shuffle(again_items)
    random.shuffle(again_coders)
    assert allocate(items, coders, *rest) == allocate(dict(again_items), again_coders, *rest)


def test_another_seed_gives_another_plan_under_another_name():
    items = dict.fromkeys(range(12), "")
    plans = [allocate_items(items, [1, 2, 3], overlap_percent=25, seed=seed) for seed in (1, 2)]
    assert plans[0] != plans[1]
    assert fingerprint(plans[0]) != fingerprint(plans[1])


def test_this_plan_is_the_same_on_every_machine():
    allocation = allocate_items(
        {number: "AB"[number % 2] for number in range(6)}, [1, 2, 3], overlap_percent=50, seed=4
    )
    assert list(allocation.values()) == [(1, 2), (3,), (1, 3), (2,), (2,), (1, 3)]


def test_pairs_of_coders_vary():
    allocation = allocate_items(dict.fromkeys(range(24), ""), [1, 2, 3, 4], overlap_percent=100, seed=3)
    pairs = Counter(allocation.values())
    assert len(pairs) == 6
    assert max(pairs.values()) - min(pairs.values()) <= 2


@pytest.mark.parametrize(
    ("items", "percent", "shared"), [(1, 50, 1), (3, 50, 2), (10, 25, 3), (10, 24, 2), (7, 0, 0), (7, 100, 7)]
)
def test_share_is_rounded_half_up(items, percent, shared):
    assert count_overlap(items, percent) == shared


@pytest.mark.parametrize(
    ("items", "coders", "percent", "readers", "words"),
    [
        ({}, [1], 0, 2, "no interview"),
        ({1: ""}, [], 0, 2, "at least one coder"),
        ({1: ""}, [1, 2], 101, 2, "between 0 and 100"),
        ({1: ""}, [1, 2], -1, 2, "between 0 and 100"),
        ({1: ""}, [1], 20, 2, "out of 1 coder."),
        ({1: ""}, [1, 2], 20, 3, "at most the number of coders"),
        ({1: ""}, [1, 2], 20, 1, "Choose at least two"),
    ],
)
def test_numbers_that_make_no_plan_are_refused(items, coders, percent, readers, words):
    with pytest.raises(CannotAllocate, match=words):
        allocate_items(items, coders, overlap_percent=percent, readers=readers)
