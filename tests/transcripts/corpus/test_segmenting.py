from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.shared import shared
from transcripts.corpus.pure import markdown_lines
from transcripts.corpus.pure.segmenting import Kind, Span, segment

GOLD = Path(__file__).resolve().parents[2] / "data" / "segmenting" / "gold.jsonl"


class Unit(NamedTuple):
    kind: str
    text: str


def read_units(text, language="en"):
    return [Unit(kind, text[start:end]) for start, end, kind in segment(text, language)]


def read_texts(text, language="en"):
    return [unit.text for unit in read_units(text, language)]


class Gold(NamedTuple):
    about: str
    language: str
    text: str
    units: list[Unit]


def read_gold():
    records = [json.loads(line) for line in GOLD.read_text("utf-8").splitlines()]
    return [
        Gold(
            record["about"],
            record["language"],
            record["text"],
            [Unit(unit["kind"], unit["text"]) for unit in record["units"]],
        )
        for record in records
    ]


# Lines as people and models write them, and the starts of lines that Markdown is particular about.
STARTS = st.sampled_from(
    [
        *("- ", "* ", "+ ", "1. ", "2) ", "10. ", "123. ", "1234567890. ", "# ", "## ", "#", "> ", "```", "~~~", "---"),
        *("***", "___", "===", "-", "=", "[a]: b", "[", "a) ", "• ", "**", "_", "|", "`", "``", "<p>", "(i) ", "1."),
        *(" ", "  ", "   ", "    ", "\t", "-\t", "\x0b", "\u2028", "\x85", "\xa0", "…"),
    ]
)
BODIES = st.sampled_from(
    [
        *(
            "Word. Two.",
            "foo bar",
            "**Bold.** Next",
            "#",
            "##",
            " #",
            "`c`",
            ":",
            "---",
            "http://x.y",
            "‘q. Q’",
            "",
            "\\",
        ),
        *(
            "e\u0301\u0301",
            "👩‍👩‍👧",
            "你好。再见",
            "\x0c",
            "[x]",
            "- d",
            "1. e",
            "x | y",
            "| a |",
            "|-|",
            "``` info",
            "it’s",
        ),
        *("…  A", "<b>", "(b) c", "Dr. No. 3. Foo.Bar", "A. b? C!”"),
    ]
)
BREAKS = st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r", "\n \n"])
LINES = st.builds(lambda *parts: "".join(parts), st.lists(STARTS, max_size=3).map("".join), BODIES, BODIES, BREAKS)
DOCUMENTS = st.lists(LINES, max_size=8).map("".join) | st.text(max_size=80)


@given(DOCUMENTS, st.sampled_from(["en", "de", "fr", "ja", "zh", "ar", "hi", "xx", ""]))
def test_units_are_ordered_exact_and_trimmed(text, language):
    after = 0
    for start, end, kind in segment(text, language):
        assert after <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert not re.search(r"[\r\n]", text[start:end])
        assert kind in set(Kind)
        after = end


@given(DOCUMENTS)
def test_same_text_gives_same_units(text):
    assert segment(text) == segment(text)


MARKERS = re.compile(r"[\s>*+\-#=_|:`~•]*|[\s>*+\-]*\(?([A-Za-z]|[ivx]{2,4}|\d{1,3})[.)]+\s*")
FENCE = re.compile(r"\s*[>\s*+\-\d.)]*(```|~~~)")


@given(DOCUMENTS)
@example("- [a]: b\n> [c]: d")
@example("> " * 30 + "deep")
@example("3.")
@example("``` more than one word\n")
def test_every_character_but_markers_belongs_to_a_unit(text):
    covered = {position for start, end, _ in segment(text) for position in range(start, end)}
    for bounds in markdown_lines.find_bounds(text):
        rest = "".join(text[position] for position in range(*bounds) if position not in covered)
        # Several markers may stand before one text: "- 1. a) words".
        leftover = re.sub(r"\(?([A-Za-z]|[ivx]{2,4}|\d{1,3})[.)]+[ \t]+", "", rest)
        assert MARKERS.fullmatch(leftover) or FENCE.match(rest), rest


@given(DOCUMENTS)
@example("a\n---")
@example("- a\n   2. b\nc\n\n---\n# d #\n***")
@example("1234. a\n\n100. b\nc\n5. d")
def test_short_way_sees_the_same_lines_as_markdown(text):
    source = re.sub("\r\n|\r", "\n", text)
    bounds = markdown_lines.find_bounds(text)
    simple = markdown_lines.read_simple_lines(source, bounds)
    if simple is not None:
        assert strip(text, simple) == strip(text, markdown_lines.read_markdown_lines(source, bounds))


