"""What a webhook gets: signed, repeated until it is received, and nothing that was undone."""

import datetime
import json
import uuid

import aiohttp
import pytest
from django.db import connection, transaction
from django.utils import timezone

from auditapp.batches.actions import cancel_batch
from auditapp.batches.models import Batch
from auditapp.webhooks import actions, runner, tasks
from auditapp.webhooks.actions import send_test, turn_off_webhook
from auditapp.webhooks.models import Delivery, Webhook
from auditapp.webhooks.pure import MAX_TRIES, PAUSES
from tests.auditapp.llm.test_guard import FlippingResolver
from tests.auditapp.llm.test_sealing import make_field_key
from tests.auditapp.webhooks.receiving import receive, sign_as_documented
from tests.transcripts.rounds.cast import bring_in, open_round
from transcripts.audit_trail import trail
from transcripts.rounds.actions import complete_assignment, reopen_assignment, unassign

pytestmark = pytest.mark.django_db
WAITING, DELIVERED, GIVEN_UP = Delivery.State.WAITING, Delivery.State.DELIVERED, Delivery.State.GIVEN_UP


@pytest.fixture
def batch(study):
    return Batch.objects.create(
        study=study, kind="sob", title="Secret title", created_at=timezone.now(), launched_by_name="Ada"
    )


def make_due(delivery):
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())


class TestWhatIsSent:
    def test_the_end_of_a_batch_is_sent_signed_as_documented(self, batch, add_hook, receiver):
        _, secret = add_hook()
        cancel_batch(batch=batch, by=trail.SYSTEM)
        delivery = Delivery.objects.get()
        assert runner.deliver(delivery.pk)
        [(path, headers, body)] = receiver.received
        assert path == "/hook/"
        assert headers["webhook-id"] == str(delivery.pk)
        assert headers["webhook-signature"] == sign_as_documented(secret, headers, body)
        assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
        said = json.loads(body)
        assert said == {
            "id": str(delivery.pk),
            "event": "batch.ended",
            "created_at": delivery.created_at.isoformat(),
            "study": batch.study.slug,
            "data": {"batch": batch.pk, "kind": "sob", "state": "cancelled"},
        }
        delivery.refresh_from_db()
        assert (delivery.state, delivery.status, delivery.tries) == (DELIVERED, 204, 1)

    def test_a_changed_body_id_time_or_secret_has_another_signature(self, batch, add_hook, receiver):
        _, secret = add_hook()
        cancel_batch(batch=batch, by=trail.SYSTEM)
        runner.deliver(Delivery.objects.get().pk)
        [(_, headers, body)] = receiver.received
        sent = headers["webhook-signature"]
        assert sign_as_documented(secret, headers, body) == sent
        assert sign_as_documented(secret, headers, body.replace(b"cancelled", b"done")) != sent
        assert sign_as_documented(secret, {**headers, "webhook-timestamp": "1"}, body) != sent
        assert sign_as_documented(secret, {**headers, "webhook-id": str(uuid.uuid4())}, body) != sent
        assert sign_as_documented("whsec_AAAA", headers, body) != sent

    def test_nothing_sent_names_a_person_or_quotes_a_title(self, batch, add_hook, receiver):
        add_hook()
        cancel_batch(batch=batch, by=trail.SYSTEM)
        runner.deliver(Delivery.objects.get().pk)
        [(_, headers, body)] = receiver.received
        for word in ("Secret title", "Ada", "lead", batch.study.name):
            assert word.encode() not in body
            assert word not in str(headers)

    def test_a_round_is_sent_when_its_last_assignment_is_signed_off(self, study, lead, coder, add_hook):
        bring_in(study, lead, ["GPT-4o", "Claude 3"])
        round_ = open_round(study, lead, coder)
        first, second = round_.assignments.order_by("pk")
        add_hook("round.completed")
        complete_assignment(assignment=first, reason="enough", by=coder)
        assert not Delivery.objects.exists()
        complete_assignment(assignment=second, reason="enough", by=coder)
        [delivery] = Delivery.objects.all()
        assert json.loads(delivery.body)["data"] == {"round": round_.number, "state": "completed"}
        reopen_assignment(assignment=second, reason="look again", by=lead)
        assert Delivery.objects.count() == 1
        unassign(assignment=second, by=lead)
        assert Delivery.objects.count() == 2

    def test_a_webhook_gets_only_what_it_asked_for_in_its_own_study(self, batch, add_hook, owner):
        add_hook("round.completed")
        webhook, _ = add_hook("batch.ended", address="https://example.org/x")
        off, _ = add_hook("batch.ended", address="https://example.org/y")
        turn_off_webhook(webhook=off, by=owner)
        cancel_batch(batch=batch, by=trail.SYSTEM)
        assert [each.webhook for each in Delivery.objects.all()] == [webhook]

    def test_an_event_that_is_undone_is_not_sent(self, batch, add_hook):
        add_hook()
        with transaction.atomic():
            cancel_batch(batch=batch, by=trail.SYSTEM)
            assert Delivery.objects.exists()
            transaction.set_rollback(True)
        assert not Delivery.objects.exists()


