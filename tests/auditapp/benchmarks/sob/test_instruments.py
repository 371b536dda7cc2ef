import re

import pytest

from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES
from auditapp.benchmarks.sob.pure.instruments import (
    TASKS,
    UnknownInstrument,
    UnusableWording,
    check_text,
    get_instrument,
    list_variants,
    load_instruments,
    write_wording,
)
from tests.support.shared import shared

PUBLISHED_HASHES = {
    ("acceptability", "paper"): "d2afd4b7d7f5876889a9495730e829094728bd81bf6405aa1e18aadcc827a740",
    ("non_acceptability", "paper"): "c40716d845e774ec92b2f3d383bb70fbd20d8f4a35684f28fc52fa8b592b4e2a",
    ("acceptability", "release"): "1d5fb13b4fb45a6e2e7597cbd074126ff2ae48a145a1fd3e8a523e0577cdd9ae",
    ("non_acceptability", "release"): "b5f8349ed31ec812fc33c9fa805ee9029e7d243015f624da87aa2b138abcbbee",
}

BASE_HASH = "6a5063585fa7d2c9f3172630b45f5e95ecd3457df29c16165274391fd286e46c"


def test_instruments_are_unchanged_to_the_byte():
    hashes = {(one.task, one.variant): one.sha256 for one in load_instruments()}
    assert hashes == {**PUBLISHED_HASHES, ("base", "base"): BASE_HASH}


def test_paper_wording_is_the_default():
    assert get_instrument("acceptability") == get_instrument("acceptability", "paper")


def test_every_instrument_names_its_source_and_how_it_was_assembled():
    for instrument in load_instruments():
        assert "2606.17506" in instrument.source or "commit" in instrument.source
        assert instrument.note


def test_every_instrument_asks_for_the_ten_characteristics_in_their_order():
    for instrument in (get_instrument(task, variant) for task, _ in TASKS for variant in list_variants()):
        listed = [line[2:].lower() for line in instrument.text.splitlines() if line[:2] in {"• ", "- "}]
        assert tuple(listed[3:]) == ATTRIBUTES == instrument.characteristics
        assert instrument.comparable


def test_only_the_release_changes_the_second_decision_rule_of_non_acceptability():
    assert "satisfies any of the above" in get_instrument("non_acceptability").text
    assert "satisfies none of the above" in get_instrument("non_acceptability", "release").text


def test_unknown_instrument_is_refused_with_those_there_are():
    with pytest.raises(UnknownInstrument, match=r"no instrument base \(paper\).*acceptability \(release\)"):
        get_instrument("base")


class TestBasePrompt:
    def test_it_is_named_a_reconstruction_and_compares_with_nothing(self):
        base = get_instrument("base", "base")
        assert "Reconstruction" in base.note
        assert "published nowhere" in base.note
        assert not base.comparable

    def test_it_puts_the_conditions_of_the_paper_and_asks_for_no_demographics(self):
        base, paper = get_instrument("base", "base"), get_instrument("acceptability")
        conditions = [line for line in paper.text.splitlines() if line.startswith("• ")][:3]
        assert [line for line in base.text.splitlines() if line.startswith("• ")] == conditions
        assert not any(name in base.text.lower() for name in ATTRIBUTES if name != "age")
        assert base.characteristics == ()
        for word in ("Acceptable", "Non-acceptable", "Uncertain", "Reasoning"):
            assert word in base.text

    def test_it_is_no_wording_of_the_scored_tasks(self):
        assert list_variants() == ["paper", "release"]


class TestWritingAWording:
    @pytest.mark.parametrize("variant", ["paper", "release"])
    @pytest.mark.parametrize("task", ["acceptability", "non_acceptability"])
    def test_only_the_list_of_characteristics_is_replaced(self, task, variant):
        base = get_instrument(task, variant)
        text = write_wording(base, ["Caste", "Age"])
        bullet = "•" if variant == "paper" else "-"
        assert f"characteristics:\n{bullet} Caste\n{bullet} Age\n\nYour response" in text
        ten = "".join(f"{bullet} {name.capitalize()}\n" for name in ATTRIBUTES)
        assert text.replace(f"{bullet} Caste\n{bullet} Age\n", ten) == base.text
        check_text(text, ["Caste", "Age"])

    @pytest.mark.parametrize(
        ("characteristics", "sentence"),
        [
            ([], "There are 0 characteristics"),
            ([f"trait {number}" for number in range(31)], "There are 31 characteristics"),
            (["Age", " "], "one line of 1 to 60"),
            (["x" * 61], "one line of 1 to 60"),
            (["Age\nRace"], "one line of 1 to 60"),
            (["Gender identity", "gender_IDENTITY"], "is in the list twice"),
            (["Age", "Reasoning"], "would never be counted"),
            (["Person S"], "would never be counted"),
        ],
    )
    def test_characteristics_that_cannot_be_asked_for_are_refused(self, characteristics, sentence):
        with pytest.raises(UnusableWording, match=sentence):
            write_wording(get_instrument("acceptability"), characteristics)

    def test_thirty_characteristics_of_sixty_characters_are_taken(self):
        most = [f"{number:02}".ljust(60, "x") for number in range(30)]
        check_text(write_wording(get_instrument("acceptability"), most), most)

    def test_the_base_prompt_has_no_list_to_replace(self):
        with pytest.raises(UnusableWording, match="no list of characteristics"):
            write_wording(get_instrument("base", "base"), ["Age"])

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("Describe S by age.", "Person: Unknown"),
            ("Describe S by language, or report “Person: Unknown”.", "does not name Age"),
            (
                "Age and the following characteristics:\n- Age\n- Caste\n- Race\n\nPerson: Unknown",
                "lists caste, race, which is not among",
            ),
            ("Age. Person: Unknown. " + "x" * 20_000, "Keep it under 20,000"),
        ],
    )
    def test_a_text_that_could_not_measure_is_refused(self, text, sentence):
        with pytest.raises(UnusableWording, match=sentence):
            check_text(text, ["Age"])

    def test_a_published_text_is_no_wording_of_ones_own(self):
        with pytest.raises(UnusableWording, match="the same as the wording “paper”"):
            check_text(get_instrument("acceptability").text, ATTRIBUTES)


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def test_paper_wording_equals_the_published_tables_word_for_word():
    lines = shared("papers/second_order_bias.txt").read_text(encoding="utf-8").splitlines()
    table8 = next(line for line in lines if line.startswith("You are an analytical assistant"))
    segments = {
        line.split("|")[1].strip(): line.split("|")[2].strip() for line in lines if line.count("| Given a text P")
    }
    assert squeeze(get_instrument("acceptability").text) == table8.strip()
    replaced = table8.replace(segments["Acceptability"], segments["Non-acceptability"])
    assert squeeze(get_instrument("non_acceptability").text) == replaced.strip()
