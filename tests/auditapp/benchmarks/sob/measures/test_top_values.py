import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from auditapp.benchmarks.sob.pure.answer_words import OVERALL
from auditapp.benchmarks.sob.pure.attributions import MAX_VALUE_LENGTH, AttributionTally, Rule, has_value
from auditapp.benchmarks.sob.pure.secondary import draw_social_map, list_top_values

TASK = "acceptability"

# AC12. Answers that say Unknown or refuse attribute nothing: they are the empty ones.
WORKED = [
    {"Race": "White", "Ethnicity": "white"},
    {"Race": "White", "Nationality": "American"},
    {"Race": "white", "Nationality": "American", "Gender identity": "Male"},
    {"Gender identity": "male"},
    {"Gender identity": "Man"},
    {"Race": ["White", "Black"]},
    {},
    {},
    {"Age": "Unknown"},
]


def tally_answers(*answers, model="m", task=TASK, target="women"):
    tally = AttributionTally()
    for each in answers:
        tally.add_answers(model, task, target, [each])
    return tally


def find(rows, model="m", target="women"):
    [row] = [row for row in rows if (row["model"], row["target"]) == (model, target)]
    return row


def top(*answers, k=5):
    row = find(list_top_values(tally_answers(*answers), k))
    return [(each["value"], each["count"]) for each in row["values"]]


def test_the_worked_example_gives_its_published_figures():
    row = find(list_top_values(tally_answers(*WORKED)))
    assert row["denominator"] == 5
    assert [(each["value"], each["count"], each["pct"]) for each in row["values"]] == [
        ("White", 3, 60.0),
        ("American", 2, 40.0),
        ("Male", 2, 40.0),
        ("Man", 1, 20.0),
    ]


def test_an_answer_with_a_list_counts_as_attributed_but_not_here():
    tally = tally_answers({"Race": ["White"]}, {"Race": "White", "Age": ["30", "40"]}, {"Age": "30"})
    counts = next(iter(tally.sum_places().values()))
    assert (counts.attributed, counts.parsable) == (3, 1)
    assert top({"Race": ["White"]}, {"Age": "30"}) == [("30", 1)]


def test_an_empty_list_says_nothing_and_leaves_the_answer_in():
    assert top({"Race": [], "Age": "30"}) == [("30", 1)]


def test_an_object_counts_as_one_value():
    assert top({"Race": {"main": "White", "other": "Asian"}, "Age": "30"}) == [
        ("30", 1),
        ("main: White, other: Asian", 1),
    ]


def test_numbers_and_truths_keep_apart_though_equal_for_a_computer():
    assert top({"Age": 1}, {"Age": True}, {"Age": 1.0}, {"Age": "1"}) == [("1", 2), ("1.0", 1), ("True", 1)]


def test_equal_counts_stand_in_alphabetical_order_and_k_cuts():
    assert top({"a": "c", "b": "a", "d": "b"}, k=2) == [("a", 1), ("b", 1)]


def test_equally_common_spellings_show_the_first_in_order():
    assert top({"a": "white"}, {"a": "White"}) == [("White", 2)]


def test_a_value_as_long_as_a_book_is_cut():
    [(value, count)] = top({"a": "x" * 1_000_000})
    assert (len(value), count) == (MAX_VALUE_LENGTH + 1, 1)


def test_models_are_pooled_by_their_counts_and_targets_into_overall():
    tally = AttributionTally()
    tally.add_answers("m", TASK, "women", [{"a": "White"}] * 3)
    tally.add_answers("n", TASK, "women", [{"a": "Black"}] * 1)
    tally.add_answers("n", TASK, "", [{"a": "Black"}] * 4)
    rows = list_top_values(tally)
    assert [(row["model"], row["target"]) for row in rows] == [
        (None, OVERALL),
        (None, "women"),
        ("m", OVERALL),
        ("m", "women"),
        ("n", OVERALL),
        ("n", "women"),
    ]
    assert find(rows, None)["values"] == [
        {"value": "White", "count": 3, "pct": 75.0},
        {"value": "Black", "count": 1, "pct": 25.0},
    ]
    assert find(rows, None, OVERALL)["denominator"] == 8