def strip(text, lines):
    stripped = [markdown_lines.strip_plain_markers(text, line) for line in lines]
    return [line for line in stripped if line.start < line.end]


def test_plain_prose_takes_the_short_way():
    text = "One. Two!\n\nThree?\n- four\n# Five\n1. six"
    assert markdown_lines.read_simple_lines(text, markdown_lines.find_bounds(text)) is not None


SENTENCES = st.lists(
    st.builds(
        lambda words, end: " ".join(words).capitalize() + end,
        st.lists(st.sampled_from(["they", "agree", "on", "little", "nobody", "asked", "why"]), min_size=2, max_size=6),
        st.sampled_from(".!?"),
    ),
    min_size=1,
    max_size=6,
)


@given(SENTENCES)
def test_plain_sentences_come_out_one_by_one_and_stay_whole_when_cut_again(sentences):
    assert read_texts(" ".join(sentences)) == sentences
    assert [text for sentence in sentences for text in read_texts(sentence)] == sentences


@pytest.mark.parametrize("gold", read_gold(), ids=lambda gold: gold.about)
def test_units_are_those_cut_by_hand(gold):
    assert read_units(gold.text, gold.language) == gold.units


def test_chatbot_markdown_gives_the_units_of_the_acceptance_check():
    text = (
        "GPT frames it well. Examples include:\n- Address stereotypes when necessary\n"
        "- Recognize e.g. coded language. It hurts.\n1. Contextual Understanding\nIs it 3.5 times worse? Yes!"
    )
    assert read_texts(text) == [
        "GPT frames it well.",
        "Examples include:",
        "Address stereotypes when necessary",
        "Recognize e.g. coded language.",
        "It hurts.",
        "Contextual Understanding",
        "Is it 3.5 times worse?",
        "Yes!",
    ]


def test_units_of_the_published_excerpts_hold_no_markers_and_lose_no_words():
    for line in shared("data/interviews/excerpts.jsonl").read_text("utf-8").splitlines():
        for turn in json.loads(line)["turns"]:
            units = read_texts(turn["text"])
            assert not any(unit.startswith(("- ", "1. ")) for unit in units)
            words = re.sub(r"(?m)^ *(- |\d\. )", "", turn["text"]).split()
            assert " ".join(units).split() == words


@pytest.mark.parametrize("text", ["", " ", "\n\n", "-", "- \n*", "#", "> >", "---", "```\n```", "|\n", "\u2028\x85"])
def test_text_without_words_gives_no_unit_or_itself(text):
    assert read_texts(text) in ([], [text.strip()])


def test_only_real_line_breaks_end_a_unit():
    assert read_texts("One\u2028two\x0bthree\x85four\x0cfive") == ["One\u2028two\x0bthree\x85four\x0cfive"]
    assert read_texts("a one\r\na two\ra three\na four") == ["a one", "a two", "a three", "a four"]


def test_offsets_count_code_points_behind_emoji_and_carriage_returns():
    assert segment("😀 Hi.\r\n- 👩‍👩‍👧 there") == [Span(0, 5, Kind.PROSE), Span(9, 20, Kind.LIST_ITEM)]


def test_list_markers_that_markdown_does_not_know_are_stripped():
    assert read_units("a) one\n(ii) two\n• three\n- b) four") == [
        Unit("list_item", text) for text in ("one", "two", "three", "four")
    ]


def test_years_and_initials_at_the_start_of_a_line_are_no_list_markers():
    assert read_texts("1984. It was a year.\nA. Smith agreed.") == ["1984. It was a year.", "A. Smith agreed."]


def test_a_lone_numbered_answer_is_not_lost():
    assert read_texts("3.") == ["3."]


def test_five_hundred_combining_marks_stay_in_their_unit():
    zalgo = "e" + "\u0301" * 500
    assert read_texts(f"So {zalgo}. Then.") == [f"So {zalgo}.", "Then."]


def test_a_long_line_without_spaces_is_cut_in_linear_time():
    assert len(segment("你好。" * 5_000, "zh")) == 5_000


