from __future__ import annotations

import json

from django.core.management.base import CommandParser

from auditapp.llm.actions import probe_model
from auditapp.llm.management.finding import find_variant
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand


class Command(ActCommand):
    help = (
        "Ask a model's server, in a few tiny calls that are paid, whether it honours a JSON schema and accepts the variant's "
        "settings of sampling. The answer is a new row of capabilities."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label", help="a variant of the model; what is found applies to all of them")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        variant = find_variant(str(options["label"]))
        row = probe_model(variant=variant, by=trail.SYSTEM)
        probe = row.probe
        if options["json"]:
            answer = {
                "model": row.model,
                "account": variant.account.name,
                "number": row.number,
                "answer_schema": row.answer_schema,
                "not_accepted": row.refused_sampling,
                "rest_is_default": row.is_assumed,
                **{name: probe[name] for name in ("calls", "tokens_in", "tokens_out", "cost_usd")},
            }
            self.stdout.write(json.dumps(answer))
            return
        cost = f"${probe['cost_usd']}" if probe["cost_usd"] is not None else "an unknown amount"
        self.stdout.write(f"Structured answers: {row.get_answer_schema_display()}.")
        if row.is_assumed:
            self.stdout.write(
                f"Not probed, and not recorded before, so by default: reasoning {row.get_reasoning_display()}, longest "
                f"answer {row.get_token_limit_display()}."
            )
        if row.refused_sampling:
            self.stdout.write(f"Not accepted: {', '.join(row.refused_sampling)}.")
        self.stdout.write(
            f"Capabilities {row.number} of {row.model} apply to batches launched from now on. The probe made "
            f"{len(probe['calls'])} call{'' if len(probe['calls']) == 1 else 's'} and cost {cost}."
        )
