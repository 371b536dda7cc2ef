from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.probe.pure.instruments import load_prompts, load_published_themes
from auditapp.probe.pure.parsing import STATUSES, parse_answer
from tests.auditapp.probe.making import write_answer
from tests.shared import shared


@pytest.mark.parametrize(
    ("raw", "status", "predicted", "codes"),
    [
        (write_answer("Female", "Emotion"), "ok", "woman", ["Emotion"]),
        (write_answer("male", "none"), "ok", "man", []),
        (write_answer("[Female]", "[Emotional Expression]", "1. Emotion"), "ok", "woman", ["Emotion"]),
        ("**Gender**: Male\n**Codes Applied**: Emotion, textual style", "ok", "man", ["Emotion", "Textual Style"]),
        ("**Gender:**\r\n- Female\r\n**Codes Applied:**\r\n- Politeness\r\n", "ok", "woman", ["Politeness"]),
        ("Gender: Male\nCodes Applied:\n- None\n\nNote: this is only a guess.", "ok", "man", []),
        (
            '{"Gender": "Female", "Codes Applied": "Emotion, Other: Warmth"}',
            "ok",
            "woman",
            ["Emotion", "Other: Warmth"],
        ),
        (write_answer("Woman"), "invalid", None, []),
        (write_answer("Male or Female"), "invalid", None, []),
        (write_answer("Unclear"), "invalid", None, []),
        ("**Gender:**\n-Male", "invalid", None, []),
        ("**Gender:** Male\n**Gender:** Female\n**Codes Applied:**\n-None", "invalid", None, []),
        ('{"gender": "Male"}', "invalid", None, []),
        ('{"gender": ["Male"], "codes_applied": []}', "invalid", None, []),
        ("I’m sorry, but I must decline to infer this.", "refused", None, []),
        ("The writer is a woman.", "invalid", None, []),
        ("  \n", "no_answer", None, []),
        (None, "no_answer", None, []),
    ],
)
def test_answers_are_read_by_rule(raw: str | None, status: str, predicted: str | None, codes: list[str]) -> None:
    found = parse_answer(raw)
    assert (found.status, found.predicted, list(found.codes)) == (status, predicted, codes)


def test_unclear_is_an_abstention_only_where_the_prompt_allows_it() -> None:
    assert parse_answer(write_answer("Unclear"), may_abstain=True).status == "abstained"
    assert parse_answer(write_answer("Female"), may_abstain=True).status == "ok"


def test_rationales_are_kept_by_category_and_empty_ones_are_not() -> None:
    raw = write_answer(
        "Female", "Emotion", Emotion="She writes\nof hurt.", Declaration="None", Textual_Style="capitals"
    )
    assert parse_answer(raw).rationales == {"Emotion": "She writes\nof hurt.", "Textual Style": "capitals"}
    from_json = '{"rationales": {"emotion": "hurt", "Textual Style": "n/a"}, "gender": "Female", "codes_applied": []}'
    assert parse_answer(from_json).rationales == {"Emotion": "hurt"}


@given(st.text(max_size=300))
def test_any_text_gets_a_status_and_only_ok_has_a_prediction(raw: str) -> None:
    found = parse_answer(raw)
    assert found.status in STATUSES
    assert (found.predicted is not None) == (found.status == "ok") == (found.subset is not None)


def test_conditions_differ_in_what_the_paper_says_they_differ_in() -> None:
    prompts = load_prompts()
    control, primed, may_abstain = (prompts[name].text for name in ("control", "primed", "may_abstain"))
    assert "Emotion" not in control
    assert "emotional tone" not in control
    assert "Textual Style" not in control
    assert "1. Emotion: The emotional tone" in primed
    assert "You must make a guess" in control
    assert "You must make a guess" not in may_abstain
    assert len({prompt.sha256 for prompt in prompts.values()}) == 3


def test_published_wording_is_quoted_exactly() -> None:
    paper = shared("papers/bias_negotiation.txt").read_text(encoding="utf-8")
    primed = load_prompts()["primed"].text.split("\n")
    assert [line for line in primed if line not in paper] == []
    assert [name for name, _ in load_published_themes() if name not in paper] == []
    assert len(load_published_themes()) == 18
