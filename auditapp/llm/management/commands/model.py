from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.core.management.base import CommandError, CommandParser
from django.db.models import Max

from auditapp.llm.actions import add_model, find_price_change, probe_model, set_capabilities, set_price
from auditapp.llm.management.finding import describe_allowed, find_variant
from auditapp.llm.models import Capabilities, Price
from auditapp.llm.providers import PROVIDERS
from auditapp.llm.pure.sampling import read_stop
from auditapp.llm.queries import read_allowed_addresses
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand, Noun

PRICE = "dollars per million tokens, such as 0.15"


class Add(ActCommand):
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
        change = find_price_change(variant, newest_price)
        answer = {
            "label": variant.label,
            "provider": variant.provider,
            "model": variant.model,
            "settings": variant.settings_in_words,
            "account": variant.account.name,
            "allowed_addresses": allowed,
            "price_changed_for": change[1] if change else [],
        }
        words = [
            f"{variant.label} can now be used in batches: {variant.settings_in_words}.",
            f"It belongs to the account {variant.account.name}.",
            *map(describe_allowed, allowed),
        ]
        if change:
            price, labels = change
            words.append(
                f"The price of {variant.model} is now ${price.price_in.normalize():f} in and "
                f"${price.price_out.normalize():f} out per million tokens for every label of this model: {', '.join(labels)}."
            )
        self.answer(answer, words)


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


class Check(ActCommand):
    help = (
        "Ask a model's server, in a few tiny calls that are paid, whether it honours a JSON schema and accepts the variant's "
        "settings of sampling. The answer is a new row of capabilities."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label", help="a variant of the model; what is found applies to all of them")

    def handle(self, *args: object, **options: object) -> None:
        variant = find_variant(str(options["label"]))
        row = probe_model(variant=variant, by=trail.SYSTEM)
        probe = row.probe
        answer = {
            "model": row.model,
            "account": variant.account.name,
            "number": row.number,
            "answer_schema": row.answer_schema,
            "not_accepted": row.refused_sampling,
            "rest_is_default": row.is_assumed,
            **{name: probe[name] for name in ("calls", "tokens_in", "tokens_out", "cost_usd")},
        }
        cost = f"${probe['cost_usd']}" if probe["cost_usd"] is not None else "an unknown amount"
        words = [f"Structured answers: {row.get_answer_schema_display()}."]
        if row.is_assumed:
            words.append(
                f"Not probed, and not recorded before, so by default: reasoning {row.get_reasoning_display()}, longest "
                f"answer {row.get_token_limit_display()}."
            )
        if row.refused_sampling:
            words.append(f"Not accepted: {', '.join(row.refused_sampling)}.")
        words.append(
            f"Capabilities {row.number} of {row.model} apply to batches launched from now on. The probe made "
            f"{len(probe['calls'])} call{'' if len(probe['calls']) == 1 else 's'} and cost {cost}."
        )
        self.answer(answer, words)


class SetPrice(ActCommand):
    help = "Set a new price of a model, for batches launched from now on. Earlier batches keep theirs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label", help="any variant of the model: the price applies to all of them")
        parser.add_argument("--price-in", required=True, help="US dollars per million input tokens")
        parser.add_argument("--price-out", required=True, help="US dollars per million output tokens")
        parser.add_argument(
            "--batch-share", default="1", help="share of the price that the provider's batch service costs"
        )
        parser.add_argument("--source", default="", help="where the price is published")

    def handle(self, *args: object, **options: object) -> None:
        variant = find_variant(str(options["label"]))
        row = set_price(
            variant=variant,
            price_in=read_number(options["price_in"], "price", PRICE),
            price_out=read_number(options["price_out"], "price", PRICE),
            batch_share=read_number(options["batch_share"], "share", "a number up to 1, such as 0.5"),
            source=str(options["source"]),
            by=trail.SYSTEM,
        )
        answer = {
            "model": row.model,
            "account": variant.account.name,
            "number": row.number,
            "price_in": str(row.price_in),
            "price_out": str(row.price_out),
            "batch_share": str(row.batch_share),
        }
        done = f"Price {row.number} of {row.model} applies to batches launched from now on."
        self.answer(answer, done)


class SetCapabilities(ActCommand):
    help = "Set the capabilities of a model, for batches launched from now on. Options that are left out have their default."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label", help="any variant of the model: capabilities apply to all of them")
        parser.add_argument("--reasoning", default="effort", choices=Capabilities.Reasoning.values)
        parser.add_argument("--token-limit", default="max_tokens", choices=Capabilities.TokenLimit.values)
        parser.add_argument("--no-system", action="store_true", help="accepts no system message")
        parser.add_argument("--no-temperature", action="store_true", help="accepts no temperature")
        parser.add_argument("--no-top-p", action="store_true", help="accepts no top_p")
        parser.add_argument("--no-seed", action="store_true", help="accepts no seed")
        parser.add_argument("--no-stop", action="store_true", help="accepts no stop texts")
        parser.add_argument("--offers-batches", action="store_true", help="available in the provider's batch service")
        parser.add_argument("--max-output-tokens", type=int)
        parser.add_argument("--source", default="", help="where this is documented")

    def handle(self, *args: object, **options: object) -> None:
        variant = find_variant(str(options["label"]))
        limit = options["max_output_tokens"]
        row = set_capabilities(
            variant=variant,
            reasoning=str(options["reasoning"]),
            token_limit=str(options["token_limit"]),
            takes_system=not options["no_system"],
            takes_temperature=not options["no_temperature"],
            takes_top_p=not options["no_top_p"],
            takes_seed=not options["no_seed"],
            takes_stop=not options["no_stop"],
            offers_batches=bool(options["offers_batches"]),
            max_output_tokens=limit if isinstance(limit, int) else None,
            source=str(options["source"]),
            by=trail.SYSTEM,
        )
        answer = {
            "model": row.model,
            "account": variant.account.name,
            "number": row.number,
            "reasoning": row.reasoning,
            "token_limit": row.token_limit,
            "takes_system": row.takes_system,
            "takes_temperature": row.takes_temperature,
            "takes_top_p": row.takes_top_p,
            "takes_seed": row.takes_seed,
            "takes_stop": row.takes_stop,
            "offers_batches": row.offers_batches,
            "max_output_tokens": row.max_output_tokens,
        }
        done = f"Capabilities {row.number} of {row.model} apply to batches launched from now on."
        self.answer(answer, done)


class Command(Noun):
    help = "Add models that batches can use, check them, and set their prices and capabilities."
    verbs = {
        "add": Add,
        "check": Check,
        "set-price": SetPrice,
        "set-capabilities": SetCapabilities,
    }
