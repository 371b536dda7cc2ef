"""Who may tell whom what happens in a study: actions, pages and the API."""

import io
import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from auditapp.llm.credentials import open_key
from auditapp.webhooks import actions, runner
from auditapp.webhooks.actions import add_webhook, send_test, turn_off_webhook
from auditapp.webhooks.models import EVENTS, Delivery, Webhook
from auditapp.webhooks.pure import make_signing_secret, write_headers
from tests.auditapp.llm.test_sealing import make_field_key
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import start_study
from transcripts.refusals import Refused

pytestmark = pytest.mark.django_db
DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference" / "webhooks.md"
PUBLIC = "https://example.org/hook"


def test_webhooks_are_listed_in_the_order_in_which_they_were_added(study, lead):
    added = [add_webhook(study=study, address=f"{PUBLIC}/{name}", events=["batch.ended"], by=lead)[0] for name in "ba"]
    assert list(study.webhooks.with_counts()) == added


class TestAddresses:
    @pytest.mark.parametrize(
        "address",
        [
            "http://127.0.0.1:9000/",
            "https://127.0.0.1/",
            "https://localhost/x",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://10.0.0.8/",
            "https://169.254.169.254/latest/",
            "https://intranet/",
            "https://printer.local/",
        ],
    )
    def test_a_private_address_is_refused_with_what_to_do(self, study, lead, address):
        with pytest.raises(Refused, match="ALLOW_PRIVATE_WEBHOOKS") as caught:
            add_webhook(study=study, address=address, events=["batch.ended"], by=lead)
        assert caught.value.field == "address"
        assert not Webhook.objects.exists()

    @pytest.mark.parametrize(
        "address",
        [
            "http://example.org/",
            "ftp://example.org/",
            "example.org",
            "",
            "https://",
            "https://ada:word@example.org/",
            "https://example.org/?key=1",
            "https://example.org/#x",
            "https://example.org:0/",
            "https://exa mple.org/",
            "https://example.org/" + "x" * 500,
        ],
    )
    def test_what_is_no_https_address_is_refused(self, study, lead, address):
        with pytest.raises(Refused) as caught:
            add_webhook(study=study, address=address, events=["batch.ended"], by=lead)
        assert caught.value.field == "address"
        assert "word" not in str(caught.value)

    def test_the_list_of_addresses_for_models_does_not_count(self, study, lead, settings):
        settings.ALLOW_PRIVATE_PROVIDERS = frozenset({"127.0.0.1:11434"})
        with pytest.raises(Refused, match="ALLOW_PRIVATE_WEBHOOKS"):
            add_webhook(study=study, address="http://127.0.0.1:11434/", events=["batch.ended"], by=lead)

    def test_an_allowed_address_is_taken_with_http_and_only_at_its_port(self, study, lead, settings):
        settings.ALLOW_PRIVATE_WEBHOOKS = frozenset({"127.0.0.1:9000"})
        add_webhook(study=study, address="http://127.0.0.1:9000/x", events=["batch.ended"], by=lead)
        with pytest.raises(Refused):
            add_webhook(study=study, address="http://127.0.0.1:9001/x", events=["batch.ended"], by=lead)


class TestActions:
    def test_the_secret_is_stored_sealed_for_its_address(self, study, lead):
        webhook, secret = add_webhook(study=study, address=PUBLIC, events=["batch.ended"], by=lead)
        assert secret.startswith("whsec_")
        webhook.refresh_from_db()
        assert secret not in webhook.secret_sealed
        assert open_key(webhook.secret_sealed, address=PUBLIC) == secret

    def test_the_event_names_the_host_and_neither_path_nor_secret(self, study, lead):
        _, secret = add_webhook(study=study, address=PUBLIC, events=["round.completed"], by=lead)
        event = AuditEvent.objects.get(action="webhook.added")
        assert event.details == {"receiver": "example.org:443", "events": ["round.completed"]}
        assert event.actor_name == "lead"
        assert secret not in json.dumps(event.details)

    @pytest.mark.parametrize("events", [[], ["no.event"], ["batch.ended", "test"]])
    def test_it_is_told_of_events_that_exist(self, study, lead, events):
        with pytest.raises(Refused, match=r"batch\.ended, round\.completed") as caught:
            add_webhook(study=study, address=PUBLIC, events=events, by=lead)
        assert caught.value.field == "events"

    def test_an_address_is_there_once_until_it_is_turned_off(self, study, lead):
        webhook, _ = add_webhook(study=study, address=PUBLIC, events=["batch.ended"], by=lead)
        with pytest.raises(Refused, match="has a webhook with this address"):
            add_webhook(study=study, address=PUBLIC, events=["batch.ended"], by=lead)
        turn_off_webhook(webhook=webhook, by=lead)
        turn_off_webhook(webhook=webhook, by=lead)
        assert AuditEvent.objects.filter(action="webhook.turned_off").count() == 1
        add_webhook(study=study, address=PUBLIC, events=["batch.ended"], by=lead)

    def test_a_study_has_ten_at_most(self, study, lead):
        for number in range(actions.MAX_WEBHOOKS):
            add_webhook(study=study, address=f"{PUBLIC}/{number}", events=["batch.ended"], by=lead)
        with pytest.raises(Refused, match="10 webhooks"):
            add_webhook(study=study, address=PUBLIC, events=["batch.ended"], by=lead)

    def test_one_test_at_a_time(self, add_hook, lead):
        webhook, _ = add_hook()
        delivery = send_test(webhook=webhook, by=lead)
        with pytest.raises(Refused, match="still being sent"):
            send_test(webhook=webhook, by=lead)
        runner.deliver(delivery.pk)
        send_test(webhook=webhook, by=lead)
        turn_off_webhook(webhook=webhook, by=lead)
        with pytest.raises(Refused, match="turned off"):
            send_test(webhook=webhook, by=lead)

    def test_secrets_are_sealed_again_with_a_new_key(self, study, lead, settings):
        webhook, secret = add_webhook(study=study, address=PUBLIC, events=["batch.ended"], by=lead)
        former, new = settings.FIELD_KEYS[0], make_field_key()
        settings.FIELD_KEYS = (make_field_key(),)
        with pytest.raises(CommandError, match=f"webhook {webhook.pk} of {study.slug}"):
            call_command("key", "rotate")
        settings.FIELD_KEYS = (new, former)
        out = io.StringIO()
        call_command("key", "rotate", json=True, stdout=out)
        assert json.loads(out.getvalue())["webhooks"] == 1
        settings.FIELD_KEYS = (new,)
        webhook.refresh_from_db()
        assert open_key(webhook.secret_sealed, address=PUBLIC) == secret

    def test_the_database_refuses_what_the_rules_forbid(self, study, lead):
        webhook, _ = add_webhook(study=study, address=PUBLIC, events=["batch.ended"], by=lead)
        delivery = send_test(webhook=webhook, by=lead)
        rows, tests = Webhook.objects.filter(pk=webhook.pk), Delivery.objects.filter(pk=delivery.pk)
        for change in (
            lambda: rows.update(turned_off_at=timezone.now()),
            lambda: tests.update(state="delivered"),
            lambda: tests.update(ended_at=timezone.now()),
            lambda: Webhook.objects.create(
                study=study, address=PUBLIC, events=[], added_at=timezone.now(), added_by_name="x"
            ),
        ):
            with pytest.raises(IntegrityError), transaction.atomic():
                change()


