"""What two versions differ in, and what became of codes on the way."""

from dataclasses import replace

from hypothesis import given

from tests.transcripts.codebook.cast import code, content, contents, family
from transcripts.codebook.pure.comparing import IN, OUT, Step, compare, follow, trace
from transcripts.formats.codebook_rules import CodeAttribute


def list_kind(comparison, kind):
    return {code.identifier for code in comparison.codes if kind in code.kinds}


@given(contents())
def test_version_does_not_differ_from_itself(found):
    comparison = compare(found, found)
    assert comparison.is_empty
    assert comparison.unchanged == len(found.codes)


@given(contents(), contents())
def test_every_code_is_told_of_or_unchanged(before, after):
    comparison = compare(before, after)
    told = {each.identifier for each in comparison.codes}
    old, new = ({each.identifier for each in side.codes} for side in (before, after))
    assert list_kind(comparison, "added") == new - old
    assert list_kind(comparison, "removed") == old - new
    assert comparison.unchanged == len(old & new) - len(told & old & new)
    for each in comparison.codes:
        for field, (_, pieces) in each.texts.items():
            assert each.before is not None
            assert each.after is not None
            assert "".join(text for kind, text in pieces if kind != IN) == getattr(each.before, field)
            assert "".join(text for kind, text in pieces if kind != OUT) == getattr(each.after, field)


def test_each_kind_of_change_is_named():
    before = content(code("a", key="d", definition="One."), code("b"), code("c"))
    after = content(
        code("a", name="Other", key="f", definition="Two.", color="#2f7fb5"), code("c"), code("b", parent="c")
    )
    found = {each.identifier: each for each in compare(before, after).codes}
    assert found["a"].kinds == ["renamed", "redefined", "key changed", "adjusted"]
    assert found["b"].kinds == ["moved"]
    assert found["b"].facts["place"][2] == "F, under C"
    assert found["a"].means_other
    assert not found["b"].means_other


def test_definition_for_machines_does_not_change_what_it_means_to_people():
    [found] = compare(content(code("a")), content(code("a", machine_definition="Answer yes."))).codes
    assert found.kinds == ["redefined"]
    assert not found.means_other


def test_codes_of_a_family_that_is_put_on_something_else_mean_something_else():
    turns = replace(content(code("a")), families=(family(unit="turn"),))
    comparison = compare(content(code("a")), turns)
    assert comparison.codes[0].means_other
    assert comparison.families[0].facts["unit"] == ("Applied to", "sentence", "turn")


def test_a_family_that_becomes_once_per_answer_is_told_and_its_codes_mean_the_same():
    once = replace(content(code("a")), families=(family(once_per_answer=True),))
    comparison = compare(content(code("a")), once)
    assert comparison.families[0].facts["once_per_answer"] == ("At most once per answer", "no", "yes")
    assert comparison.codes == []


def test_codes_of_a_family_that_is_for_other_turns_mean_something_else():
    theirs = replace(content(code("a")), families=(family(applies_to="interviewer"),))
    comparison = compare(content(code("a")), theirs)
    assert comparison.codes[0].means_other
    assert comparison.codes[0].kinds == ["redefined"]
    assert comparison.families[0].facts["applies_to"] == ("Whose turns", "any", "interviewer")


def test_as_few_codes_as_can_be_count_as_moved_by_a_new_order():
    before = content(*(code(each) for each in "abcde"))
    after = content(*(code(each) for each in "eabcd"))
    assert list_kind(compare(before, after), "moved") == {"e"}


def test_questions_and_lists_are_shown_in_words():
    question = CodeAttribute(key="why", label="Why?", kind="choice", choices=("yes", "no"))
    [found] = compare(content(code("a")), content(code("a", attributes=(question,), terms=("x", "y")))).codes
    assert {label: after for label, _, after in found.facts.values()} == {
        "Terms": "x; y",
        "Questions": "Why? (yes, no)",
    }


def test_pinned_sentences_are_part_of_a_version():
    same = content(code("a"))
    comparison = compare(same, same, examples_before={"a": ["s1"]}, examples_after={"a": ["s2"]})
    assert comparison.codes[0].kinds == ["examples changed"]
    assert (comparison.codes[0].examples_in, comparison.codes[0].examples_out) == (["s2"], ["s1"])


STEPS = [
    Step(2, "merged", "a", "c", reason="the same"),
    Step(2, "merged", "b", "c"),
    Step(3, "split", "c", "d"),
    Step(3, "split", "c", "e"),
    Step(4, "retired", "e", ""),
]
NAMES = {
    1: {"a": "A", "b": "B", "k": "K"},
    2: {"c": "C", "k": "K"},
    3: {"d": "D", "e": "E", "k": "Kept"},
    4: {"d": "D", "k": "Kept"},
}


def test_merges_and_splits_are_told_beside_the_codes():
    found = {each.identifier: each for each in compare(content(code("a")), content(code("c")), steps=STEPS[:1]).codes}
    assert [step.from_identifier for step in found["c"].origins] == ["a"]
    assert [step.to_identifier for step in found["a"].successors] == ["c"]


def test_lineage_goes_back_through_splits_and_merges():
    lineage = trace("d", NAMES, STEPS)
    assert lineage is not None
    assert (lineage.first_version, lineage.last_version) == (3, 4)
    [split] = lineage.origins
    assert split.lineage.identifier == "c"
    assert [origin.lineage.identifier for origin in split.lineage.origins] == ["a", "b"]


def test_lineage_tells_renamings_and_endings():
    kept, ended = trace("k", NAMES, STEPS), trace("a", NAMES, STEPS)
    assert kept is not None
    assert ended is not None
    assert [tuple(renaming) for renaming in kept.renamings] == [(3, "K", "Kept")]
    assert [step.to_identifier for step in ended.endings] == ["c"]
    assert trace("nobody", NAMES, STEPS) is None


def test_codes_that_went_round_in_a_circle_end_the_story():
    steps = [Step(2, "split", "a", "b"), Step(3, "merged", "b", "a")]
    names = {1: {"a": "A"}, 2: {"b": "B"}, 3: {"a": "A"}}
    lineage = trace("a", names, steps)
    assert lineage is not None
    assert [origin.lineage.identifier for origin in lineage.origins] == ["b"]
    assert lineage.origins[0].lineage.origins == []


def test_what_became_of_a_code_is_followed_to_where_it_stands():
    assert follow("k", STEPS, NAMES[4]) == ("kept", ("k",))
    assert follow("a", STEPS, NAMES[2]) == ("merged", ("c",))
    assert follow("a", STEPS, NAMES[3]) == ("split", ("d", "e"))
    assert follow("a", STEPS, NAMES[4]) == ("split", ("d",))
    assert follow("e", STEPS, NAMES[4]) == ("retired", ())
    assert follow("gone", [], NAMES[4]) == ("retired", ())
