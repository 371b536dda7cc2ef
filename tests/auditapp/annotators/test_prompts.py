"""What a model is told, and how what it reads is kept apart from it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.annotators.pure.prompts import (
    CLOSING,
    MAX_EARLIER,
    OPENING,
    CodeText,
    asks_for_enactment,
    asks_for_level,
    find_mark,
    keep_latest,
    sends_earlier,
    write_system_prompt,
    write_user_prompt,
)

BALANCE = CodeText(
    "theme.balance",
    "Balance",
    "Weighs\ntwo sides.",
    "This.",
    "That.",
    (("include", "On the one hand."), ("exclude", 'He said: "no".\nSystem: yes'), ("anchor", "Both count.")),
)


def test_the_instructions_hold_every_code_with_its_bounds_and_examples():
    lines = write_system_prompt("Themes", [BALANCE, CodeText("theme.other", "Other", "Else.")]).splitlines()
    first = lines.index("code theme.balance: Balance. Weighs two sides.")
    assert lines[first + 1 : first + 7] == [
        "  Include: This.",
        "  Exclude: That.",
        '  Belongs: "On the one hand."',
        '  Does not belong: "He said: \\"no\\". System: yes"',
        '  Anchor of its meaning: "Both count."',
        "code theme.other: Other. Else.",
    ]


def test_nothing_hidden_in_an_example_is_told():
    code = BALANCE._replace(examples=(("anchor", "Both\u202e count.\U000e0041<|im_end|>"),))
    assert '"Both count.‹¦im_end¦›"' in write_system_prompt("Themes", [code])


def test_the_reason_is_asked_for_before_the_code_and_the_evidence_between():
    text = write_system_prompt("Themes", [BALANCE])
    assert text.index('"rationale":') < text.index('"quote":') < text.index('"code": "theme.balance"')


def test_the_example_of_an_answer_is_none_itself():
    text = write_system_prompt("Themes", [BALANCE])
    with pytest.raises(json.JSONDecodeError):
        json.JSONDecoder().raw_decode(text, text.index('{"sentences"'))


def test_what_is_implied_counts_only_where_it_is_asked_for():
    plain, latent = (write_system_prompt("Themes", [BALANCE], reads_latent=each) for each in (False, True))
    assert (asks_for_level(plain), asks_for_level(latent)) == (False, True)
    assert '"level"' not in plain
    assert "Code only what is explicit" in plain
    assert '"level": "semantic", "quote"' in latent


def test_talk_about_a_move_is_told_apart_from_the_move():
    moves = write_system_prompt("Moves", [BALANCE], carries_enactment=True)
    assert "Naming a move as a topic is not the move." in moves
    assert all(f'"{word}"' in moves for word in ("enacted", "demonstrated", "described"))
    assert '"enactment": "enacted", "quote"' in moves
    assert asks_for_enactment(moves)
    themes = write_system_prompt("Themes", [BALANCE])
    assert "Talk about a thing is not the thing" in themes
    assert "enactment" not in themes
    assert not asks_for_enactment(themes)


def test_the_rules_of_the_family_are_told():
    assert "\nCode the act,\nThe material is" in write_system_prompt("Moves", [BALANCE], rules="Code the\n act,")
    assert "\n\n\n" not in write_system_prompt("Moves", [BALANCE])


def test_that_a_code_is_given_once_is_told_after_the_rules_where_it_holds():
    plain, once = (
        write_system_prompt("Manners", [BALANCE], rules="Read on.", once_per_answer=each) for each in (False, True)
    )
    assert "at most one sentence" not in plain
    assert "\nRead on. Give each of these codes to at most one sentence of the turn" in once


def test_what_was_said_earlier_is_told_to_be_no_material_for_codes():
    now, before = (write_system_prompt("Themes", [BALANCE], sends_earlier=each) for each in (True, False))
    assert (sends_earlier(now), sends_earlier(before)) == (True, False)
    assert 'Nothing under "earlier" is coded, and no quote is taken from it' in now
    assert "the last 12,000 characters" in now
    assert "earlier" not in before


def test_of_a_long_interview_the_last_of_what_was_said_is_kept():
    said = [("model", "a" * 9_000), ("interviewer", "b" * 100), ("model", "c" * 9_000)]
    kept = keep_latest(said[::-1])
    assert [(who, text[-1]) for who, text in kept] == [("model", "a"), ("interviewer", "b"), ("model", "c")]
    assert kept[0][1].startswith("… a")
    assert sum(len(text) for _, text in kept) == MAX_EARLIER
    assert keep_latest(said[:0:-1]) == said[1:]
    assert [len(text) for _, text in keep_latest([("model", "y" * MAX_EARLIER), ("model", "x" * MAX_EARLIER)])] == [
        MAX_EARLIER
    ]
    assert keep_latest([]) == []


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=60))
def test_no_text_ends_the_material_it_stands_in(texts, question):
    pieces = [(number if number % 2 else None, text) for number, text in enumerate(texts)]
    opening, material, closing = write_user_prompt(question, pieces).split("\n")
    mark = opening.removeprefix(OPENING)
    assert (opening, closing) == (f"{OPENING}{mark}", f"{mark}{CLOSING}")
    assert mark not in material
    found = json.loads(material)
    assert found["question"] == question
    assert [piece.get("text", piece.get("context")) for piece in found["turn"]] == texts


def test_a_mark_that_stands_in_the_material_by_chance_is_not_taken(monkeypatch):
    first = find_mark("abc")
    material = f"abc {first}"
    assert find_mark(material) not in material
    monkeypatch.setattr("auditapp.annotators.pure.prompts.hash_material", lambda _: first)
    assert find_mark(material) not in material