class TestTries:
    @pytest.fixture
    def delivery(self, add_hook, lead):
        return send_test(webhook=add_hook()[0], by=lead)

    def test_what_was_received_is_not_sent_again(self, delivery, receiver):
        assert runner.deliver(delivery.pk)
        make_due(delivery)
        assert not runner.deliver(delivery.pk)
        assert len(receiver.received) == 1

    def test_what_is_refused_is_tried_again_after_growing_pauses_and_then_given_up(self, delivery, receiver):
        receiver.status = 500
        for pause in PAUSES:
            make_due(delivery)
            assert runner.deliver(delivery.pk)
            delivery.refresh_from_db()
            wait = (delivery.due_at - timezone.now()).total_seconds()
            assert pause - 30 < wait <= pause
            assert (delivery.state, delivery.status) == (WAITING, 500)
            assert not runner.deliver(delivery.pk), "sent before its pause was over"
        make_due(delivery)
        assert runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.tries, delivery.status) == (GIVEN_UP, MAX_TRIES, 500)
        make_due(delivery)
        assert not runner.deliver(delivery.pk)
        assert len(receiver.received) == MAX_TRIES
        assert {headers["webhook-id"] for _, headers, _ in receiver.received} == {str(delivery.pk)}
        assert len({body for _, _, body in receiver.received}) == 1
        assert 20 * 3600 < sum(PAUSES) < 26 * 3600

    def test_a_receiver_that_comes_back_gets_it(self, delivery, receiver):
        receiver.status = 503
        runner.deliver(delivery.pk)
        receiver.status = 200
        make_due(delivery)
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.tries) == (DELIVERED, 2)

    def test_a_worker_that_dies_after_it_sent_leaves_it_to_the_next_one_with_the_same_id(
        self, delivery, receiver, monkeypatch
    ):
        def die(*args):
            raise SystemExit

        with monkeypatch.context() as dying:
            dying.setattr(runner, "store_outcome", die)
            with pytest.raises(SystemExit):
                runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.tries, delivery.status) == (WAITING, 1, None)
        assert not runner.deliver(delivery.pk), "taken up while the first worker may still be sending"
        assert delivery.due_at - timezone.now() <= runner.LEASE
        make_due(delivery)
        assert runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert delivery.state == DELIVERED
        assert [headers["webhook-id"] for _, headers, _ in receiver.received] == [str(delivery.pk)] * 2

    def test_a_worker_that_dies_in_the_last_try_does_not_make_it_go_on_for_ever(self, delivery, receiver):
        Delivery.objects.filter(pk=delivery.pk).update(tries=MAX_TRIES)
        assert not runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, receiver.received) == (GIVEN_UP, [])

    def test_the_lease_is_longer_than_a_try_can_take(self):
        assert runner.LEASE.total_seconds() > 3 * runner.TIMEOUT_SECONDS

    def test_a_late_answer_does_not_overwrite_that_of_a_later_try(self, delivery):
        first = runner.take_delivery(delivery.pk)
        assert first is not None
        make_due(delivery)
        second = runner.take_delivery(delivery.pk)
        assert second is not None
        runner.store_outcome(second, runner.Outcome(200))
        runner.store_outcome(first, runner.Outcome(500))
        delivery.refresh_from_db()
        assert (delivery.state, delivery.status) == (DELIVERED, 200)

    def test_no_transaction_is_open_while_it_is_sent(self, delivery, monkeypatch):
        depth = len(connection.savepoint_ids)
        seen = []
        send = runner.send

        def look(taken):
            seen.append(len(connection.savepoint_ids))
            return send(taken)

        monkeypatch.setattr(runner, "send", look)
        runner.deliver(delivery.pk)
        assert seen == [depth]

    def test_what_waits_is_given_up_when_the_webhook_is_turned_off(self, delivery, receiver, lead):
        turn_off_webhook(webhook=delivery.webhook, by=lead)
        assert not runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, receiver.received) == (GIVEN_UP, [])


