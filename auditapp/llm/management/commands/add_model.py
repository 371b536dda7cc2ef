from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.llm.actions import ModelError, add_model
from auditapp.llm.providers import PROVIDERS
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Add a model variant that batches can use. Keys stay in the environment of the worker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label")
        parser.add_argument("--provider", required=True, choices=[*PROVIDERS])
        parser.add_argument("--base-url", default="")
        parser.add_argument("--model", default="", help="the model's name at the provider (default: the label)")
        parser.add_argument("--key-env", default="", help="environment variable of the worker that holds the key")
        parser.add_argument("--reasoning", default="", help="reasoning effort, as the provider names it")
        parser.add_argument("--max-tokens", type=int, default=1024)
        parser.add_argument("--price-in", help="US dollars per million tokens read")
        parser.add_argument("--price-out", help="US dollars per million tokens written")
        parser.add_argument("--latency-seconds", type=float, help="fake provider only: how long an answer takes")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        parameters: dict[str, object] = {}
        if options["latency_seconds"] is not None:
            parameters["latency_seconds"] = options["latency_seconds"]
        try:
            variant = add_model(
                label=str(options["label"]),
                provider=str(options["provider"]),
                by=trail.SYSTEM,
                base_url=str(options["base_url"]),
                model=str(options["model"]),
                key_env=str(options["key_env"]),
                reasoning=str(options["reasoning"]),
                max_tokens=int(str(options["max_tokens"])),
                price_in=read_price(options["price_in"]),
                price_out=read_price(options["price_out"]),
                parameters=parameters,
            )
        except ModelError as error:
            raise CommandError(str(error)) from error
        answer = {"label": variant.label, "provider": variant.provider, "model": variant.model}
        self.stdout.write(json.dumps(answer) if options["json"] else f"{variant.label} can be used in batches now.")


def read_price(value: object) -> Decimal | None:
    """A price as typed. Raises ``CommandError``."""
    if value is None:
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise CommandError(f"{value!r} is no price. Write dollars per million tokens, such as 0.15.") from None