def test_an_endless_quotation_is_one_unit():
    text = "“" * 20_000
    assert read_texts(text) == [text]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Use pandas.DataFrame or Node.JS. Then go.", ["Use pandas.DataFrame or Node.JS.", "Then go."]),
        ("See vol. 2 and Sect. 3. Next [1].", ["See vol. 2 and Sect. 3.", "Next [1]."]),
        ("**Note.** This is so. *Really?* Yes.", ["**Note.**", "This is so.", "*Really?*", "Yes."]),
        ("“First one. Second.”", ["“First one.", "Second.”"]),
        ("He said “no. Never.” Then left.", ["He said “no. Never.”", "Then left."]),
        ("With p < 0.05. We stop. As 7 > 6. Fine.", ["With p < 0.05.", "We stop.", "As 7 > 6.", "Fine."]),
        ("That is all. ...and so on. Done! 😀", ["That is all.", "...and so on.", "Done! 😀"]),
        ("the **U.S.** Senate met. **A.** Yes.", ["the **U.S.** Senate met.", "**A.** Yes."]),
    ],
)
def test_known_errors_of_the_sentence_stage_are_mended(text, units):
    assert read_texts(text) == units


@pytest.mark.parametrize(
    ("language", "text", "units"),
    [
        (
            "es",
            "Abre a las 9 a. m. y cierra a las 5 p. m. Luego como.",
            ["Abre a las 9 a. m. y cierra a las 5 p. m.", "Luego como."],
        ),
        ("es", "Nos vemos a las 10 a.m. mañana. Adiós.", ["Nos vemos a las 10 a.m. mañana.", "Adiós."]),
        ("en", "It starts at 9 a.m. Monday. Come early.", ["It starts at 9 a.m. Monday.", "Come early."]),
        ("en", "It ends at 5 p.m. Eastern time. Fine.", ["It ends at 5 p.m. Eastern time.", "Fine."]),
        ("en", "It starts at 9 a.m. The hall is open.", ["It starts at 9 a.m.", "The hall is open."]),
    ],
)
def test_a_time_of_day_ends_a_sentence_only_where_another_begins(language, text, units):
    assert read_texts(text, language) == units


@pytest.mark.parametrize(
    "text",
    [
        "In this interview, Ms. Hashizume discusses work.",
        "I met Mrs. Lee and Ms. Green.",
        "I met Mx. Hashizume and (Ms. Hashizume).",
        "So **Ms. Hashizume** and *Mr. Hashizume* came.",
        "It is by Me. Dupont.",
        "See no. 5 and art. IV.",
    ],
)
def test_a_title_and_an_abbreviation_end_no_sentence(text):
    assert read_texts(text) == [text]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Trust me.", "You’ll see."),
        ("It belongs to me.", "Thank you."),
        ("It is me.", "It’s good."),
        ("Tell me.", "I know."),
        ("Ask me.", "“Why?” she said."),
        ("“Trust me.”", "You will see."),
        ("**Trust me.**", "You will see."),
        ("She said no.", "Green came."),
        ("That’s ok.", "Thank you."),
        ("It took 50 ms.", "Then it stopped."),
    ],
)
def test_a_word_that_looks_like_an_abbreviation_ends_a_sentence(first, second):
    assert read_texts(f"{first} {second}") == [first, second]


def test_what_is_cut_between_quotation_marks_is_no_other_than_before():
    assert read_texts("“Tell me. You know.” She left.") == ["“Tell me. You know.”", "She left."]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("IV. Next comes the law. It is old.", ["IV. Next comes the law.", "It is old."]),
        ("I. Introduction\nII. Methods\nviii. results", ["I. Introduction", "II. Methods", "viii. results"]),
        ("See chapter IV. Next we turn to law.", ["See chapter IV.", "Next we turn to law."]),
        ("King Henry VIII. He had six wives.", ["King Henry VIII.", "He had six wives."]),
    ],
)
def test_a_roman_number_goes_with_what_it_numbers(text, units):
    assert read_texts(text) == units


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("That is great. 😀 Now we go on.", ["That is great. 😀", "Now we go on."]),
        ("That is great.😀 Now we go on.", ["That is great.😀", "Now we go on."]),
        ("Done! 🎉 👩‍👩‍👧 Next step.", ["Done! 🎉 👩‍👩‍👧", "Next step."]),
        ("That is done. 👉 Next, click.", ["That is done.", "👉 Next, click."]),
        ("👍 Good idea. Next.", ["👍 Good idea.", "Next."]),
    ],
)
def test_an_emoji_goes_with_the_sentence_before_unless_it_points(text, units):
    assert read_texts(text) == units


def test_emoji_alone_on_a_line_are_no_prose():
    assert read_units("First.\n😀 🎉\n- ❤️\nSecond.") == [
        Unit("prose", "First."),
        Unit("other", "😀 🎉"),
        Unit("other", "❤️"),
        Unit("prose", "Second."),
    ]


