"""Fields that the page sends are read exactly, and anything else is refused with a sentence."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.http import QueryDict

from transcripts.coding.forms import Marked, PutFields, WrongField, read_id, read_uuid
from transcripts.coding.values import CodingValues

CLIENT_ID = "0123456789abcdef0123456789abcdef"


def test_all_fields_are_read() -> None:
    data = QueryDict(
        f"sentence=3&code=7&level=latent&enactment=&note=Reads+it&grounding=grounded&prompting=unclear&attribute:why=x"
        f"&quote_from=2&quote_to=5&range={CLIENT_ID}&reason=Seen&client_id={CLIENT_ID}"
    )
    assert PutFields.read(data) == PutFields(
        sentence_id=3,
        code_id=7,
        values=CodingValues(
            level="latent", note="Reads it", grounding="grounded", prompting="unclear", attributes={"why": "x"}
        ),
        marked=Marked(2, 5),
        range_id=UUID(CLIENT_ID),
        reason="Seen",
        client_id=UUID(CLIENT_ID),
    )


@pytest.mark.parametrize(
    "fields", ["quote_from=2", "quote_to=5", "quote_from=-1&quote_to=5", "quote_from=x&quote_to=5"]
)
def test_half_a_quote_is_refused(fields: str) -> None:
    with pytest.raises(WrongField, match="The field quote_"):
        PutFields.read(QueryDict(f"sentence=3&code=7&{fields}"))


def test_plain_form_gets_a_client_id_and_is_semantic() -> None:
    fields = PutFields.read(QueryDict("sentence=3&code=7"))
    assert fields.values.level == "semantic"
    assert fields.client_id != PutFields.read(QueryDict("sentence=3&code=7")).client_id


@pytest.mark.parametrize("value", ["", "-1", "1.0", "x", "١", "9" * 19, "9" * 400])
def test_what_is_no_row_number_is_refused(value: str) -> None:
    data = QueryDict(mutable=True)
    data["sentence"] = value
    with pytest.raises(WrongField, match="The field sentence is to be a number"):
        read_id(data, "sentence")


@pytest.mark.parametrize("value", ["", "x", CLIENT_ID[:-1], "z" * 32])
def test_what_is_no_client_id_is_refused(value: str) -> None:
    data = QueryDict(mutable=True)
    data["coding"] = value
    with pytest.raises(WrongField, match="32 hexadecimal digits"):
        read_uuid(data, "coding")
