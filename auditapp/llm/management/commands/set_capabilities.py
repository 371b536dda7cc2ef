from __future__ import annotations

import json

from django.core.management.base import CommandParser

from auditapp.llm.actions import set_capabilities
from auditapp.llm.management.finding import find_variant
from auditapp.llm.models import Capabilities
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
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
        parser.add_argument("--json", action="store_true")

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
        self.stdout.write(json.dumps(answer) if options["json"] else done)
