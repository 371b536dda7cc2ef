"""Characters that nobody sees: badged in texts, left out of names."""

import json
import re
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.corpus.pure.previews import read_choices
from transcripts.formats.interviews import read_bytes
from transcripts.formats.text_input import HIDDEN, drop_unseen, mark_unseen

RLO, POP, ESC, ZERO_WIDTH = "\u202e", "\u202c", "\x1b", "\u200b"
EMOJI = "\U0001f469\u200d\U0001f4bb \u2764\ufe0f"


@pytest.mark.parametrize(
    ("text", "badge"),
    [(f"a{RLO}b", "U+202E"), (f"{ESC}[31m", "U+001B"), (f"a{ZERO_WIDTH}b", "U+200B"), ("a\U000e0041", "U+E0041")],
)
def test_a_hidden_character_is_named_by_a_badge(text, badge):
    assert f'data-point="{badge}"' in mark_unseen(escape(text))


@pytest.mark.parametrize("text", ["Plain.", "Zwölf\tTage\r\nlang", EMOJI, "می\u200cخواهم"])
def test_what_is_seen_has_no_badge(text):
    assert mark_unseen(text) == text
    assert drop_unseen(text) == text


@given(st.text(alphabet=st.sampled_from(f"ab <&{RLO}{POP}{ESC}{ZERO_WIDTH}\u200d{EMOJI}")))
def test_the_text_stays_as_it_is_to_the_character(text):
    assert re.sub(r"<[^>]*>", "", mark_unseen(escape(text))) == escape(text)


def test_a_name_of_nothing_else_is_not_empty():
    assert drop_unseen(RLO) == "\ufffd"


def test_names_lose_them_with_a_warning_and_texts_keep_them():
    turns = [
        {"role": "interviewer", "speaker": f"E{RLO}ve", "text": f"Why{ZERO_WIDTH}?"},
        {"role": "model", "speaker": "Bot", "text": f"{ESC}[1mSo."},
    ]
    line = {"id": f"a{RLO}", "title": f"T{RLO}itle", "model": f"m{ZERO_WIDTH}1", "turns": turns}
    hanging = {"id": "b", "relation": "branch", "hangs_on": {"id": f"a{RLO}", "turn": 1}, "turns": turns}
    read = read_bytes(f"{json.dumps(line)}\n{json.dumps(hanging)}".encode(), name="x.jsonl")
    first, other = read.interviews
    assert (first.external_id, first.title, first.model_label) == ("a", "Title", "m1")
    assert [turn.speaker for turn in first.turns] == ["Eve", "Bot"]
    assert other.hangs_on == ("a", 1)
    assert [turn.text for turn in first.turns] == [turn["text"] for turn in turns]
    assert read.warnings == ["A name or title had hidden characters, which were left out. (5 times)"]
    assert not HIDDEN.search(first.title)


def test_a_title_and_a_model_that_are_chosen_lose_them_too():
    choices = read_choices({"titles": {"a": "T\u202eitle\u200b "}, "model": "m\u202e-1"})
    assert (choices.titles, choices.model) == ({"a": "Title"}, "m-1")
