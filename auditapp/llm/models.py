"""Which models can be asked, how, and at what price."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class ModelVariant(models.Model):
    """A model under one setting: the thing a column of results stands for.

    Keys are never stored: ``key_env`` names the environment variable of the worker that holds one. Prices are US dollars
    per million tokens; ``None`` is not known.
    """

    label = models.CharField(max_length=100, unique=True)
    provider = models.CharField(max_length=40)
    base_url = models.CharField(max_length=300, blank=True)
    model = models.CharField(max_length=200)
    key_env = models.CharField(max_length=100, blank=True)
    reasoning = models.CharField(max_length=20, blank=True)
    max_tokens = models.PositiveIntegerField(default=1024)
    parameters = models.JSONField(default=dict)
    price_in = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price_out = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["label"]

    def __str__(self) -> str:
        return self.label

    @property
    def is_fake(self) -> bool:
        """Whether answers are invented by this program."""
        return self.provider == "fake"

    @property
    def lane(self) -> str:
        """Calls of one lane share one account and so one limit."""
        return f"{self.provider}|{self.base_url}|{self.key_env}"
