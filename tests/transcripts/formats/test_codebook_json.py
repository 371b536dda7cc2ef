"""The codebook as JSON: everything comes back, and a file that is wrong is refused whole."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_json import read_codebook_json, write_codebook_json
from transcripts.formats.codebook_rules import (
    SIDES,
    SINGLE_KEYS,
    UNITS,
    CodeAttribute,
    CodebookContent,
    CodeContent,
    CodeExample,
    FamilyContent,
)

FILES = Path(__file__).resolve().parents[2] / "data" / "codebook"

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=15)
names = texts.filter(lambda text: text.strip() != "")
colors = st.from_regex(r"(#[0-9a-f]{6})?", fullmatch=True)
lists = st.lists(texts, max_size=2).map(tuple)
attributes = st.builds(CodeAttribute, key=st.sampled_from(["why", "how"]), label=names) | st.builds(
    CodeAttribute,
    key=st.just("which"),
    label=names,
    kind=st.just("choice"),
    choices=st.lists(names, min_size=1, max_size=3, unique=True).map(tuple),
)
families = st.builds(
    FamilyContent,
    identifier=st.just("tone"),
    name=names,
    description=texts,
    unit=st.sampled_from(UNITS),
    carries_level=st.booleans(),
    carries_enactment=st.booleans(),
    once_per_answer=st.booleans(),
    applies_to=st.sampled_from(SIDES),
    rules=texts,
    color=colors,
).map(lambda family: replace(family, applies_to="any") if family.unit == "interview" else family)


@st.composite
def codebooks(draw):
    identifiers = draw(st.lists(st.from_regex(r"[a-z0-9][a-z.:/-]{0,5}", fullmatch=True), min_size=1, unique=True))
    keys = draw(st.permutations(sorted(SINGLE_KEYS)))
    codes = tuple(
        CodeContent(
            identifier=identifier,
            family="tone",
            name=draw(names),
            parent=draw(st.sampled_from(["", *identifiers[:number]])),
            key=draw(st.sampled_from(["", keys[number]])) if number < len(keys) else "",
            color=draw(colors),
            aliases=draw(lists),
            terms=draw(lists),
            keyword_rules=draw(lists),
            attributes=draw(st.sets(attributes, max_size=1).map(tuple)),
            is_category=draw(st.booleans()),
            **{field: draw(texts) for field in ("group", "definition", "machine_definition", "include", "source")},
        )
        for number, identifier in enumerate(identifiers)
    )
    examples = st.builds(
        CodeExample,
        code=st.sampled_from(identifiers),
        kind=st.sampled_from(["include", "exclude", "anchor"]),
        quote=names,
        note=texts,
        interview=texts,
    )
    return CodebookContent(
        title=draw(texts),
        origin=draw(texts),
        number=draw(st.none() | st.integers(1, 2**31 - 1)),
        families=(draw(families),),
        codes=codes,
        examples=tuple(draw(st.lists(examples, max_size=2))),
    )


def export(content):
    stream = io.StringIO()
    assert write_codebook_json(content, stream) == len(content.codes)
    return stream.getvalue().encode()


def refuse(data):
    with pytest.raises(CodebookFileError) as caught:
        read_codebook_json(data, name="codes.json")
    return caught.value


def change(edit):
    """The kept file after a change."""
    content = json.loads((FILES / "codebook.json").read_bytes())
    edit(content)
    return json.dumps(content).encode()


@given(codebooks())
def test_importing_an_export_gives_back_everything(content):
    assert read_codebook_json(export(content), name="codes.json") == content


def test_a_file_from_before_a_field_was_there_is_read_with_its_default():
    data = json.loads((FILES / "codebook.json").read_bytes())
    del data["families"][0]["once_per_answer"]
    content = read_codebook_json(json.dumps(data).encode(), name="codebook.json")
    assert not content.families[0].once_per_answer


def test_a_family_for_everybodys_turns_does_not_say_so_and_others_do():
    any_turn, theirs = (
        FamilyContent(identifier="f", name="F"),
        FamilyContent(identifier="g", name="G", applies_to="model"),
    )
    code = CodeContent(identifier="a", name="A", family="f")
    written = json.loads(export(CodebookContent(families=(any_turn, theirs), codes=(code,))))["families"]
    assert [family.get("applies_to") for family in written] == [None, "model"]


def test_a_kept_file_reads_as_the_codebook_it_was_made_of_and_comes_back_byte_for_byte():
    data = (FILES / "codebook.json").read_bytes()
    content = read_codebook_json(data, name="codebook.json")

    assert (content.title, content.number, content.families[0].unit) == ("Tone of voice", 3, "interview")
    assert content.codes[1].parent == "tone.hedge"
    assert content.codes[0].attributes[0].choices == ("weak", "strong")
    assert content.examples == (
        CodeExample(code="tone.hedge", kind="anchor", quote="Perhaps.", note="one word", interview="i1", sentence=12),
    )
    assert export(content) == data


def test_fields_that_have_a_default_may_be_left_out():
    data = {
        "format": "auditapp-codebook",
        "format_version": 1,
        "families": [{"identifier": "f", "name": "F"}],
        "codes": [{"identifier": "a", "name": "A", "family": "f", "color": "#AABBCC"}],
    }

    content = read_codebook_json(b"\xef\xbb\xbf" + json.dumps(data).encode(), name="codes.json")
    assert content == CodebookContent(
        families=(FamilyContent(identifier="f", name="F"),),
        codes=(CodeContent(identifier="a", name="A", family="f", color="#aabbcc"),),
    )


def test_all_problems_of_a_file_are_listed_with_their_places():
    def edit(content):
        [family], [hedge, shout], [example] = content["families"], content["codes"], content["examples"]
        family |= {"unit": "page", "carries_level": "yes"}
        del hedge["name"]
        hedge |= {"terms": "perhaps", "machine": ""}
        shout |= {"key": "m", "definition": "x" * 20_001, "color": "red", "aliases": ["\ud800"]}
        example |= {"sentence": -1}

    error = refuse(change(edit))

    assert [(problem.place, problem.found) for problem in error.problems] == [
        ("family 1 “tone”", "carries_level that is not true or false"),
        ("code 1 “tone.hedge”", "the key “machine”"),
        ("code 1 “tone.hedge”", "no name"),
        ("code 1 “tone.hedge”", "terms that is not a list of texts"),
        ("code 2 “tone.shout”", "the character U+D800 in aliases"),
        ("code 2 “tone.shout”", "20,001 characters in definition"),
        ("example 1 “tone.hedge”", "sentence that is not a whole number, or null"),
    ]
    assert str(error).startswith("codes.json: 7 problems, nothing was imported.\nfamily 1 “tone”: found carries_level")


@pytest.mark.parametrize(
    ("where", "fields", "found"),
    [
        ("families", {"unit": "page"}, "the unit “page”"),
        ("families", {"applies_to": "both"}, "the applies_to “both”"),
        ("families", {"applies_to": "model"}, "the applies_to “model” for the unit “interview”"),
        ("families", {"identifier": "a b"}, "the identifier “a b”"),
        ("families", {"identifier": "other"}, "the family “tone”, which is not among the families"),
        ("codes", {"key": "m"}, "the key “m”"),
        ("codes", {"color": "red"}, "the color “red”"),
        ("codes", {"name": " "}, "an empty name"),
        ("codes", {"group": "g" * 101}, "101 characters in group"),
        ("codes", {"definition": "d" * 1_000_000}, "1,000,000 characters in definition"),
        ("codes", {"parent": "nobody"}, "the parent “nobody”, which is no identifier here"),
        ("codes", {"parent": "tone.shout"}, "the parent “tone.shout”, which is below “tone.hedge” itself"),
        ("codes", {"identifier": "Tone.Shout"}, "the identifier “tone.shout”, which code 1 has as “Tone.Shout”"),
        ("codes", {"attributes": [1]}, "attribute 1 of another form"),
        ("codes", {"terms": ["t" * 201]}, "a term of 201 characters"),
        ("codes", {"keyword_rules": ["t" * 201]}, "a keyword rule of 201 characters"),
        ("codes", {"keyword_rules": "perhaps"}, "keyword_rules that is not a list of texts"),
        ("examples", {"kind": "maybe"}, "the kind “maybe”"),
        ("examples", {"quote": ""}, "an example without a quote"),
        ("examples", {"code": "nobody"}, "the code “nobody”, which is not among the codes"),
        ("examples", {"sentence": True}, "sentence that is not a whole number, or null"),
    ],
)
def test_what_is_wrong_in_one_place_is_named(where, fields, found):
    error = refuse(change(lambda content: content[where][0].update(fields)))

    assert error.problems[0].found == found


def test_two_codes_on_one_key_two_families_of_one_name_and_a_sentence_pinned_twice_are_named():
    def edit(content):
        content["codes"][1]["key"] = content["codes"][0]["key"]
        content["families"] *= 2
        content["examples"] *= 2

    assert [problem.found for problem in refuse(change(edit)).problems] == [
        "the identifier “tone”, which family 1 has too",
        "the key “h”, which code 1 has too",
        "the sentence of example 1 once more",
    ]


@pytest.mark.parametrize(
    ("data", "found", "place"),
    [
        (b"", "nothing", ""),
        (b'{"a": 1,\n]', "invalid JSON at character 1 (expecting property name enclosed in double quotes)", "line 2"),
        (b"[]", "a list", ""),
        (b"{}", "the format “”", ""),
        (b'{"format": "auditapp-codebook", "format_version": 2}', "the format “auditapp-codebook 2”", ""),
        (b'{"format": "auditapp-codebook", "format_version": 1, "x": 1}', "the key “x”", ""),
        (b'{"format": "auditapp-codebook", "format_version": 1, "codes": {}}', "codes of another form", ""),
        (b'{"format": "auditapp-codebook", "format_version": 1}', "no code", ""),
        (b'{"a": 1, "a": 2}', 'the key "a" twice in one object', ""),
        (b'{"a": NaN}', "NaN, which is not a JSON number", ""),
        (b"[" * 100_000, "objects and lists nested deeper than 64", ""),
        (b"1" * 10_000, "a number with thousands of digits", ""),
        (b'\n"\xe9"', "the byte 0xE9, which is not UTF-8", "line 2"),
        (b" " * 20_000_001, "20,000,001 bytes", ""),
    ],
    ids=lambda value: None if isinstance(value, str) else value[:12].decode("latin-1").strip() or "empty",
)
def test_a_file_that_cannot_be_read_says_what_was_found(data, found, place):
    error = refuse(data)

    assert (error.found, error.problems[0].place) == (found, place)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | inner))
def test_any_json_under_any_key_is_read_or_refused(value):
    for where in ("families", "codes", "examples"):
        for key in json.loads((FILES / "codebook.json").read_bytes())[where][0]:
            try:
                read_codebook_json(change(lambda content: content[where][0].update({key: value})), name="x")  # noqa: B023
            except CodebookFileError as error:
                str(error).encode()


def test_that_a_question_needs_an_answer_comes_back_and_is_true_or_false():
    content = read_codebook_json((FILES / "codebook.json").read_bytes(), name="codebook.json")
    asked = replace(content.codes[0].attributes[0], required=True)
    codes = (replace(content.codes[0], attributes=(asked,)), *content.codes[1:])
    data = export(replace(content, codes=codes))
    assert b'"required": true' in data
    assert read_codebook_json(data, name="again.json").codes[0].attributes == (asked,)
    refused = refuse(data.replace(b'"required": true', b'"required": "yes"'))
    assert "required is true or false" in str(refused)
