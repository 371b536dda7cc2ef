from __future__ import annotations

from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "transcripts.exchange"

    def ready(self) -> None:
        from transcripts.exchange.exports import register_all

        register_all()
