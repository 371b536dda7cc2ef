import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.benchmarks.gender_cues.pure.parsing import STATUSES, load_prompts, load_published_themes, parse_answer
from tests.auditapp.benchmarks.gender_cues.making import write_answer
from tests.support.shared import shared


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
def test_answers_are_read_by_rule(raw, status, predicted, codes):
    found = parse_answer(raw)
    assert (found.status, found.predicted, list(found.codes)) == (status, predicted, codes)


@pytest.mark.parametrize(
    ("listed", "codes"),
    [
        ("- **Emotion**\n- **Textual Style**", ["Emotion", "Textual Style"]),
        ("**Emotion**", ["Emotion"]),
        ("**Emotion:** strong words", ["Emotion"]),
        ("- Emotion: strong words", ["Emotion"]),
        ("- **Emotion:**", ["Emotion"]),
        ("- Emotion: strong words, capitals and pain, Textual Style: exclamation marks", ["Emotion", "Textual Style"]),
        ("- Emotion (strong, hurt words)\n- Textual Style – capitals", ["Emotion", "Textual Style"]),
        ("- Emotion\n  because of the strong words\n\n- Declaration", ["Emotion", "Declaration"]),
        ("Emotion and Textual Style", ["Emotion", "Textual Style"]),
        ("Emotion; Textual Style", ["Emotion", "Textual Style"]),
        ("Declaration, Emotion, and Other: Warmth", ["Declaration", "Emotion", "Other: Warmth"]),
        ("- Emotion: none\n- Declaration: names a wife", ["Declaration"]),
        ("- Other: Family (names a wife)", ["Other: Family"]),
        ("- [Other: Family role]: names a wife, and more than once", ["Other: Family role"]),
        ("- Courtesy and warmth: he thanks", None),
        ("- Politeness: he thanks twice", ["Politeness"]),
        ("Directness", ["Directness"]),
        ("- The words of the patient are strong", None),
        ("- Emotion\n- The words of the patient are strong", None),
        ("-None\n\n**Explanation:** The text says nothing of a gender, emotion or condition.", []),
        ("-None\n**Explanation:**\n- The text says nothing of a gender", []),
        ("-None\n---\n- A note of the model about its answer", []),
        ("-None\n\nThe text says nothing, so this is a guess.", []),
        ("None (no evidence)", []),
        ("- None of the categories", []),
        ("- N/A", []),
        ("- Not applicable", []),
        ("**None**\n\n*Note: a guess*", []),
        ("* Emotion\n* *Textual Style*", ["Emotion", "Textual Style"]),
        ("`Emotion`, “Textual Style”", ["Emotion", "Textual Style"]),
    ],
)
def test_categories_are_known_with_words_around_them_and_the_list_ends_at_the_next_heading(listed, codes):
    found = parse_answer(f"**Gender:**\n-Female\n**Codes Applied:**\n{listed}")
    assert found.status == ("invalid" if codes is None else "ok")
    assert list(found.codes) == (codes or [])


@pytest.mark.parametrize(("listed", "codes"), [("-None", []), ("- Emotion: strong words", ["Emotion"])])
def test_codes_may_stand_before_the_gender(listed, codes):
    found = parse_answer(f"1. Emotion: she is hurt\n**Codes Applied:**\n{listed}\n\n**Gender:**\n-Female")
    assert (found.status, list(found.codes), found.rationales) == ("ok", codes, {"Emotion": "she is hurt"})


def test_a_json_answer_is_held_to_the_same_categories():
    def read(named):
        found = parse_answer(json.dumps({"gender": "Male", "codes_applied": named}))
        return found.status, list(found.codes)

    assert read(["Emotion: strong words", "Textual Style"]) == ("ok", ["Emotion", "Textual Style"])
    assert read("Emotion and Textual Style") == ("ok", ["Emotion", "Textual Style"])
    assert read(["None of the categories"]) == ("ok", [])
    assert read(["The words of the patient are strong"]) == ("invalid", [])


def test_what_json_escapes_and_no_database_holds_is_written_out():
    found = parse_answer(
        r'{"gender": "Male", "codes_applied": ["Calm\u0000"], "rationales": {"Emotion": "a\ud800", "b\udfff": "c"}}'
    )
    assert found.codes == (r"Calm\x00",)
    assert found.rationales == {"Emotion": r"a\ud800", r"b\udfff": "c"}


def test_unclear_is_an_abstention_only_where_the_prompt_allows_it():
    assert parse_answer(write_answer("Unclear"), may_abstain=True).status == "abstained"
    assert parse_answer(write_answer("Female"), may_abstain=True).status == "ok"


def test_rationales_are_kept_by_category_and_empty_ones_are_not():
    raw = write_answer(
        "Female", "Emotion", Emotion="She writes\nof hurt.", Declaration="None", Textual_Style="capitals"
    )
    assert parse_answer(raw).rationales == {"Emotion": "She writes\nof hurt.", "Textual Style": "capitals"}
    from_json = '{"rationales": {"emotion": "hurt", "Textual Style": "n/a"}, "gender": "Female", "codes_applied": []}'
    assert parse_answer(from_json).rationales == {"Emotion": "hurt"}


@given(st.text(max_size=300))
def test_any_text_gets_a_status_and_only_ok_has_a_prediction(raw):
    found = parse_answer(raw)
    assert found.status in STATUSES
    assert (found.predicted is not None) == (found.status == "ok") == (found.subset is not None)


def test_conditions_differ_in_what_the_paper_says_they_differ_in():
    prompts = load_prompts()
    control, primed, may_abstain = (prompts[name].text for name in ("control", "primed", "may_abstain"))
    assert "Emotion" not in control
    assert "emotional tone" not in control
    assert "Textual Style" not in control
    assert "1. Emotion: The emotional tone" in primed
    assert "You must make a guess" in control
    assert "You must make a guess" not in may_abstain
    assert len({prompt.sha256 for prompt in prompts.values()}) == 3


def test_published_wording_is_quoted_exactly():
    paper = shared("papers/bias_negotiation.txt").read_text(encoding="utf-8")
    primed = load_prompts()["primed"].text.split("\n")
    assert [line for line in primed if line not in paper] == []
    assert [name for name, _ in load_published_themes() if name not in paper] == []
    assert len(load_published_themes()) == 18
