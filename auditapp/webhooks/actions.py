"""What leads do with webhooks, and how events become deliveries. A delivery is written in the transaction of its event, so that
an event that is rolled back is never sent, and no event is lost."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from auditapp.llm.credentials import SealBroken, open_key, seal_again, seal_key
from auditapp.outbound.addresses import NoAddress, check_base_url, looks_private, name_address
from auditapp.outbound.clock import read_now
from auditapp.webhooks.models import EVENTS, MAX_ADDRESS, TEST, TURNED_OFF, Delivery, Webhook
from auditapp.webhooks.pure import make_signing_secret
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

# Where every process of the workers is busy a message waits; it is not to be followed by another at each sweep.
NOTIFY_AGAIN_SECONDS = 20
MAX_WEBHOOKS = 10
MAX_DUE = 100


def announce(event: str, *, study_id: int, data: Mapping[str, int | str]) -> None:
    """Write a delivery of ``event`` for every webhook of the study that subscribes to it.

    Called inside the transaction of the event. ``data`` has only ids and states: no text, no names of people, nothing that must
    stay hidden from a person who still has to decide.
    """
    asked = Webhook.objects.active().filter(study_id=study_id).select_related("study")
    write_deliveries([webhook for webhook in asked if event in webhook.events], event, data)


def write_deliveries(webhooks: Iterable[Webhook], event: str, data: Mapping[str, int | str]) -> list[Delivery]:
    """Store an event for each of the webhooks, and notify the workers once it is stored. Reads webhook.study."""
    now = read_now()
    deliveries = []
    for webhook in webhooks:
        delivery_id = uuid.uuid4()
        body = {
            "id": str(delivery_id),
            "event": event,
            "created_at": now.isoformat(),
            "study": webhook.study.slug,
            "data": dict(data),
        }
        deliveries.append(
            Delivery(pk=delivery_id, webhook=webhook, event=event, body=json.dumps(body), created_at=now, due_at=now)
        )
    Delivery.objects.bulk_create(deliveries)
    if deliveries:
        transaction.on_commit(lambda: _notify([delivery.pk for delivery in deliveries]))
    return deliveries


def sweep_deliveries() -> None:
    """Notify the workers of every delivery that is due: new deliveries whose message was lost, and those to be tried again."""
    untold = [
        delivery_id for delivery_id in find_due() if cache.add(f"webhook-told:{delivery_id}", 1, NOTIFY_AGAIN_SECONDS)
    ]
    if untold:
        _notify(untold)


def find_due() -> list[uuid.UUID]:
    """The deliveries to be tried now; those that have waited longest come first."""
    due = Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lte=read_now())
    return list(due.order_by("due_at").values_list("pk", flat=True)[:MAX_DUE])


def _notify(delivery_ids: list[uuid.UUID]) -> None:
    """Loads Celery only where something is sent."""
    from auditapp.webhooks import tasks

    tasks.notify_of(delivery_ids)


@transaction.atomic
def add_webhook(*, study: Study, address: str, events: Collection[str], by: User) -> tuple[Webhook, str]:
    """A webhook that notifies ``address`` of ``events`` in the study, and the secret that signs what is sent, which is shown once.
    Raises ``Refused``."""
    address = check_address(address)
    known = EVENTS
    if not events or not set(events) <= set(known):
        raise Refused(f"Choose at least one event, of these: {', '.join(known)}.", field="events")
    # Locked before it is counted: of two who add the last one at once, the second is refused.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    active = Webhook.objects.active().filter(study=study)
    if active.filter(address=address).exists():
        raise Refused(
            "This study has a webhook with this address. Turn that one off first to choose other events or get a new secret.",
            field="address",
        )
    if active.count() >= MAX_WEBHOOKS:
        raise Refused(
            f"A study can have {MAX_WEBHOOKS} webhooks. Turn off one that is no longer needed.", field="address"
        )
    secret = make_signing_secret()
    webhook = Webhook.objects.create(
        study=study,
        address=address,
        events=[name for name in known if name in events],
        secret_sealed=seal_key(secret, address=address),
        added_at=read_now(),
        added_by_name=by.get_username(),
    )
    # The path of an address may be a secret of the receiver's.
    _record("webhook.added", webhook, by, {"receiver": name_address(address), "events": webhook.events})
    return webhook, secret


def check_address(address: str) -> str:
    """A typed address, if deliveries may go to it. Raises ``Refused``.

    The name is resolved and checked again at each delivery, because its address can change.
    """
    address = address.strip()
    if len(address) > MAX_ADDRESS:
        raise Refused(f"The address can have at most {MAX_ADDRESS} characters.", field="address")
    try:
        check_base_url(address)
    except NoAddress:
        raise Refused(
            "This is not an address that events can be sent to. Use the form https://host/path, without a user name, a question "
            "mark or #.",
            field="address",
        ) from None
    place = name_address(address)
    if looks_private(address) and place not in settings.ALLOW_PRIVATE_WEBHOOKS:
        raise Refused(
            f"{place} is this machine or in a private network. The person who runs the server can allow it: add {place} to the "
            "setting ALLOW_PRIVATE_WEBHOOKS.",
            field="address",
        )
    if urlsplit(address).scheme != "https" and not looks_private(address):
        raise Refused("Events are sent over https only. Use an address that begins with https://.", field="address")
    return address


@transaction.atomic
def turn_off_webhook(*, webhook: Webhook, by: User) -> None:
    """Send nothing more to a webhook, and give up the deliveries that wait. A webhook that is already off is left as it is."""
    locked = hold_webhook(webhook)
    if locked.turned_off_at is not None:
        return
    locked.turned_off_at, locked.turned_off_by_name = read_now(), by.get_username()
    locked.save(update_fields=["turned_off_at", "turned_off_by_name"])
    waiting = locked.deliveries.filter(state=Delivery.State.WAITING)
    given_up = waiting.update(state=Delivery.State.GIVEN_UP, ended_at=locked.turned_off_at, error=TURNED_OFF)
    _record("webhook.turned_off", locked, by, {"receiver": name_address(locked.address), "given_up": given_up})


@transaction.atomic
def send_test(*, webhook: Webhook, by: User) -> Delivery:
    """Send an event named test. Raises ``Refused`` if the webhook is off or the last test still waits."""
    locked = hold_webhook(webhook)
    if locked.turned_off_at is not None:
        raise Refused("This webhook is turned off. Add it again to use it.")
    if locked.deliveries.filter(event=TEST, state=Delivery.State.WAITING).exists():
        raise Refused("The last test is still being sent. Reload the page to see how it ended.")
    [delivery] = write_deliveries([locked], TEST, {})
    _record("webhook.tested", locked, by, {"receiver": name_address(locked.address), "delivery": str(delivery.pk)})
    return delivery


@transaction.atomic
def seal_secrets_again(*, by: trail.Actor) -> tuple[int, list[str]]:
    """Encrypt the secrets of all webhooks again with the first key of FIELD_KEY. Returns how many, and the webhooks whose secret
    cannot be decrypted; these secrets stay as they are."""
    done, broken = 0, list[str]()
    # Also of those that are off: the key they were sealed with is to be removed.
    for webhook in Webhook.objects.select_for_update(of=("self",), no_key=True).select_related("study").order_by("pk"):
        try:
            webhook.secret_sealed = seal_again(webhook.secret_sealed)
        except SealBroken:
            if webhook.turned_off_at is None:
                broken.append(_name(webhook))
            continue
        webhook.save(update_fields=["secret_sealed"])
        done += 1
    if done or broken:
        details: dict[str, object] = {"sealed": done, "broken": len(broken)}
        trail.record("webhook.secrets_sealed_again", target="webhooks", by=by, details=details)
    return done, broken


def find_broken_secrets() -> list[str]:
    """The webhooks, with their study, whose secret FIELD_KEY does not decrypt."""
    broken = []
    for webhook in Webhook.objects.active().select_related("study"):
        try:
            open_key(webhook.secret_sealed, address=webhook.address)
        except SealBroken:
            broken.append(_name(webhook))
    return broken


def _name(webhook: Webhook) -> str:
    return f"webhook {webhook.pk} of {webhook.study.slug}"


def hold_webhook(webhook: Webhook) -> Webhook:
    """The webhook with its study, for this transaction to change. The lock does not block transactions that write deliveries for
    it: these have locked the head of the audit trail, which this transaction needs next."""
    held = Webhook.objects.select_for_update(of=("self",), no_key=True).select_related("study")
    return held.get(pk=webhook.pk)


def _record(action: str, webhook: Webhook, by: User, details: dict[str, object]) -> None:
    trail.record(action, target=webhook, by=by, details=details)
