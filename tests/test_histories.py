"""What is written again: every history numbers, refuses and records alike."""

import json
import re
import threading

import pytest
from django.db import connection

from tests.support.histories import HISTORIES
from transcripts.audit_trail.models import AuditEvent
from transcripts.history.models import Numbered, WrittenMeanwhile
from transcripts.refusals import Refused

pytestmark = pytest.mark.django_db


SHARED = [name for name, history in HISTORIES.items() if issubclass(history.model, Numbered) and history.looks]
of_each_shared = pytest.mark.parametrize("history", [HISTORIES[name] for name in SHARED], ids=SHARED)


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_each_number_leaves_one_event_which_says_what_was_approved(history, study, lead, owner, snapshot):
    history.write(study, lead, 1, based_on=0, reason="First.")
    history.write(study, owner, 2, based_on=1, reason="Second.")
    rows = [row.pk for row in history.model._default_manager.order_by("pk")]
    events = AuditEvent.objects.filter(action__regex="written|saved|made|theme|allowed|llm").order_by("pk")
    assert len(rows) == len(events) == 2
    assert "\n".join(describe(event) for event in events) == snapshot


@of_each_shared
def test_the_latest_number_is_not_written_over(history, study, lead, owner):
    first = history.write(study, lead, 1, based_on=0, reason="First.")
    second = history.write(study, owner, 2, based_on=1, reason="Second.")
    stored = list_rows(history)
    assert ([row["number"] for row in stored], second.writer) == ([1, 2], "owner")
    assert second.reason == ("Second." if "reason" in stored[0] else None)
    for based_on in (0, 1, 3):
        with pytest.raises(Refused) as refused:
            history.write(study, lead, 3, based_on=based_on, reason="Third.")
        if based_on == 0 and history.model.is_named_by_writer:
            assert (refused.value.field, refused.value.status) == ("name", 422)
        else:
            assert isinstance(refused.value, WrittenMeanwhile)
            assert (refused.value.latest, refused.value.status) == (second, 409)
            assert str(refused.value).startswith("owner wrote ")
    assert list_rows(history) == stored
    assert AuditEvent.objects.filter(action=first.event).count() == 2


@of_each_shared
def test_what_says_the_same_is_not_stored_again(history, study, lead):
    history.write(study, lead, 1, based_on=0, reason="First.")
    stored = list_rows(history)
    with pytest.raises(Refused, match="the same"):
        history.write(study, lead, 1, based_on=1, reason="Again.")
    assert list_rows(history) == stored


@of_each_shared
def test_a_number_needs_its_reason(history, study, lead):
    needed_from = history.model.reason_from
    for number in (1, 2):
        if needed_from is not None and number >= needed_from:
            with pytest.raises(Refused, match="Say in a few words why") as refused:
                history.write(study, lead, number, based_on=number - 1, reason=" \n")
            assert refused.value.field == "reason"
        history.write(study, lead, number, based_on=number - 1, reason="Because.")
    assert history.model._default_manager.count() == 2


@of_each_shared
def test_what_follows_nothing_is_refused(history, study, lead):
    with pytest.raises(Refused, match="has no earlier number"):
        history.write(study, lead, 1, based_on=7, reason="First.")
    assert not history.model._default_manager.exists()


@of_each_shared
def test_a_command_writes_after_whatever_is_there(history, study, lead):
    for number in (1, 2):
        history.write(study, lead, number, based_on=None, reason="Because.")
    assert [row["number"] for row in list_rows(history)] == [1, 2]


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite takes one writer at a time anyway")
@pytest.mark.django_db(transaction=True)
@of_each_shared
def test_of_two_who_write_at_once_one_is_late(history, study, lead):
    history.write(study, lead, 1, based_on=0, reason="First.")
    late = []

    def write(wording):
        try:
            history.write(study, lead, wording, based_on=1, reason="At once.")
        except WrittenMeanwhile as error:
            late.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=[wording]) for wording in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(late), [row["number"] for row in list_rows(history)]) == (1, [1, 2])


def list_rows(history):
    return list(history.model._default_manager.order_by("number").values())


def describe(event):
    """The event without the numbers of rows, which differ from run to run."""
    target = re.sub(r":\d+$", "", event.target)
    details = {name: value for name, value in event.details.items() if name not in {"interview", "a", "b"}}
    left_out = sorted(event.details.keys() - details.keys())
    said = json.dumps(details, sort_keys=True, ensure_ascii=False)
    return f"{event.stream.partition(':')[0]} {event.actor_name} {event.action} {target} {said} {left_out}"
