"""Tables of speakers and text."""

import pytest

from transcripts.formats.interviews import ReadError, read_bytes

ROWS = [("interviewer", "Interviewer", "How, then?"), ("model", "Model", "I weigh.\nI ask.")]


def read(text, name="talk.csv"):
    return read_bytes(text.encode(), name=name)


def list_turns(read_file):
    return [(turn.role, turn.speaker, turn.text) for turn in read_file.interviews[0].turns]


@pytest.mark.parametrize(
    "text",
    [
        'speaker,text\nInterviewer,"How, then?"\nModel,"I weigh.\nI ask."\n',
        '\ufeffSpeaker;Text\nInterviewer;How, then?\nModel;"I weigh.\nI ask."\n',
        'text\tspeaker\nHow, then?\tInterviewer\n"I weigh.\nI ask."\tModel\n\n',
    ],
)
def test_each_row_is_a_turn_whatever_parts_the_columns(text):
    found = read(text)
    assert (found.format, found.interviews[0].title) == ("speaker_table", "talk")
    assert list_turns(found) == ROWS


def test_a_column_of_roles_says_who_is_who_and_a_time_is_kept():
    found = read("speaker,role,text,time\nAda,interviewer,Why?,2026-03-01T10:00:00\nBot,model,So.,\n")
    assert [(turn.role, turn.speaker) for turn in found.interviews[0].turns] == [
        ("interviewer", "Ada"),
        ("model", "Bot"),
    ]
    assert found.interviews[0].turns[0].details == {"at": "2026-03-01T10:00:00"}
    assert found.warnings == []


def test_what_is_left_out_is_counted():
    found = read("speaker,text,mood\nUser,Why?,calm\nModel,,\nModel,So.,\n")
    assert dict(found.left_out) == {'The column "mood" was left out.': 1, "A row without text was left out.": 1}


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ("speaker,text\nUser,Why, then?\n", "line 2", "3 cells"),
        ('speaker,text\nUser,Why?\nModel,"So" it is\n', "line 3", "a quotation mark"),
        ("speaker,text\nUser,Why?\n,So.\n", "line 3", "a row without a speaker"),
        ("speaker,role,text\nA,model,So.\nA,interviewer,Why?\n", "line 3", "another role"),
        ("speaker,text\nUser,\n", "line 2", "no row with text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text, place, found):
    with pytest.raises(ReadError) as refused:
        read(text)
    assert place in str(refused.value)
    assert found in str(refused.value)


def test_a_table_without_the_columns_says_which_are_expected():
    with pytest.raises(ReadError, match="the columns speaker and text"):
        read("who knows,what\na,b\n")


def test_a_table_whose_columns_are_not_known_says_which_it_has():
    with pytest.raises(
        ReadError, match='a table with the columns "Zeile", "Stimme"; expected columns named speaker and text'
    ):
        read_bytes(b"Zeile;Stimme\n1;Ana\n2;Ben\n", name="talk.csv")


def test_columns_may_be_named_in_other_languages():
    found = read("Sprecher;Wortlaut;Zeit\nI;Warum?;00:01\nB;Darum.;00:02\n")
    assert [(turn.speaker, turn.text) for turn in found.interviews[0].turns] == [("I", "Warum?"), ("B", "Darum.")]


def test_a_table_of_codings_is_no_conversation():
    with pytest.raises(ReadError):
        read_bytes(b"interview,role,text,coder,code_id\ni1,model,So.,Ada,theme.balance\n", name="codings.csv")
