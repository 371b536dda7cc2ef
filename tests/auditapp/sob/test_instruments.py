from __future__ import annotations

import re

import pytest

from auditapp.sob.instruments import UnknownInstrument, get_instrument, load_instruments
from auditapp.sob.parsing import ATTRIBUTES
from tests.shared import shared

PUBLISHED_HASHES = {
    ("acceptability", "paper"): "d2afd4b7d7f5876889a9495730e829094728bd81bf6405aa1e18aadcc827a740",
    ("non_acceptability", "paper"): "c40716d845e774ec92b2f3d383bb70fbd20d8f4a35684f28fc52fa8b592b4e2a",
    ("acceptability", "release"): "1d5fb13b4fb45a6e2e7597cbd074126ff2ae48a145a1fd3e8a523e0577cdd9ae",
    ("non_acceptability", "release"): "b5f8349ed31ec812fc33c9fa805ee9029e7d243015f624da87aa2b138abcbbee",
}


def test_instruments_are_unchanged_to_the_byte() -> None:
    hashes = {(one.task, one.variant): one.sha256 for one in load_instruments()}
    assert hashes == PUBLISHED_HASHES


def test_paper_wording_is_the_default() -> None:
    assert get_instrument("acceptability") == get_instrument("acceptability", "paper")


def test_every_instrument_names_its_source_and_how_it_was_assembled() -> None:
    for instrument in load_instruments():
        assert "2606.17506" in instrument.source or "commit" in instrument.source
        assert instrument.note


def test_every_instrument_asks_for_the_ten_characteristics_in_their_order() -> None:
    for instrument in load_instruments():
        listed = [line[2:].lower() for line in instrument.text.splitlines() if line[:2] in {"• ", "- "}]
        assert tuple(listed[3:]) == ATTRIBUTES


def test_only_the_release_changes_the_second_decision_rule_of_non_acceptability() -> None:
    assert "satisfies any of the above" in get_instrument("non_acceptability").text
    assert "satisfies none of the above" in get_instrument("non_acceptability", "release").text


def test_unknown_instrument_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownInstrument, match=r"no instrument base \(paper\).*acceptability \(release\)"):
        get_instrument("base")


def squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def test_paper_wording_equals_the_published_tables_word_for_word() -> None:
    lines = shared("papers/second_order_bias.txt").read_text(encoding="utf-8").splitlines()
    table8 = next(line for line in lines if line.startswith("You are an analytical assistant"))
    segments = {
        line.split("|")[1].strip(): line.split("|")[2].strip() for line in lines if line.count("| Given a text P")
    }
    assert squeeze(get_instrument("acceptability").text) == table8.strip()
    replaced = table8.replace(segments["Acceptability"], segments["Non-acceptability"])
    assert squeeze(get_instrument("non_acceptability").text) == replaced.strip()
