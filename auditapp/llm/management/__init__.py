"""The model that a command names."""

from __future__ import annotations

from auditapp.llm.models import ModelVariant
from transcripts.ui.commands import Argument, find_row

MODEL = Argument("--model", required=True, metavar="LABEL", help="the model")
MODELS = MODEL.but(action="append", help="a model; may be repeated")
LABEL = Argument("label", metavar="LABEL", help="any variant of the model; this applies to all of its variants")


def describe_allowed(address: str) -> str:
    """That calls may now go to an address."""
    return f"{address} is on the list of private addresses that calls may go to."


def find_variant(label: str) -> ModelVariant:
    """The model with that label, and its account. Raises ``CommandError``."""
    variants = ModelVariant.objects.select_related("account").order_by("label")
    return find_row(variants, "model", hint="Add one with `manage.py model add`.", label=label)
