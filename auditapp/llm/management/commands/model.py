from __future__ import annotations

from typing import Any

from django.db.models import Max

from auditapp.llm.actions import add_model, check_model, find_price_change, set_capabilities, set_price
from auditapp.llm.credentials import read_allowed_addresses
from auditapp.llm.forms import ModelForm
from auditapp.llm.management import LABEL, describe_allowed, find_variant
from auditapp.llm.models import Capabilities, ModelVariant, Price, ProviderAccount
from auditapp.llm.pure.model_settings import read_stop
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.ui.commands import ActCommand, Argument, Noun, arguments_of, pick, read_number

PRICE = "dollars per million tokens, such as 0.15"


class Add(ActCommand):
    help = "Add a model variant that batches can use. A private address given here is added to the list of allowed addresses."
    takes = (
        LABEL.but(help="its name in tables"),
        # Numbers are read below.
        *arguments_of(ModelForm, "provider account top_p seed", type=None),
        *arguments_of(ModelForm, "temperature", type=None, help="0 to 2 (default: the provider's)"),
        *arguments_of(ProviderAccount, "base_url key_env"),
        *arguments_of(
            ModelVariant,
            "model",
            required=False,
            default="",
            help="the model's name at the provider (default: the label)",
        ),
        *arguments_of(ModelVariant, "reasoning max_tokens timeout_seconds note"),
        *arguments_of(Price, "price_in price_out", required=False),
        Argument(
            "--stop",
            action="append",
            default=[],
            metavar="TEXT",
            help="end an answer where this text appears; \\n stands for a line break; up to four times",
        ),
        Argument("--latency-seconds", type=float, help="fake provider only: how long an answer takes"),
    )

    def handle(self, *args: object, **options: Any) -> None:
        latency = options["latency_seconds"]
        seed = read_number(options["seed"], "--seed", "a whole number, such as 42")
        if seed is not None and seed != seed.to_integral_value():
            raise Refused(f"--seed {str(seed)!r} is not a whole number, such as 42.")
        temperature = read_number(options["temperature"], "--temperature", "a number from 0 to 2, such as 0.7")
        top_p = read_number(options["top_p"], "--top-p", "a number above 0 and at most 1, such as 0.95")
        before = read_allowed_addresses()
        newest_price = Price.objects.aggregate(newest=Max("pk"))["newest"] or 0
        variant = add_model(
            label=options["label"],
            **pick(options, "provider account base_url key_env model reasoning max_tokens timeout_seconds note"),
            temperature=None if temperature is None else float(temperature),
            top_p=None if top_p is None else float(top_p),
            seed=None if seed is None else int(seed),
            price_in=read_number(options["price_in"], "--price-in", PRICE),
            price_out=read_number(options["price_out"], "--price-out", PRICE),
            stop=[read_stop(each) for each in options["stop"]],
            parameters={} if latency is None else {"latency_seconds": latency},
            by=trail.SYSTEM,
            allow_private=True,
        )
        allowed = sorted(read_allowed_addresses() - before)
        change = find_price_change(variant, newest_price)
        answer = {
            **pick(variant, "label provider model"),
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


class Check(ActCommand):
    help = (
        "Test whether a model's server honours a JSON schema and accepts the variant's sampling settings. This makes a few tiny "
        "calls, which are paid for. The result is a new row of capabilities."
    )
    takes = (LABEL,)

    def handle(self, *args: object, **options: Any) -> None:
        variant = find_variant(options["label"])
        row = check_model(variant=variant, by=trail.SYSTEM)
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
                f"Not probed and not recorded before, so the defaults apply: reasoning {row.get_reasoning_display()}, longest "
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
    takes = (LABEL, *arguments_of(Price, "price_in price_out batch_share source"))

    def handle(self, *args: object, **options: Any) -> None:
        variant = find_variant(options["label"])
        row = set_price(
            variant=variant,
            price_in=read_number(options["price_in"], "--price-in", PRICE),
            price_out=read_number(options["price_out"], "--price-out", PRICE),
            batch_share=read_number(options["batch_share"], "--batch-share", "a number up to 1, such as 0.5"),
            source=options["source"],
            by=trail.SYSTEM,
        )
        answer = {
            "model": row.model,
            "account": variant.account.name,
            "number": row.number,
            **{name: str(getattr(row, name)) for name in ("price_in", "price_out", "batch_share")},
        }
        done = f"Price {row.number} of {row.model} applies to batches launched from now on."
        self.answer(answer, done)


class SetCapabilities(ActCommand):
    help = "Set the capabilities of a model, for batches launched from now on. An option that is left out gets its default."
    takes = (
        LABEL,
        *arguments_of(Capabilities, "reasoning", help="how reasoning is set"),
        *arguments_of(Capabilities, "token_limit offers_batches max_output_tokens source"),
        Argument("--no-system", action="store_true", help="it accepts no system message"),
        Argument("--no-temperature", action="store_true", help="it accepts no temperature"),
        Argument("--no-top-p", action="store_true", help="it accepts no top p"),
        Argument("--no-seed", action="store_true", help="it accepts no seed"),
        Argument("--no-stop", action="store_true", help="it accepts no stop texts"),
    )

    def handle(self, *args: object, **options: Any) -> None:
        variant = find_variant(options["label"])
        row = set_capabilities(
            variant=variant,
            **pick(options, "reasoning token_limit offers_batches max_output_tokens source"),
            takes_system=not options["no_system"],
            takes_temperature=not options["no_temperature"],
            takes_top_p=not options["no_top_p"],
            takes_seed=not options["no_seed"],
            takes_stop=not options["no_stop"],
            by=trail.SYSTEM,
        )
        answer = {
            "model": row.model,
            "account": variant.account.name,
            **pick(
                row, "number reasoning token_limit takes_system takes_temperature takes_top_p takes_seed takes_stop"
            ),
            **pick(row, "offers_batches max_output_tokens"),
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
