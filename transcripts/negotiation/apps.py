from __future__ import annotations

from django.apps import AppConfig


class NegotiationConfig(AppConfig):
    name = "transcripts.negotiation"

    def ready(self) -> None:
        # The models can be read from here on; registering them is what a trail can be replayed from.
        from transcripts.negotiation.recorded import register

        register()
