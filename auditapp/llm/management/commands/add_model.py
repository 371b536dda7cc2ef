from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation

from django.core.management.base import CommandError, CommandParser
from django.db.models import Max

from auditapp.llm.actions import add_model, find_price_change
from auditapp.llm.models import ModelVariant, Price
from auditapp.llm.providers import PROVIDERS
from auditapp.llm.pure.sampling import read_stop
from auditapp.llm.queries import read_allowed_addresses
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = "Add a model variant that batches can use. A private address given here is added to the list of allowed addresses."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label")
        parser.add_argument("--provider", required=True, choices=[*PROVIDERS])
        parser.add_argument("--base-url", default="")
        parser.add_argument("--model", default="", help="the model's name at the provider (default: the label)")
        parser.add_argument(
            "--account", default="", help="the account that pays; added if there is none with this name"
        )
        parser.add_argument("--key-env", default="", help="environment variable of the worker that holds the key")
        parser.add_argument("--reasoning", default="", help="reasoning effort in the provider's terms, or on or off")
        parser.add_argument("--max-tokens", type=int, help="longest answer in tokens (default: no limit)")
        parser.add_argument("--temperature", help="0 to 2 (default: the provider's)")
        parser.add_argument("--top-p", help="above 0, at most 1 (default: the provider's)")
        parser.add_argument("--seed", help="a whole number (default: none)")
        parser.add_argument(
            "--stop",
            action="append",
            default=[],
            metavar="TEXT",
            help="end an answer where this text appears; \\n stands for a line break; up to four times",
        )
        parser.add_argument("--timeout-seconds", type=int, default=600, help="how long to wait for an answer")
        parser.add_argument("--note", default="", help="a warning for readers of its answers, shown beside them")
        parser.add_argument("--price-in", help="US dollars per million input tokens")
        parser.add_argument("--price-out", help="US dollars per million output tokens")
        parser.add_argument("--latency-seconds", type=float, help="fake provider only: how long an answer takes")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        parameters: dict[str, object] = {}
        if options["latency_seconds"] is not None:
            parameters["latency_seconds"] = options["latency_seconds"]
        limit, seed = options["max_tokens"], read_setting(options["seed"], "seed", "a whole number, such as 42")
        temperature = read_setting(options["temperature"], "temperature", "a number from 0 to 2, such as 0.7")
        top_p = read_setting(options["top_p"], "top_p", "a number above 0 and at most 1, such as 0.95")
        if seed is not None and seed != seed.to_integral_value():
            raise CommandError(f"{seed} is not a seed. Write a whole number, such as 42.")
        stop = options["stop"] if isinstance(options["stop"], list) else []
        before = read_allowed_addresses()
        newest_price = Price.objects.aggregate(newest=Max("pk"))["newest"] or 0
        variant = add_model(
            label=str(options["label"]),
            provider=str(options["provider"]),
            by=trail.SYSTEM,
            base_url=str(options["base_url"]),
            model=str(options["model"]),
            key_env=str(options["key_env"]),
            reasoning=str(options["reasoning"]),
            max_tokens=limit if isinstance(limit, int) else None,
            temperature=None if temperature is None else float(temperature),
            top_p=None if top_p is None else float(top_p),
            seed=None if seed is None else int(seed),
            stop=[read_stop(str(each)) for each in stop],
            timeout_seconds=int(str(options["timeout_seconds"])),
            price_in=read_price(options["price_in"]),
            price_out=read_price(options["price_out"]),
            parameters=parameters,
            account=str(options["account"]),
            note=str(options["note"]),
            allow_private=True,
        )
        allowed = sorted(read_allowed_addresses() - before)
        self.say(variant, allowed, find_price_change(variant, newest_price), as_json=bool(options["json"]))

    def say(
        self, variant: ModelVariant, allowed: list[str], change: tuple[Price, list[str]] | None, *, as_json: bool
    ) -> None:
        """Report what was added, which address may now be called, and which labels have a new price."""
        if as_json:
            answer = {
                "label": variant.label,
                "provider": variant.provider,
                "model": variant.model,
                "settings": variant.settings_in_words,
                "account": variant.account.name,
                "allowed_addresses": allowed,
                "price_changed_for": change[1] if change else [],
            }
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(f"{variant.label} can now be used in batches: {variant.settings_in_words}.")
        self.stdout.write(f"It belongs to the account {variant.account.name}.")
        for address in allowed:
            self.stdout.write(f"{address} is on the list of private addresses that calls may go to.")
        if change:
            price, labels = change
            self.stdout.write(
                f"The price of {variant.model} is now ${price.price_in.normalize():f} in and "
                f"${price.price_out.normalize():f} out per million tokens for every label of this model: {', '.join(labels)}."
            )


def read_price(value: object) -> Decimal | None:
    """A price as typed. Raises ``CommandError``."""
    return None if value is None else read_number(value, "price", "dollars per million tokens, such as 0.15")


def read_setting(value: object, name: str, manner: str) -> Decimal | None:
    """A finite number as typed, if one is. Raises ``CommandError``."""
    number = None if value is None else read_number(value, name, manner)
    if number is not None and not number.is_finite():
        raise CommandError(f"{value!r} is not a {name}. Write {manner}.")
    return number


def read_number(value: object, name: str, manner: str) -> Decimal:
    """A number as typed. Raises ``CommandError``."""
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise CommandError(f"{value!r} is not a {name}. Write {manner}.") from None
