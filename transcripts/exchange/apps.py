from __future__ import annotations

from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "transcripts.exchange"