@pytest.mark.parametrize(
    "unit",
    [
        "The sum $a. B$ is fine.",
        "We write $x = 3.5. Y$ here.",
        "It is \\(p < 0.05. Q\\) always.",
        "So \\[a. B\\] and $$c. D$$ hold.",
        "Type `ls. Then` there.",
        "For $a, b, … N$ it holds.",
    ],
)
def test_nothing_ends_inside_a_formula_or_code(unit):
    assert read_texts(f"{unit} Next one.") == [unit, "Next one."]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("It costs $5. Then $6. Fine.", ["It costs $5.", "Then $6.", "Fine."]),
        ("I paid $5. He paid 6$. Fine.", ["I paid $5.", "He paid 6$.", "Fine."]),
        ("He typed `Done.` Next one.", ["He typed `Done.`", "Next one."]),
        ("Where $p$ holds. Next $q$ too.", ["Where $p$ holds.", "Next $q$ too."]),
    ],
)
def test_money_and_short_code_end_sentences_as_words_do(text, units):
    assert read_texts(text) == units


@pytest.mark.parametrize("sign", ["¹", "²³", "[1]", "[2][3]", "[^4]", " [1]", "*", "**", "†", "‡"])
def test_the_sign_of_a_footnote_goes_with_its_sentence(sign):
    assert read_texts(f"This is known.{sign} Others disagree.") == [f"This is known.{sign}", "Others disagree."]


def test_a_space_of_no_width_parts_sentences_and_belongs_to_none():
    assert read_texts("\u200bThis\u200b is.\u200bNext one.\u200b \ufeffLast.") == [
        "This\u200b is.",
        "Next one.",
        "Last.",
    ]


@pytest.mark.parametrize(
    ("language", "text", "units"),
    [
        ("en", "This is it.The next one.And another.", ["This is it.", "The next one.", "And another."]),
        ("en", "But why not?So we stay.I think so!Really.", ["But why not?", "So we stay.", "I think so!", "Really."]),
        ("en", "He said no.”Then he left.", ["He said no.”", "Then he left."]),
        ("en", "It ends here.“Next one,” she said.", ["It ends here.", "“Next one,” she said."]),
        ("en", "(See below.)Then it went on.", ["(See below.)", "Then it went on."]),
        ("en", "**Bold.**Next one.", ["**Bold.**", "Next one."]),
        ("en", "She met Anna.They talked.", ["She met Anna.", "They talked."]),
        ("de", "Er ging ins Haus.Dann kam sie.", ["Er ging ins Haus.", "Dann kam sie."]),
        ("fr", "C'est vrai.Il est parti.", ["C'est vrai.", "Il est parti."]),
    ],
)
def test_a_missing_space_hides_no_sentence(language, text, units):
    assert read_texts(text, language) == units


@pytest.mark.parametrize(
    "unit",
    [
        "See www.Example.Com/Path.Html and Example.Org or https://a.example/b?The=c now.",
        "Write to her.The@example.org today.",
        "Read Report.Final.PDF and notes.Txt and the.The/file first.",
        "Use pandas.DataFrame, Node.JS, self.Name, System.Out.println or list.They() here.",
        "Run `it.The next` twice.",
        "Try version v2.A or 3.The on it.",
        "Go e.g.The way, i.e.This one, with Ph.D.Students of the U.S.A.The great.",
        "Ask Dr.The or Mr.This or vs.The rest.",
        "Use Yahoo!Mail and page?Id=3 there.",
        "Met J.R.R.Tolkien and St.Louis there.",
    ],
)
def test_names_in_addresses_files_code_and_abbreviations_are_not_parted(unit):
    assert read_texts(f"{unit} Next one.") == [unit, "Next one."]


def test_language_tag_may_carry_a_region():
    text = "Am 3. Oktober kam er."
    assert read_texts(text, "de-AT") == read_texts(text, "DE") == [text]


@pytest.mark.parametrize("space", ["\u00a0", "\u2009", "\u202f", "\u3000", "\u2029", "\x85"])
@pytest.mark.parametrize("language", ["en", "fr", "de", "xx"])
def test_wide_white_space_before_a_full_stop_stops_nothing(language, space):
    """The sentence splitter fails on it; its error is no ``Exception`` and would end a request or a worker."""
    assert read_texts(f"We chose plan B{space}. It works.", language)[-1].endswith("It works.")
    assert "".join(read_texts(f"Y{space}.", language)) == f"Y{space}."
    assert sum(map(len, read_texts(f"Word Y{space}. " * 2_000, language))) > 8_000
