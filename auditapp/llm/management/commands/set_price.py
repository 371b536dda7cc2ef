from __future__ import annotations

import json

from django.core.management.base import CommandParser

from auditapp.llm.actions import set_price
from auditapp.llm.management.commands.add_model import read_number
from auditapp.llm.management.finding import find_variant
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand

PRICE = "dollars per million tokens, such as 0.15"


class Command(ActCommand):
    help = "Set a new price of a model, for batches launched from now on. Earlier batches keep theirs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label", help="any variant of the model: the price applies to all of them")
        parser.add_argument("--price-in", required=True, help="US dollars per million input tokens")
        parser.add_argument("--price-out", required=True, help="US dollars per million output tokens")
        parser.add_argument(
            "--batch-share", default="1", help="share of the price that the provider's batch service costs"
        )
        parser.add_argument("--source", default="", help="where the price is published")
        parser.add_argument("--json", action="store_true")

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
        self.stdout.write(json.dumps(answer) if options["json"] else done)
