"""The audit trail: append-only, hash-chained per stream, and without foreign keys to what it records."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class AuditEvent(models.Model):
    """One act of a person, in order. It has no foreign keys, because the trail must outlive what it records.

    Database triggers refuse UPDATE and DELETE (its first migration); ``hash`` covers the row and the hash before it.
    """

    stream = models.CharField(max_length=100)
    sequence = models.PositiveBigIntegerField(help_text="Place in the study's chain, from 1, without gaps.")
    at = models.DateTimeField(help_text="When, in UTC to the microsecond.")
    actor_id = models.CharField(max_length=40, help_text="Number of the person; system for the program itself.")
    actor_name = models.CharField(max_length=200, help_text="Name of the person at the time.")
    action = models.CharField(max_length=100, help_text="What was done.")
    target = models.CharField(max_length=200, help_text="The object of the action: kind and number.")
    details = models.JSONField(default=dict, help_text="Numbers and short states; never text of an interview.")
    previous_hash = models.CharField(max_length=64, help_text="Hash of the previous event.")
    hash = models.CharField(
        max_length=64,
        help_text="SHA-256 over the event and the hash before it (audit_trail/pure.py verifies an exported trail).",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["stream", "sequence"], name="%(app_label)s_%(class)s_one_per_place")
        ]

    def __str__(self) -> str:
        return f"{self.stream} {self.sequence}: {self.action} {self.target}"


class AuditText(models.Model):
    """Typed text, stored apart from its event, which has only ``hash``, SHA-256 over ``salt`` and ``content`` (trail.py).

    Database triggers allow only adding a row, and emptying it when its text is erased.
    """

    hash = models.CharField(max_length=64, primary_key=True)
    salt = models.CharField(max_length=32)
    content = models.TextField()

    def __str__(self) -> str:
        return f"text {self.hash[:12]}"


class AuditHead(models.Model):
    """The head of a stream. Its row is locked while an event is added, so that sequences have no gaps."""

    stream = models.CharField(max_length=100, primary_key=True)
    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.stream} at {self.sequence}"
