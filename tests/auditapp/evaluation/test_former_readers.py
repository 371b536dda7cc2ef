"""Whoever has read a study and is made to code it does not code blind what was labelled by then."""

import pytest

from tests.auditapp.evaluation.cast import list_sentences, suggest
from tests.auditapp.suggestions.cast import add_annotator, decide, read_offline
from tests.transcripts.coding.cast import find_code, last_event, put
from tests.transcripts.rounds.cast import bring_in
from transcripts.audit_trail import trail
from transcripts.coding.models import Blinding, Unblinding
from transcripts.studies.actions import remove_member, set_member_role


@pytest.fixture
def talks(study, owner):
    return bring_in(study, owner, ["Model A", "Model B", "Model C"])


def test_a_reader_made_coder_has_opened_what_people_or_machines_had_labelled(study, owner, reader, coder, talks):
    suggest(add_annotator(study), {list_sentences(talks[0])[0]: []})
    read_offline(add_annotator(study, "rules", kind="rules"), list_sentences(talks[0])[0])
    decide(list_sentences(talks[1])[0], coder)
    assert not Unblinding.objects.exists()
    set_member_role(study=study, user=reader, role="coder", by=owner)
    assert {each.interview for each in Unblinding.objects.filter(user=reader, where="role")} == {talks[0], talks[1]}
    event = last_event(study)
    assert (event.action, event.details["where"]) == ("coding.opened", "role")
    balance = find_code(study, "theme.balance")
    assert put(list_sentences(talks[0])[0], balance, reader, reason="So.").blinding == Blinding.ASSISTED
    assert put(list_sentences(talks[2])[0], balance, reader).blinding == Blinding.BLIND


def test_who_is_taken_out_and_comes_back_to_code_has_seen_it_too(study, owner, reader, coder, talks):
    put(list_sentences(talks[0])[0], find_code(study, "theme.balance"), coder)
    remove_member(study=study, user=reader, by=owner)
    set_member_role(study=study, user=reader, role="coder", by=trail.SYSTEM)
    assert Unblinding.objects.get(user=reader).interview == talks[0]


def test_other_changes_of_a_role_open_nothing(study, owner, lead, coder, second_coder, reader, talks):
    put(list_sentences(talks[0])[0], find_code(study, "theme.balance"), coder)
    set_member_role(study=study, user=second_coder, role="lead", by=owner)
    set_member_role(study=study, user=lead, role="coder", by=owner)
    set_member_role(study=study, user=second_coder, role="reader", by=owner)
    assert not Unblinding.objects.exists()


def test_her_own_codings_open_nothing_to_her(study, owner, coder, talks):
    put(list_sentences(talks[0])[0], find_code(study, "theme.balance"), coder)
    for role in ("reader", "coder"):
        set_member_role(study=study, user=coder, role=role, by=owner)
    assert not Unblinding.objects.exists()
