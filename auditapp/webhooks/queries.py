"""What is to be sent, and what was."""

from __future__ import annotations

import uuid

from django.db.models import Count, Q, QuerySet

from auditapp.llm.credentials import SealBroken, open_key
from auditapp.outbound.clock import read_now
from auditapp.webhooks.models import Delivery, Webhook
from transcripts.studies.models import Study

MAX_SHOWN = 50
MAX_DUE = 100


def list_webhooks(study: Study) -> QuerySet[Webhook]:
    """The webhooks of a study in the order they were added, with how many deliveries wait and were given up."""
    state = Delivery.State
    return study.webhooks.annotate(
        waiting=Count("deliveries", filter=Q(deliveries__state=state.WAITING)),
        given_up=Count("deliveries", filter=Q(deliveries__state=state.GIVEN_UP)),
    ).order_by("pk")


def find_due() -> list[uuid.UUID]:
    """The deliveries to be tried now, those that wait longest first."""
    due = Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lte=read_now())
    return list(due.order_by("due_at").values_list("pk", flat=True)[:MAX_DUE])


def list_deliveries(webhook: Webhook) -> QuerySet[Delivery]:
    """The newest deliveries of a webhook."""
    return webhook.deliveries.order_by("-created_at", "-pk")[:MAX_SHOWN]


def find_broken_secrets() -> list[str]:
    """The webhooks, with their study, whose secret FIELD_KEY does not open."""
    broken = []
    for webhook in Webhook.objects.active().select_related("study"):
        try:
            open_key(webhook.secret_sealed, address=webhook.address)
        except SealBroken:
            broken.append(f"webhook {webhook.pk} of {webhook.study.slug}")
    return broken
