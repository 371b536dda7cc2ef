"""Fields that the page sends are read exactly, and anything else is refused with a sentence."""

from uuid import UUID

import pytest
from django.http import QueryDict

from transcripts.coding.values import CodingValues
from transcripts.desk.forms import WrongField, read_id, read_idempotency_key, read_quote, read_uuid, read_values

IDEMPOTENCY_KEY = "0123456789abcdef0123456789abcdef"


def test_all_values_are_read():
    data = QueryDict(
        f"sentence=3&code=7&level=latent&enactment=&note=Reads+it&grounding=grounded&prompting=unclear&attribute:why=x"
        f"&quote_from=2&quote_to=5&idempotency_key={IDEMPOTENCY_KEY}"
    )
    assert read_values(data) == CodingValues(
        level="latent", note="Reads it", grounding="grounded", prompting="unclear", attributes={"why": "x"}
    )
    assert read_quote(data) == (2, 5)
    assert read_idempotency_key(data) == UUID(IDEMPOTENCY_KEY)


@pytest.mark.parametrize(("fields", "quote"), [("quote=+two+words+", "two words"), ("quote=+", None), ("", None)])
def test_typed_words_are_a_quote_and_nothing_typed_is_none(fields, quote):
    assert read_quote(QueryDict(fields)) == quote


@pytest.mark.parametrize(
    "fields", ["quote_from=2", "quote_to=5", "quote_from=-1&quote_to=5", "quote_from=x&quote_to=5"]
)
def test_half_a_quote_is_refused(fields):
    with pytest.raises(WrongField, match="The field quote_"):
        read_quote(QueryDict(fields))


def test_plain_form_gets_a_new_idempotency_key_and_is_semantic():
    data = QueryDict("sentence=3&code=7")
    assert read_values(data).level == "semantic"
    assert read_idempotency_key(data) != read_idempotency_key(data)


@pytest.mark.parametrize("value", ["", "-1", "1.0", "x", "١", "9" * 19, "9" * 400])
def test_what_is_no_row_number_is_refused(value):
    data = QueryDict(mutable=True)
    data["sentence"] = value
    with pytest.raises(WrongField, match="The field sentence must be a number"):
        read_id(data, "sentence")


@pytest.mark.parametrize("value", ["", "x", IDEMPOTENCY_KEY[:-1], "z" * 32])
def test_what_is_no_idempotency_key_is_refused(value):
    data = QueryDict(mutable=True)
    data["coding"] = value
    with pytest.raises(WrongField, match="32 hexadecimal digits"):
        read_uuid(data, "coding")
