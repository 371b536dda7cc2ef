"""Edits of a draft as plain values: whatever is done, what comes out is a codebook again."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.codebook.cast import code, content, contents, family
from transcripts.codebook.pure import editing
from transcripts.codebook.pure.checking import MAX_DEPTH, find_problems, order_as_tree


def names(found):
    return [each.identifier for each in found.codes]


def parents(found):
    return {each.identifier: each.parent for each in found.codes}


def is_whole(found):
    """In the order of a tree, with nothing wrong but that it may be empty or too deep."""
    problems = [each for each in find_problems(found) if each.identifier and "levels deep" not in each.sentence]
    return not problems and order_as_tree(found.codes, found.families) == found.codes


def choose(draw, found):
    return draw.draw(st.sampled_from(names(found)))


class TestAnyEdit:
    @given(contents(), st.data())
    def test_moving_into_another_place_leaves_a_whole_codebook_or_is_refused(self, found, draw):
        moved = editing.find_code(found, choose(draw, found))
        place = draw.draw(st.sampled_from(["f", "g", "t"]))
        parent = draw.draw(st.sampled_from(["", *(each.identifier for each in found.codes if each.family == place)]))
        try:
            after = editing.replace_code(found, replace(moved, family=place, parent=parent))
        except editing.EditRefused:
            return
        assert is_whole(after)
        assert set(names(after)) == set(names(found))
        below = editing.list_below(found, moved.identifier)
        assert all(each.family == place for each in after.codes if each.identifier in below)

    @given(contents(), st.data())
    def test_moving_up_undoes_moving_down(self, found, draw):
        identifier = choose(draw, found)
        down = editing.shift_code(found, identifier, 1)
        assert is_whole(down)
        assert editing.shift_code(down, identifier, -1) == found or down == found

    @given(contents(), st.data())
    def test_taking_out_keeps_what_was_under_it(self, found, draw):
        identifier = choose(draw, found)
        after = editing.remove_codes(found, [identifier])
        assert is_whole(after)
        assert set(names(after)) == set(names(found)) - {identifier}
        gone = editing.find_code(found, identifier)
        assert {parents(after)[each] for each, parent in parents(found).items() if parent == identifier} <= {
            gone.parent
        }

    @given(contents(), st.data())
    def test_merging_leaves_the_one_in_the_place_of_the_others(self, found, draw):
        chosen = draw.draw(st.lists(st.sampled_from(names(found)), min_size=1, unique=True))
        target = editing.find_code(found, draw.draw(st.sampled_from(chosen)))
        try:
            after = editing.merge_codes(found, chosen, target)
        except editing.EditRefused:
            units = {editing.find_code(found, each).family == "t" for each in chosen}
            assert len(chosen) == 1 or len(units) == 2
            return
        assert is_whole(after)
        assert set(names(after)) == set(names(found)) - set(chosen) | {target.identifier}
        merged = editing.find_code(after, target.identifier)
        assert {editing.find_code(found, each).name for each in chosen} == {merged.name, *merged.aliases} - {"x"}

    @given(contents(), st.data())
    def test_merging_into_a_new_code_leaves_the_new_one(self, found, draw):
        of_sentences = [each.identifier for each in found.codes if each.family != "t"]
        if not of_sentences:
            return
        chosen = draw.draw(st.lists(st.sampled_from(of_sentences), min_size=1, unique=True))
        after = editing.merge_codes(found, chosen, code("new", "g"))
        assert is_whole(after)
        assert set(names(after)) == set(names(found)) - set(chosen) | {"new"}

    @given(contents(), st.data())
    def test_splitting_puts_the_parts_where_the_one_was(self, found, draw):
        identifier = choose(draw, found)
        before = editing.find_code(found, identifier)
        after = editing.split_code(found, identifier, [code("p1", "?"), code("p2", "?")])
        assert is_whole(after)
        assert [each for each in names(after) if each in {"p1", "p2"}] == ["p1", "p2"]
        assert editing.find_code(after, "p2").family == before.family
        assert editing.find_code(after, "p2").parent == before.parent


class TestPlaces:
    def test_code_cannot_go_under_what_is_under_it(self):
        found = content(code("a"), code("b", parent="a"))
        with pytest.raises(editing.EditRefused, match="under itself"):
            editing.replace_code(found, code("a", parent="b"))

    def test_codes_move_to_a_family_for_the_same_turns_or_for_anybodys(self):
        sides = (family(), family("m", applies_to="model"), family("i", applies_to="interviewer"))
        found = content(code("a", "m"), code("b", "i"), families=sides)
        assert editing.replace_code(found, code("a", "f")).codes[0].family == "f"
        with pytest.raises(editing.EditRefused, match="M is for the model's turns, I is for the interviewer's turns"):
            editing.replace_code(found, code("a", "i"))
        with pytest.raises(editing.EditRefused, match="cannot be merged"):
            editing.merge_codes(found, ["a", "b"], found.codes[1])
        merged = editing.merge_codes(found, ["a", "b"], code("c", "f"))
        assert [(each.identifier, each.family) for each in merged.codes] == [("c", "f")]

    def test_code_cannot_move_to_a_family_that_is_put_on_something_else(self):
        found = content(code("a"), families=(family(), family("t", unit="turn")))
        with pytest.raises(editing.EditRefused, match="F is applied to sentences, T is applied to turns"):
            editing.replace_code(found, code("a", "t"))

    def test_nine_levels_are_one_too_many(self):
        codes = [code("c0"), *(code(f"c{number}", parent=f"c{number - 1}") for number in range(1, MAX_DEPTH + 1))]
        assert [each.sentence for each in find_problems(content(*codes[:-1]))] == []
        assert [each.sentence for each in find_problems(content(*codes))] == [
            "C8: it is 9 levels deep; the limit is 8."
        ]

    def test_family_with_codes_is_not_removed(self):
        with pytest.raises(editing.EditRefused, match="1 code: A"):
            editing.remove_family(content(code("a")), "f")

    def test_families_change_places_with_their_codes(self):
        found = content(code("a"), code("b", "g"), families=(family(), family("g")))
        assert names(editing.shift_family(found, "g", -1)) == ["b", "a"]


WRONG = [
    (content(), "Add at least one code before publishing."),
    (content(code("a", name=" ")), "The code a has no name."),
    (content(code("a", definition="x" * 20_001)), "a: the definition has 20,001 characters; the limit is 20,000."),
    (content(code("a", key="d"), code("b", key="d")), "B: A already has the key d."),
    (content(code("a", parent="z")), "A: the code it is under, z, does not exist."),
    (content(code("a", "z")), "A: there is no family z."),
    (content(code("a", parent="b"), code("b", parent="a")), "A: it is under itself."),
    (content(code("a"), code("A")), "The code A has the identifier A, which A has too."),
    (content(code("a", color="red")), "A: 'red' is not a colour such as #0c5684."),
]


@pytest.mark.parametrize(("found", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_what_is_wrong_is_said(found, sentence):
    assert sentence in [each.sentence for each in find_problems(found)]


def test_key_that_the_desk_uses_is_refused_with_those_that_are_free():
    for key in "mnxklovcbpz./[]?":
        [problem] = find_problems(content(code("a", key=key)))
        assert problem.sentence.startswith(f"A: The desk uses the key {key} itself. The key of a code is one of 0 1 2")


@pytest.mark.parametrize("wrong", ["A", "ab", "é", " "])
def test_key_that_is_none_is_refused(wrong):
    [problem] = find_problems(content(code("a", key=wrong)))
    assert problem.field == "key"
