"""Each way to change the record, and which check finds it: hashes and heads, checkpoints kept elsewhere, or the rows."""

import json
from contextlib import suppress
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.transcripts.audit_trail.test_checkpoints import Keeper
from tests.transcripts.audit_trail.test_replay import Work
from tests.transcripts.audit_trail.test_trail import as_a_forger
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.audit_trail.pure import hash_link
from transcripts.coding.models import Coding, Memo


@pytest.fixture
def keeper(db, tmp_path_factory):
    return Keeper(tmp_path_factory.mktemp("keeper"))


def find(stream, action):
    return AuditEvent.objects.get(stream=stream, action=action)


def flip_a_bit(stream, work):
    name = find(stream, "coding.decided").actor_name
    flipped = chr(ord(name[0]) ^ 1) + name[1:]
    as_a_forger("UPDATE audit_trail_auditevent SET actor_name = %s WHERE action = 'coding.decided'", [flipped])


def delete_an_event(stream, work):
    as_a_forger("DELETE FROM audit_trail_auditevent WHERE stream = %s AND action = 'coding.decided'", [stream])


def insert_an_event(stream, work):
    """Into the middle, with a hash that fits the event before it; the events after it move up."""
    event = find(stream, "coding.decided")
    after = AuditEvent.objects.filter(stream=stream, sequence__gte=event.sequence).order_by("-sequence")
    for pk, sequence in list(after.values_list("pk", "sequence")):
        as_a_forger("UPDATE audit_trail_auditevent SET sequence = %s WHERE id = %s", [sequence + 1, pk])
    link = next(link for link, _, _ in trail.read_entries(stream) if link.sequence == event.sequence + 1)
    forged = link._replace(sequence=event.sequence, action="coding.added", details={})
    event.pk, event.action, event.details = None, forged.action, {}
    event.hash = hash_link(forged, event.previous_hash)
    event.save(force_insert=True)
    set_head(stream)


def swap_events(stream, work):
    first = find(stream, "coding.withdrawn").sequence
    for before, after in ((first, 9_999), (first + 1, first), (9_999, first + 1)):
        as_a_forger(
            "UPDATE audit_trail_auditevent SET sequence = %s WHERE stream = %s AND sequence = %s",
            [after, stream, before],
        )


def cut_the_tail(stream, work):
    as_a_forger(
        "DELETE FROM audit_trail_auditevent WHERE stream = %s AND sequence > %s",
        [stream, find(stream, "coding.changed").sequence],
    )


def cut_the_tail_and_move_the_head(stream, work):
    cut_the_tail(stream, work)
    set_head(stream)


def rewrite_the_chain(stream, work):
    as_a_forger("UPDATE audit_trail_auditevent SET actor_name = 'eve' WHERE action = 'coding.changed'")
    compute_hashes_anew(stream)


def forge_a_row_and_its_event(stream, work):
    """What is left to somebody who owns the database and knows the program: only a statement kept elsewhere shows it."""
    Coding.objects.filter(pk=work.coding.pk).update(level="semantic")
    details = find(stream, "coding.changed").details
    details["rows"][0]["made"]["level"] = "semantic"
    as_a_forger("UPDATE audit_trail_auditevent SET details = %s WHERE action = 'coding.changed'", [json.dumps(details)])
    compute_hashes_anew(stream)


def delete_a_stream(stream, work):
    as_a_forger("DELETE FROM audit_trail_auditevent WHERE stream = %s", [stream])
    as_a_forger("DELETE FROM audit_trail_audithead WHERE stream = %s", [stream])


def forge_a_coding(stream, work):
    Coding.objects.filter(pk=work.coding.pk).update(level="semantic", note="")


def forge_a_decision(stream, work):
    work.decision.none_applies = not work.decision.none_applies
    work.decision.save()


def forge_a_memo(stream, work):
    Memo.objects.update(text="Another thought.")


def delete_a_row(stream, work):
    Memo.objects.all().delete()


def set_head(stream):
    last = AuditEvent.objects.filter(stream=stream).latest("sequence")
    statement = "UPDATE audit_trail_audithead SET sequence = %s, hash = %s WHERE stream = %s"
    as_a_forger(statement, [last.sequence, last.hash, stream])


def compute_hashes_anew(stream):
    previous = ""
    for link, _, _ in list(trail.read_entries(stream)):
        digest = hash_link(link._replace(details=json.loads(str(link.details))), previous)
        as_a_forger(
            "UPDATE audit_trail_auditevent SET previous_hash = %s, hash = %s WHERE stream = %s AND sequence = %s",
            [previous, digest, stream, link.sequence],
        )
        previous = digest
    set_head(stream)


TAMPERS = {
    flip_a_bit: {"chain"},
    delete_an_event: {"chain", "rows"},
    insert_an_event: {"chain", "checkpoints"},
    swap_events: {"chain"},
    cut_the_tail: {"chain", "checkpoints", "rows"},
    cut_the_tail_and_move_the_head: {"checkpoints", "rows"},
    rewrite_the_chain: {"checkpoints"},
    forge_a_row_and_its_event: {"checkpoints"},
    delete_a_stream: {"checkpoints", "rows"},
    forge_a_coding: {"rows"},
    forge_a_decision: {"rows"},
    forge_a_memo: {"rows"},
    delete_a_row: {"rows"},
}


def list_findings(keeper):
    out = StringIO()
    with suppress(CommandError):
        call_command(
            "audit", "verify", "--rows", "--json", checkpoints=keeper.folder, public_key=keeper.public, stdout=out
        )
    answer = json.loads(out.getvalue())
    names = {"chain": "breaks", "checkpoints": "problems", "rows": "differences"}
    return {check for check, name in names.items() if answer[name]}


def test_what_nobody_tampered_with_is_clean(keeper, sentence, code, coder):
    Work(sentence, code, coder)
    keeper.check()
    assert list_findings(keeper) == set()


@pytest.mark.parametrize("tamper", TAMPERS, ids=lambda tamper: tamper.__name__)
def test_every_way_to_change_the_record_is_found(keeper, sentence, code, coder, tamper):
    work = Work(sentence, code, coder)
    keeper.check()
    stream = trail.study_stream(work.study.pk)
    assert AuditHead.objects.filter(stream=stream).exists()
    tamper(stream, work)
    assert list_findings(keeper) == TAMPERS[tamper]
