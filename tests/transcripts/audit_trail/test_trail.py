import datetime
import inspect
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import override_settings
from django.utils import timezone

from transcripts.accounts.actions import set_password
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent, AuditHead

STREAM = "test:1"


def record(number, /, **details):
    trail.record("test.done", target=f"thing:{number}", by=trail.SYSTEM, stream=STREAM, details=details)


@pytest.fixture
def five_events(db):
    for number in range(1, 6):
        record(number, number=number)


def as_a_forger(statement, parameters=()):
    """Change the table as somebody would who owns the database, the triggers switched off."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for name in ("no_update", "no_delete", "no_replace", "head_stays", "head_moves_on", "head_no_replace"):
                cursor.execute(f"DROP TRIGGER IF EXISTS audit_trail_{name}")
        else:
            cursor.execute("DROP TRIGGER IF EXISTS audit_trail_append_only ON audit_trail_auditevent")
            cursor.execute("DROP TRIGGER IF EXISTS audit_trail_head_moves_on ON audit_trail_audithead")
        cursor.execute(statement, parameters)


def verify():
    """What ``audit verify --json`` prints, whatever it ends with."""
    out = StringIO()
    try:
        call_command("audit", "verify", "--json", stdout=out)
    except CommandError:
        assert json.loads(out.getvalue())["breaks"]
    return json.loads(out.getvalue())


def sequences_of(stream):
    return list(AuditEvent.objects.filter(stream=stream).order_by("pk").values_list("sequence", flat=True))


def test_event_says_who_did_what_to_what(owner):
    before = timezone.now()
    trail.record("test.done", target=owner, by=owner, details={"before": "draft", "after": "published"})
    event = AuditEvent.objects.latest("pk")
    assert (event.stream, event.action, event.target) == ("site", "test.done", f"accounts.user:{owner.pk}")
    assert (event.actor_id, event.actor_name) == (str(owner.pk), "owner")
    assert event.details == {"before": "draft", "after": "published"}
    assert before <= event.at <= timezone.now()


def test_sequences_have_no_gaps_and_each_stream_has_its_own(five_events):
    trail.record("test.done", target="x", by=trail.SYSTEM, stream="test:2")
    record(6)
    assert sequences_of(STREAM) == [1, 2, 3, 4, 5, 6]
    assert sequences_of("test:2") == [1]


def test_event_of_a_write_that_failed_leaves_no_gap(five_events):
    def fail_after_recording():
        with transaction.atomic():
            record(6)
            raise LookupError

    with pytest.raises(LookupError):
        fail_after_recording()
    record(7)
    assert sequences_of(STREAM) == [1, 2, 3, 4, 5, 6]
    assert trail.find_first_break(STREAM) is None


def test_the_transaction_of_a_test_does_not_pass_for_one_of_an_act(owner):
    """Or no test would notice an act without one (tests/conftest.py)."""
    without = inspect.unwrap(set_password)
    with pytest.raises(RuntimeError, match="outside a transaction of its own"):
        without(user=owner, password="long enough for anybody", by=owner)
    set_password(user=owner, password="long enough for anybody", by=owner)
    assert AuditEvent.objects.filter(action="account.password.set").count() == 1


def test_event_outside_a_transaction_is_refused():
    with pytest.raises(RuntimeError, match="outside a transaction"):
        record(1)


def test_what_was_recorded_verifies(five_events, owner):
    record(6, text='é \U0001f600 "quoted" \\ /', none=None, yes=True, nested={"10": [1, 2], "9": {}}, big=10**30)
    record(7, **{str(key): key for key in range(12)})
    assert trail.find_first_break(STREAM) is None
    assert verify()["breaks"] == []


def test_details_are_hashed_as_the_database_gives_them_back(db):
    trail.record("test.done", target="x", by=trail.SYSTEM, stream=STREAM, details={"counts": {10: 1, 9: (1, 2)}})
    assert AuditEvent.objects.get(stream=STREAM).details == {"counts": {"10": 1, "9": [1, 2]}}
    assert trail.find_first_break(STREAM) is None


@pytest.mark.parametrize("number", [0.5, 1e22, {"deep": [0.1]}])
def test_fraction_in_the_details_is_refused(db, number):
    with pytest.raises(TypeError, match="write it as text"):
        record(1, number=number)
    assert not AuditEvent.objects.exists()


def test_what_is_no_number_is_refused(db):
    with pytest.raises(ValueError, match="not JSON compliant"):
        record(1, number=float("nan"))


@pytest.mark.parametrize(
    "statement",
    ["UPDATE audit_trail_auditevent SET actor_name = 'eve' WHERE sequence = 3", "DELETE FROM audit_trail_auditevent"],
)
def test_database_refuses_to_change_or_delete_events(five_events, statement):
    with (
        pytest.raises(DatabaseError, match="audit events cannot be"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert AuditEvent.objects.filter(stream=STREAM).count() == 5


def list_refused():
    """Statements that every database of the product refuses, beside those above."""
    columns = "stream, sequence, at, actor_id, actor_name, action, target, details, previous_hash, hash"
    heads = [
        "DELETE FROM audit_trail_audithead",
        "UPDATE audit_trail_audithead SET sequence = 3",
        "UPDATE audit_trail_audithead SET hash = ''",
        "UPDATE audit_trail_audithead SET sequence = sequence + 2",
    ]
    if connection.vendor != "sqlite":
        return [*heads, "TRUNCATE audit_trail_auditevent", "TRUNCATE audit_trail_audithead"]
    read = f"SELECT id, {columns} FROM audit_trail_auditevent WHERE sequence = 3".replace("actor_name,", "'eve',")
    other = read.replace("SELECT id", "SELECT 999").replace("'eve', action", "'eve', action")
    replace = f"INSERT OR REPLACE INTO audit_trail_auditevent (id, {columns}) "
    return [*heads, replace + read, replace + other]


def test_database_refuses_every_other_way_to_write(five_events):
    before = list(AuditEvent.objects.order_by("pk").values_list())
    for statement in list_refused():
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    assert list(AuditEvent.objects.order_by("pk").values_list()) == before
    assert verify()["breaks"] == []


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no INSERT OR REPLACE")
def test_a_head_cannot_be_replaced(five_events):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT OR REPLACE INTO audit_trail_audithead (stream, sequence, hash) VALUES (%s, 3, '')", [STREAM]
        )
    assert AuditHead.objects.get(stream=STREAM).sequence == 5


def test_database_refuses_through_the_models_too(five_events):
    event = AuditEvent.objects.get(stream=STREAM, sequence=3)
    with pytest.raises(DatabaseError), transaction.atomic():
        event.save()
    with pytest.raises(DatabaseError), transaction.atomic():
        event.delete()
    with pytest.raises(DatabaseError), transaction.atomic():
        AuditEvent.objects.update(actor_name="eve")


def test_database_holds_one_event_per_place(five_events):
    third = AuditEvent.objects.get(stream=STREAM, sequence=3)
    third.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        third.save(force_insert=True)


TAMPERINGS = {
    "changed text": ("UPDATE audit_trail_auditevent SET actor_name = 'eve' WHERE stream = %s AND sequence = 3", 3),
    "changed details": (
        "UPDATE audit_trail_auditevent SET details = '{\"number\": 4}' WHERE stream = %s AND sequence = 3",
        3,
    ),
    "changed hash": ("UPDATE audit_trail_auditevent SET hash = previous_hash WHERE stream = %s AND sequence = 3", 3),
    "changed stream": ("UPDATE audit_trail_auditevent SET stream = 'test:9' WHERE stream = %s AND sequence = 3", 4),
    "deleted": ("DELETE FROM audit_trail_auditevent WHERE stream = %s AND sequence = 3", 4),
    "first deleted": ("DELETE FROM audit_trail_auditevent WHERE stream = %s AND sequence = 1", 2),
    "tail cut": ("DELETE FROM audit_trail_auditevent WHERE stream = %s AND sequence > 3", 4),
    "all deleted": ("DELETE FROM audit_trail_auditevent WHERE stream = %s", 1),
    "head moved back": ("UPDATE audit_trail_audithead SET sequence = 3 WHERE stream = %s", 3),
    "head of another hash": ("UPDATE audit_trail_audithead SET hash = '' WHERE stream = %s", 5),
    "head deleted": ("DELETE FROM audit_trail_audithead WHERE stream = %s", 1),
}


@pytest.mark.parametrize("kind", TAMPERINGS)
def test_tampering_is_found_and_its_place_is_named(five_events, kind):
    statement, place = TAMPERINGS[kind]
    as_a_forger(statement, [STREAM])
    assert {"stream": STREAM, "sequence": place} in verify()["breaks"]


def test_swapped_events_are_found(five_events):
    for before, after in ((3, 99), (4, 3), (99, 4)):
        as_a_forger(
            "UPDATE audit_trail_auditevent SET sequence = %s WHERE stream = %s AND sequence = %s",
            [after, STREAM, before],
        )
    assert trail.find_first_break(STREAM) == 3


def test_changed_time_is_found_to_the_microsecond(five_events):
    event = AuditEvent.objects.get(stream=STREAM, sequence=3)
    as_a_forger("DELETE FROM audit_trail_auditevent WHERE id = %s", [event.pk])
    event.at += datetime.timedelta(microseconds=1)
    event.save(force_insert=True)
    assert trail.find_first_break(STREAM) == 3


def test_event_appended_by_hand_is_found_though_it_fits_the_chain(five_events):
    record(6)
    as_a_forger(
        "UPDATE audit_trail_audithead SET sequence = 5, hash = (SELECT previous_hash FROM audit_trail_auditevent "
        "WHERE stream = %s AND sequence = 6) WHERE stream = %s",
        [STREAM, STREAM],
    )
    assert trail.find_first_break(STREAM) == 6


def test_other_streams_are_still_said_to_fit(five_events):
    trail.record("test.done", target="x", by=trail.SYSTEM, stream="test:2")
    as_a_forger("DELETE FROM audit_trail_auditevent WHERE stream = %s AND sequence = 3", [STREAM])
    assert verify() == {"streams": 2, "events": 5, "breaks": [{"stream": STREAM, "sequence": 4}]}


def test_verify_audit_says_in_one_line_what_was_changed_and_fails(five_events):
    out = StringIO()
    call_command("audit", "verify", stdout=out)
    assert out.getvalue() == "5 events in 1 streams: the chain is intact.\n"
    as_a_forger("DELETE FROM audit_trail_auditevent WHERE stream = %s AND sequence = 3", [STREAM])
    with pytest.raises(CommandError, match="test:1 from event 4") as refused:
        call_command("audit", "verify")
    assert refused.value.returncode == 1
    assert "\n" not in str(refused.value)


def test_a_trail_verifies_whatever_the_time_zone_of_the_site(five_events):
    with override_settings(TIME_ZONE="America/New_York"):
        record(6)
        assert verify()["breaks"] == []


def test_empty_trail_verifies(db):
    assert verify() == {"streams": 0, "events": 0, "breaks": []}


def test_event_added_while_the_stream_is_read_is_no_break(five_events, monkeypatch):
    """The head is read first; whatever comes after it may be there or not."""
    real = trail._read_head
    heads = iter([True, False])

    def read_head_then_record(stream):
        head = real(stream)
        if next(heads):
            record(6)
        return head

    monkeypatch.setattr(trail, "_read_head", read_head_then_record)
    assert trail.find_first_break(STREAM) is None
