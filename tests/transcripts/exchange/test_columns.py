"""What a column of an export, or a field of an answer, means is said once: at the field of the model."""

from datetime import datetime

import pytest

from transcripts.coding.models import Coding, DeskSettings, Memo
from transcripts.exchange.rows import columns, describe, find_place, list_exports
from transcripts.negotiation.models import Pair


def test_a_column_means_what_the_field_of_the_model_says():
    [kind, made] = columns(Memo, "kind made", made="created_at")
    assert kind.meaning == "reading, interpretive, positional, methodological or decision."
    assert (made.name, made.source, made.kind) == ("made", "created_at", datetime)


def test_a_column_found_along_a_path_means_what_the_last_field_says():
    [_, _, turn, *_] = columns(Coding, "study interview turn", **find_place())
    assert turn.source == "sentence__turn__position"
    assert turn.meaning == "Place of the turn in the interview, counted from 1 over all speakers."
    assert turn.kind is int


def test_a_name_of_a_person_means_what_the_field_that_leads_to_her_says():
    assert describe(Memo, "author__username") == "User name of the author."


def test_the_number_of_a_row_needs_no_words():
    assert describe(Memo, "pk") == "Number of the memo."
    assert describe(Coding, "code_id") == "Number of the code."


def test_a_field_that_nobody_described_cannot_be_exported():
    with pytest.raises(KeyError, match=r"DeskSettings\.keys has no help_text"):
        columns(DeskSettings, "keys")


def test_names_are_text_in_every_table():
    kinds = {each.kind for export in list_exports() for each in export.columns if each.name in {"coder", "script"}}
    assert kinds == {str}


def test_an_interview_means_what_the_field_that_leads_to_it_says():
    assert describe(Pair, "a__external_id") == "The first interview."
    assert describe(Coding, "sentence__turn__interview__external_id").startswith("Identifier in its file")
