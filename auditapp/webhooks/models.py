"""The addresses to which a study reports events, what was sent there, and the events that exist."""

from __future__ import annotations

import uuid
from typing import ClassVar, Self

from django.db import models
from django.db.models import Count, Q

from transcripts.studies.models import Study

MAX_ADDRESS = 500

TURNED_OFF = "The webhook was turned off before it could be sent."
# Sent only when a lead asks for it; nobody needs to choose it.
TEST = "test"
BATCH_ENDED, ROUND_COMPLETED = "batch.ended", "round.completed"
EVENTS = {
    BATCH_ENDED: "A batch is done or cancelled.",
    ROUND_COMPLETED: "Everything assigned in a round is completed.",
}
"""The events that a webhook can subscribe to, and when they happen."""


class WebhookQuerySet(models.QuerySet["Webhook"]):
    """Which webhooks work, and what became of their deliveries."""

    def active(self) -> Self:
        """The webhooks that are not turned off."""
        return self.filter(turned_off_at__isnull=True)

    def with_counts(self) -> Self:
        """In the order they were added, with how many deliveries wait and were given up."""
        state = Delivery.State
        return self.annotate(
            waiting=Count("deliveries", filter=Q(deliveries__state=state.WAITING)),
            given_up=Count("deliveries", filter=Q(deliveries__state=state.GIVEN_UP)),
        ).order_by("pk")


class Webhook(models.Model):
    """An address that is notified of ``events`` in a study. Its secret signs what is sent; the secret is shown once and stored
    encrypted, for this address alone."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="webhooks")
    address = models.CharField(max_length=MAX_ADDRESS, help_text="Where events are sent.")
    # Names of ``EVENTS``, in their order.
    events = models.JSONField(help_text="Names of the events that are sent to it.")
    secret_sealed = models.TextField()
    added_at = models.DateTimeField(help_text="When it was added.")
    added_by_name = models.CharField(max_length=200, help_text="Who added it.")
    turned_off_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was turned off; empty while it works."
    )
    turned_off_by_name = models.CharField(max_length=200, blank=True)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "address"],
                condition=Q(turned_off_at__isnull=True),
                name="%(app_label)s_%(class)s_address_once",
            ),
            models.CheckConstraint(
                condition=Q(turned_off_at__isnull=True, turned_off_by_name="")
                | Q(turned_off_at__isnull=False) & ~Q(turned_off_by_name=""),
                name="%(app_label)s_%(class)s_turned_off_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class Delivery(models.Model):
    """One event for one webhook: written with the event, sent afterwards. ``body`` is sent unchanged at each try.

    ``due_at`` is the time of the next try. A worker that takes the delivery postpones this time before it sends, so that the
    delivery is tried again if the worker dies; ``tries`` counts how often it was taken. For the last try, the status and the
    beginning of the answer are stored, or the reason why there is no answer.
    """

    class State(models.TextChoices):
        """Whether it is still to be sent."""

        WAITING = "waiting", "waiting"
        DELIVERED = "delivered", "delivered"
        GIVEN_UP = "given_up", "given up"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT, related_name="deliveries")
    event = models.CharField(max_length=50)
    body = models.TextField()
    created_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    due_at = models.DateTimeField()
    tries = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveIntegerField(null=True, blank=True)
    answer = models.CharField(max_length=100, blank=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="waiting", ended_at__isnull=True) | ~Q(state="waiting") & Q(ended_at__isnull=False),
                name="%(app_label)s_%(class)s_ended_or_waiting",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="%(app_label)s_%(class)s_due"),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"
