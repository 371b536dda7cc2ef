import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.annotators.pure.checking import (
    change_codes,
    list_conditions,
    name_repeats,
    shuffle_codes,
    swap_definitions,
)
from auditapp.annotators.pure.prompts import CodeText


def make_codes(count):
    return [
        CodeText(
            f"id.{place}", f"Name {place}", f"Definition {place}", f"in {place}", f"out {place}", (("anchor", "x"),)
        )
        for place in range(count)
    ]


def test_the_same_question_is_told_as_it_is():
    codes = make_codes(3)
    assert change_codes("repeat-2", codes) == (tuple(codes), {}, {})


def test_reversed_turns_the_order_and_nothing_else():
    codes = make_codes(3)
    assert change_codes("reversed", codes) == (tuple(codes[::-1]), {}, {})


def test_generic_names_hide_identifier_and_name_and_lead_back():
    codes, names, _ = change_codes("generic", make_codes(2))
    assert [(code.identifier, code.name) for code in codes] == [("C1", "C1"), ("C2", "C2")]
    assert [code.definition for code in codes] == ["Definition 0", "Definition 1"]
    assert names == {"C1": "id.0", "C2": "id.1"}


@given(st.integers(min_value=2, max_value=40))
def test_swapped_definitions_give_every_code_that_of_another_and_use_each_once(count):
    codes = make_codes(count)
    swapped, _, definitions = swap_definitions(codes)
    assert [(code.identifier, code.name) for code in swapped] == [(code.identifier, code.name) for code in codes]
    assert sorted(definitions.values()) == sorted(code.identifier for code in codes)
    whose = {code.definition: code.identifier for code in codes}
    for code in swapped:
        assert whose[code.definition] == definitions[code.identifier] != code.identifier


def test_all_that_goes_with_a_definition_moves_with_it():
    first = swap_definitions(make_codes(2))[0][0]
    assert (first.identifier, first.include, first.exclude) == ("id.0", "in 1", "out 1")


def test_one_code_has_nothing_to_swap_with():
    with pytest.raises(ValueError, match="cannot be swapped"):
        swap_definitions(make_codes(1))
    with pytest.raises(ValueError, match="no condition 'upside-down'"):
        change_codes("upside-down", make_codes(2))


def test_what_can_be_asked_depends_on_how_many_codes_there_are():
    assert name_repeats(2) == ["repeat-1", "repeat-2"]
    assert list_conditions(2, asked=7, in_family=7) == ["repeat-1", "repeat-2", "reversed", "generic", "swapped"]
    assert list_conditions(2, asked=1, in_family=7) == ["repeat-1", "repeat-2", "generic", "swapped"]
    assert list_conditions(2, asked=1, in_family=1) == ["repeat-1", "repeat-2", "generic"]


@given(st.integers(min_value=0, max_value=30), st.integers())
def test_a_shuffle_is_another_order_of_the_same_and_the_same_for_the_same_seed(count, seed):
    codes = list(range(count))
    shuffled = shuffle_codes(codes, seed)
    assert sorted(shuffled) == codes
    assert shuffled == shuffle_codes(codes, seed)
    assert count < 2 or shuffled != codes
