"""What a batch asked: its arms under the names that its figures carry, with their families and pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from auditapp.batches.models import Arm, Batch
from auditapp.llm.models import ModelVariant

WITHOUT_REASONING = frozenset({"off", "none", "0"})


class AskedArm(NamedTuple):
    """One arm. ``model`` is the variant's label; where one variant was asked a task in several wordings, with the wording, and
    with its hash where these bear one name. No two arms have the same model and task."""

    arm_id: int
    model: str
    task: str
    instrument: str
    variant: ModelVariant


def read_arms(batch: Batch) -> list[AskedArm]:
    """The arms in the order of the launch. One query."""
    arms = list(Arm.objects.filter(batch=batch).select_related("variant__account").order_by("pk"))
    wordings = Counter((arm.variant_id, arm.task) for arm in arms)
    several = {variant for (variant, _), count in wordings.items() if count > 1}
    names = {arm.pk: _name_model(arm, arm.variant_id in several) for arm in arms}
    shared = Counter((names[arm.pk], arm.task) for arm in arms)
    for arm in arms:
        if shared[names[arm.pk], arm.task] > 1:
            names[arm.pk] = f"{arm.variant.label} ({name_instrument(arm)} {arm.prompt_hash[:8]})"
    return [AskedArm(arm.pk, names[arm.pk], arm.task, name_instrument(arm), arm.variant) for arm in arms]


def name_instrument(arm: Arm) -> str:
    """The wording an arm was asked in, by name, or by the beginning of its hash."""
    return str(arm.settings.get("instrument") or arm.prompt_hash[:8])


def _name_model(arm: Arm, with_wording: bool) -> str:
    return f"{arm.variant.label} ({name_instrument(arm)})" if with_wording else arm.variant.label


def find_families(arms: Sequence[AskedArm]) -> dict[str, str]:
    """The name of the family of each model: what is one model at one provider, under whatever setting or wording."""
    return {arm.model: arm.variant.model for arm in arms}


def find_pairs(arms: Sequence[AskedArm]) -> tuple[tuple[str, str], ...]:
    """One model without and with reasoning, by label, in that order.

    A variant that leaves reasoning to the provider is in no pair, for nobody says which of the two it is.
    """
    without: dict[tuple[int, str, str], str] = {}
    reasoning: list[tuple[tuple[int, str, str], str]] = []
    for arm in arms:
        setting = arm.variant.reasoning.strip().lower()
        key = (arm.variant.account_id, arm.variant.model, arm.instrument)
        if setting in WITHOUT_REASONING:
            without.setdefault(key, arm.model)
        elif setting:
            reasoning.append((key, arm.model))
    return tuple(dict.fromkeys((without[key], model) for key, model in reasoning if key in without))
