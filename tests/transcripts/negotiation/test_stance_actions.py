"""Normative stances: written once, and changed by a next number with a reason."""

import hashlib
import json

import pytest

from tests.transcripts.coding.cast import last_event
from tests.transcripts.negotiation.cast import CARE, write
from transcripts.history.models import NothingChanged
from transcripts.negotiation.models import NormativeStance
from transcripts.refusals import Refused, WrongInput

pytestmark = pytest.mark.django_db


def test_a_stance_is_stored_with_its_author_and_the_hash_of_its_wording(study, lead):
    stance = write(study, lead)
    assert (stance.label, stance.author, stance.written_by) == ("care/1", "The team", lead)
    said = [CARE["statement"], CARE["author"], CARE["priorities"], "", "", CARE["context"]]
    assert stance.sha256 == hashlib.sha256(json.dumps(said).encode()).hexdigest()
    event = last_event(study)
    assert event.action == "negotiation.normative_stance.written"
    assert event.details == {"number": 1, "sha256": stance.sha256}


def test_new_wording_is_the_next_number_and_the_first_stays_as_it_is(study, lead):
    first = write(study, lead)
    second = write(study, lead, "Care", based_on=1, context="Advice to clinicians.", reason="Another place.")
    assert (second.label, second.reason) == ("care/2", "Another place.")
    first.refresh_from_db()
    assert first.context == "Advice to the public."
    assert first.sha256 != second.sha256


def test_white_space_makes_no_other_wording(study, lead):
    write(study, lead)
    with pytest.raises(NothingChanged):
        write(study, lead, based_on=1, statement=f" {CARE['statement']}\r\n", reason="None.")


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("", {}, "name"),
        ("a/b", {}, "name"),
        ("x" * 61, {}, "name"),
        ("care", {"statement": "  "}, "statement"),
        ("care", {"author": ""}, "author"),
        ("care", {"author": "x" * 201}, "author"),
        ("care", {"trade_offs": "nul \x00"}, "trade_offs"),
        ("care", {"context": "x" * 20_001}, "context"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_field(study, lead, name, changes, field):
    with pytest.raises(WrongInput) as refused:
        write(study, lead, name, **changes)
    assert refused.value.field == field
    assert not NormativeStance.objects.exists()


def test_a_name_is_taken_once_whatever_its_case(study, lead):
    write(study, lead)
    with pytest.raises(Refused, match="There is care/1 already") as refused:
        write(study, lead, "CARE", context="Elsewhere.")
    assert refused.value.field == "name"