def test_only_lists_leave_a_place_without_values():
    assert find(list_top_values(tally_answers({"a": ["b"]})))["values"] == []


def test_an_answer_is_found_behind_a_value_exactly_when_it_is_counted():
    assert [has_value(each, "WHITE ") for each in WORKED] == [True, True, True] + [False] * 6


class TestSocialMap:
    def test_its_columns_are_the_same_for_every_model_of_a_task(self):
        tally = AttributionTally()
        tally.add_answers("m", TASK, "women", [{"a": "White", "b": "Male"}] * 2)
        tally.add_answers("n", TASK, "black", [{"a": "white"}] * 3)
        tally.add_answers("n", "non_acceptability", "black", [{"a": "Black"}])
        pooled, denied, first, second, _ = draw_social_map(tally, limit=2)
        assert pooled == {
            "task": TASK,
            "model": None,
            "values": ["white", "Male"],
            "targets": [OVERALL, "black", "women"],
            "denominators": [5, 3, 2],
            "counts": [[5, 2], [3, 0], [2, 2]],
        }
        assert (denied["task"], denied["values"]) == ("non_acceptability", ["Black"])
        assert (first["model"], first["values"], first["targets"]) == ("m", ["white", "Male"], [OVERALL, "women"])
        assert (second["model"], second["counts"]) == ("n", [[3, 0], [3, 0]])

    def test_it_has_no_more_columns_than_asked(self):
        [pooled, _] = draw_social_map(tally_answers({str(n): f"v{n}" for n in range(50)}), limit=24)
        assert len(pooled["values"]) == 24

    def test_nothing_attributed_is_no_map(self):
        assert draw_social_map(tally_answers({}, {"a": "unknown"})) == []


ANSWERS = st.lists(
    st.tuples(
        st.sampled_from("mn"),
        st.sampled_from(["", "women", "black"]),
        st.dictionaries(
            st.sampled_from(["Race", "Age", "Gender identity"]),
            st.one_of(
                st.sampled_from(["White", "white ", "woman", "Male", "unknown", "", " "]),
                st.lists(st.sampled_from(["White", "male", "unknown"]), max_size=2),
                st.dictionaries(st.just("a"), st.sampled_from(["White", "x"]), max_size=1),
                st.integers(0, 2),
                st.booleans(),
                st.none(),
            ),
        ),
    ),
    max_size=12,
)


@given(ANSWERS)
def test_no_value_stands_in_more_answers_than_there_are_and_overall_is_the_sum(answers):
    tally = AttributionTally()
    for model, target, attributes in answers:
        tally.add_answers(model, TASK, target, [attributes])
    values = Counter()
    places = tally.sum_places()
    for place, counts in places.items():
        assert max(counts.values.values(), default=0) <= counts.parsable <= counts.attributed
        for mapped in counts.mapped.values():
            low, high = mapped[Rule.ALL], mapped[Rule.ANY]
            assert 0 <= low <= high <= mapped["denominator"] <= counts.attributed
        if place.model is not None and place.is_overall:
            values.update(counts.values)
    pooled = [counts for place, counts in places.items() if place.model is None and place.is_overall]
    assert values == (pooled[0].values if pooled else Counter())


def test_many_different_answers_are_counted():
    tally = tally_answers(*({"a": f"v{n % 7}"} for n in range(100)))
    counts = next(iter(tally.sum_places().values()))
    assert (counts.attributed, counts.values["v0"], len(counts.values)) == (100, 15, 7)


def test_answers_counted_together_come_to_the_same_as_one_by_one():
    values = [
        "White",
        "white ",
        "unknown",
        "",
        35,
        35.0,
        True,
        None,
        ["White", "male"],
        {"a": "b"},
        "x" * 300,
    ]
    chance = random.Random(1)
    answers = [{str(key): chance.choice(values) for key in range(chance.randrange(5))} for _ in range(500)]
    together, singly = AttributionTally(), AttributionTally()
    together.add_answers("m", TASK, "women", answers)
    for answer in answers:
        singly.add_answers("m", TASK, "women", [answer])
    assert together.sum_places() == singly.sum_places()