class TestReceivers:
    @pytest.fixture
    def delivery(self, add_hook, lead):
        return send_test(webhook=add_hook()[0], by=lead)

    def test_a_redirect_is_not_followed(self, delivery, receiver):
        receiver.status, receiver.headers = 307, {"Location": f"http://{receiver.place}/elsewhere"}
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert [path for path, _, _ in receiver.received] == ["/hook/"]
        assert (delivery.state, delivery.status) == (WAITING, 307)
        assert "not followed" in delivery.error

    def test_of_an_answer_only_its_status_and_its_first_characters_are_kept(self, delivery, receiver):
        receiver.status, receiver.headers = 400, {"Content-Type": "text/plain"}
        receiver.answer = b"no\x00 \xff such\n" + b"x" * 5_000
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert delivery.status == 400
        assert delivery.answer.startswith("no � such xxx")
        assert len(delivery.answer) == 100

    def test_an_answer_without_end_counts_as_received_and_is_not_read(self, delivery, receiver):
        receiver.status, receiver.answer = 200, b"x" * 3_000_000
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.status, delivery.answer) == (DELIVERED, 200, "")

    def test_a_receiver_that_does_not_answer_in_time_is_tried_again(self, delivery, receiver, monkeypatch):
        monkeypatch.setattr(runner, "TIMEOUT_SECONDS", 0.3)
        receiver.goes_on.clear()
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.status) == (WAITING, None)
        assert delivery.error

    def test_a_receiver_that_is_not_there_is_tried_again_and_its_error_shown(self, add_hook, lead, receiver, settings):
        with receive() as gone:
            pass
        settings.ALLOW_PRIVATE_WEBHOOKS = frozenset({gone.place})
        delivery = send_test(webhook=add_hook(address=gone.address)[0], by=lead)
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.tries) == (WAITING, 1)
        assert gone.place in delivery.error

    def test_an_address_that_is_no_longer_allowed_gets_nothing(self, delivery, receiver, settings):
        settings.ALLOW_PRIVATE_WEBHOOKS = frozenset()
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (receiver.received, delivery.state) == ([], WAITING)
        assert "ALLOW_PRIVATE_WEBHOOKS" in delivery.error

    def test_a_public_name_that_leads_to_this_machine_gets_nothing(self, add_hook, lead, receiver, monkeypatch):
        """Also not where its name led elsewhere when the webhook was added: names are looked up at each delivery."""
        delivery = send_test(webhook=add_hook(address=f"https://hooks.example.org:{receiver.port}/x")[0], by=lead)
        monkeypatch.setattr(aiohttp, "DefaultResolver", lambda: FlippingResolver(["127.0.0.1"]))
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert (receiver.received, delivery.state) == ([], WAITING)
        assert "private address" in delivery.error

    def test_a_secret_that_field_key_does_not_open_is_an_error_of_the_delivery(self, delivery, receiver, settings):
        settings.FIELD_KEYS = (make_field_key(),)
        runner.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert receiver.received == []
        assert "FIELD_KEY" in delivery.error

    def test_a_secret_is_not_used_for_an_address_that_was_put_in_its_place(self, delivery, receiver):
        Webhook.objects.filter(pk=delivery.webhook_id).update(address=f"http://{receiver.place}/other")
        runner.deliver(delivery.pk)
        assert receiver.received == []


class TestSweep:
    def test_a_lost_message_is_repeated_by_the_sweep_and_not_at_each(self, add_hook, lead, monkeypatch):
        told = []
        monkeypatch.setattr(tasks, "notify_of", told.extend)
        delivery = send_test(webhook=add_hook()[0], by=lead)
        actions.sweep_deliveries()
        actions.sweep_deliveries()
        assert told == [delivery.pk]

    def test_what_is_not_due_or_has_ended_is_not_told(self, add_hook, lead, monkeypatch):
        told = []
        monkeypatch.setattr(tasks, "notify_of", told.extend)
        later = send_test(webhook=add_hook()[0], by=lead)
        Delivery.objects.filter(pk=later.pk).update(due_at=timezone.now() + datetime.timedelta(hours=1))
        ended = send_test(webhook=add_hook(address="https://example.org/x")[0], by=lead)
        turn_off_webhook(webhook=ended.webhook, by=lead)
        actions.sweep_deliveries()
        assert told == []

    def test_workers_are_told_once_the_event_is_stored(
        self, add_hook, lead, monkeypatch, django_capture_on_commit_callbacks
    ):
        told = []
        monkeypatch.setattr(tasks, "notify_of", told.extend)
        webhook, _ = add_hook()
        with django_capture_on_commit_callbacks(execute=True):
            delivery = send_test(webhook=webhook, by=lead)
            assert told == []
        assert told == [delivery.pk]

    def test_the_task_sends(self, add_hook, lead, receiver):
        delivery = send_test(webhook=add_hook()[0], by=lead)
        tasks.deliver(str(delivery.pk))
        assert receiver.bodies[0]["event"] == "test"


def test_what_was_written_for_a_webhook_that_is_off_by_then_is_not_sent(batch, add_hook, receiver):
    hook, _ = add_hook()
    cancel_batch(batch=batch, by=trail.SYSTEM)
    # As if the batch had ended while the webhook was being turned off.
    Webhook.objects.filter(pk=hook.pk).update(turned_off_at=timezone.now(), turned_off_by_name="Ada")
    delivery = Delivery.objects.get()
    assert not runner.deliver(delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.state, receiver.received) == (GIVEN_UP, [])