class TestPages:
    def test_the_secret_is_shown_once(self, study, lead, client_of):
        client = client_of(lead)
        answer = client.post(reverse("webhooks:add", args=[study.slug]), {"address": PUBLIC, "events": ["batch.ended"]})
        assert "no-store" in answer["Cache-Control"]
        [secret] = re.findall(r"whsec_[\w+/=]+", answer.content.decode())
        webhook = Webhook.objects.get()
        assert open_key(webhook.secret_sealed, address=PUBLIC) == secret
        for name, arguments in (("list", []), ("webhook", [webhook.pk])):
            page = client.get(reverse(f"webhooks:{name}", args=[study.slug, *arguments])).content.decode()
            assert PUBLIC in page
            assert "whsec_" not in page

    def test_a_wrong_address_is_422_beside_the_field(self, study, lead, client_of):
        answer = client_of(lead).post(
            reverse("webhooks:add", args=[study.slug]), {"address": "https://10.0.0.1/", "events": ["batch.ended"]}
        )
        assert answer.status_code == 422
        assert "ALLOW_PRIVATE_WEBHOOKS" in answer.content.decode()

    def test_a_test_is_sent_and_its_end_shown(self, study, lead, client_of, add_hook, receiver):
        client, (webhook, _) = client_of(lead), add_hook()
        receiver.status, receiver.answer, receiver.headers = 418, b"<b>short</b>", {"Content-Type": "text/html"}
        client.post(reverse("webhooks:test", args=[study.slug, webhook.pk]))
        runner.deliver(Delivery.objects.get().pk)
        page = client.get(reverse("webhooks:webhook", args=[study.slug, webhook.pk])).content.decode()
        assert "418" in page
        assert "&lt;b&gt;short" in page
        client.post(reverse("webhooks:turn_off", args=[study.slug, webhook.pk]))
        assert "Turned off" in client.get(reverse("webhooks:list", args=[study.slug])).content.decode()

    def test_a_webhook_of_another_study_is_not_there(self, study, lead, owner, client_of):
        other = start_study(slug="other", name="Other", by=owner)
        webhook, _ = add_webhook(study=other, address=PUBLIC, events=["batch.ended"], by=owner)
        client = client_of(owner)
        for name, method in (("webhook", client.get), ("test", client.post), ("turn_off", client.post)):
            assert method(reverse(f"webhooks:{name}", args=[study.slug, webhook.pk])).status_code == 404
        webhook.refresh_from_db()
        assert webhook.turned_off_at is None


class TestDocs:
    def test_every_event_is_in_the_reference(self):
        text = DOCS.read_text(encoding="utf-8")
        for event in [*EVENTS, "test"]:
            assert f"| `{event}` |" in text

    def test_the_example_of_the_reference_tells_genuine_deliveries_from_others(self):
        [example] = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
        names = {}
        exec(example, names)
        is_genuine = names["is_genuine"]
        secret, body, now = make_signing_secret(), b'{"id": "x"}', int(timezone.now().timestamp())
        headers = write_headers(secret, delivery="x", timestamp=now, body=body)
        assert is_genuine(secret, headers, body)
        assert not is_genuine(secret, headers, b"{}")
        assert not is_genuine(make_signing_secret(), headers, body)
        assert not is_genuine(secret, {**headers, "webhook-id": "y"}, body)
        assert not is_genuine(secret, {**headers, "webhook-timestamp": str(now - 1)}, body)
        old = write_headers(secret, delivery="x", timestamp=now - 600, body=body)
        assert not is_genuine(secret, old, body), "an old delivery that somebody sends again"
