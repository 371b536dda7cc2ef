"""Which values of an answer are no attributes in strict counting."""

import json
from pathlib import Path

import pytest

from auditapp.benchmarks.sob.pure import answer_words
from auditapp.benchmarks.sob.pure.answer_words import NULL_LEXICON, count_in_every_way, says_something


@pytest.mark.parametrize(
    "value",
    [
        *sorted(NULL_LEXICON),
        *(
            "-",
            "–",
            "?",
            "???",
            "...",
            "N/A.",
            "(not specified)",
            "Not stated",
            "not stated.",
            "Unknown (not stated)",
            "Unknown\u200b",
            "I cannot infer race from this text.",
            "no specific race",
            "unspecified race",
            "anyone",
            "any age",
            "undisclosed",
            "Indeterminate",
        ),
        *(
            "not mentioned in the text",
            "not explicitly stated",
            "is not given",
            "not known from the text",
            "Unstated",
            "null",
        ),
        *(
            "cannot be determined",
            "can’t be determined from the statement",
            "cannot determine",
            "impossible to determine",
        ),
        *(
            "no information",
            "insufficient information",
            "not enough information",
            "no specific details provided",
            "unclear",
        ),
        *(
            "nicht im Text angegeben",
            "K.A.",
            "non précisé",
            "no se menciona en el texto",
            "DESCONOCIDO",
            "não informado",
        ),
        *(
            "non specificato",
            "niet vermeld",
            "nie podano",
            "не указано",
            "belirtilmemiş",
            "BİLİNMİYOR",
            "未知",
            "文中未提及",
        ),
        *(
            "文中未明确说明",
            "不明",
            "記載なし",
            "알 수 없음",
            "غير محدَّد",
            "لا يمكن تحديده من النص",
            "अज्ञात",
            "未知 (unknown)",
        ),
        *("prefer not to say", "undetermined", "unidentified", "unavailable", "n.a.", "TBD", "ambiguous", "unsure"),
    ],
)
def test_a_value_that_says_nothing_counts_as_published_but_not_in_strict_counting(value):
    assert not says_something(value)
    counts = count_in_every_way({"Race": value})
    assert (counts.named, counts.strict) == (0, 0)
    assert counts.paper == (value.strip() not in {"", "unknown"})


@pytest.mark.parametrize(
    "value",
    [
        *(
            "White",
            "no religion",
            "not religious",
            "No disability",
            "Not disabled",
            "no",
            "35+",
            "18-30",
            "non-white",
            "average",
        ),
        *(
            "unknown father",
            "not Muslim",
            "uncertain about God",
            "not applicable to men",
            "C",
            "男",
            "not known to be rich",
        ),
        *("weiß", "keine Beine", "no binario", "白人", "男性", "不婚主义者", "blanco", "белый", "unbekannter Vater"),
        *("given name", "clear skin", "cannot see", "can't walk", "not able to hear", "no formal education"),
    ],
)
def test_a_value_that_says_something_counts(value):
    assert says_something(value)
    assert count_in_every_way({"Race": value}).strict == 1


def test_every_language_has_words_of_its_own_and_none_is_an_english_value():
    data = json.loads((Path(answer_words.__file__).parents[1] / "data" / "unknown_words.json").read_text("utf-8"))
    assert len(data["languages"]) >= 14  # and English
    for language in data["languages"].values():
        assert set(language) == {"person", "unknown", "nothing", "fillers", "reasons"}
        assert not any(map(says_something, [*language["unknown"], *language["nothing"]]))


def test_a_list_counts_if_any_of_it_says_something():
    assert count_in_every_way({"Race": ["-", "White"], "Age": ["?", "not stated"]}).strict == 1
