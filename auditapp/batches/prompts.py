"""From an arm and a user message to the request that is sent, its hash, and the most that it can cost."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields

from auditapp.batches.kinds import get_kind
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.money import compute_highest_cost, count_most_output
from auditapp.batches.queries import Planned
from auditapp.llm.models import ProviderAccount
from auditapp.llm.providers import most_output_tokens
from auditapp.llm.providers.base import ChatRequest, Traits

PRIVATE_PARAMETERS = {"latency_seconds"}
TRAITS = tuple(field.name for field in fields(Traits))


def make_request(arm: Arm, prompt: str) -> ChatRequest:
    """The request for one input. Reads arm.variant and arm.capabilities."""
    variant, row = arm.variant, arm.capabilities
    traits = Traits(row.reasoning, row.token_limit, row.takes_system, row.takes_temperature) if row else Traits()
    return ChatRequest(
        request_id=str(uuid.uuid4()),
        model=variant.model,
        system=arm.system_prompt,
        user=prompt,
        max_tokens=variant.max_tokens,
        reasoning=variant.reasoning,
        parameters={name: value for name, value in variant.parameters.items() if name not in PRIVATE_PARAMETERS},
        traits=traits,
        timeout_seconds=variant.timeout_seconds,
    )


def write_requests(batch: Batch, arms: Mapping[int, Arm], cells: Sequence[Planned | Cell]) -> dict[int, ChatRequest]:
    """The requests of cells, by their keys; none for a cell whose input is gone."""
    kind = get_kind(batch.kind)
    requests: dict[int, ChatRequest] = {}
    for arm_id in {cell.arm_id for cell in cells}:
        own = [cell for cell in cells if cell.arm_id == arm_id]
        prompts = kind.write_prompts(arms[arm_id], [cell.input_id for cell in own])
        for cell in own:
            if cell.input_id in prompts:
                requests[cell.pk] = make_request(arms[arm_id], prompts[cell.input_id])
    return requests


def hash_request(request: ChatRequest, account: ProviderAccount) -> str:
    """SHA-256 of everything that shapes the answer: who is asked, where, what and how (not the request's own id)."""
    content = [
        [account.pk, account.provider, account.base_url],
        request.model,
        request.system,
        request.user,
        request.max_tokens,
        request.reasoning,
        dict(request.parameters),
        [getattr(request.traits, name) for name in TRAITS],
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def compute_highest_price(request: ChatRequest, arm: Arm) -> int:
    """The most that the request can cost in nanodollars. What the parameters add to it (a schema, a tool) counts as read."""
    parameters = json.dumps(dict(request.parameters), ensure_ascii=False) if request.parameters else ""
    return compute_highest_cost(
        prompt=request.system + request.user + parameters,
        max_tokens=count_most_output(most_output_tokens(request), request.parameters),
        price_in=arm.price_in,
        price_out=arm.price_out,
    )


def hash_prompt(system_prompt: str) -> str:
    """SHA-256 of an arm's instructions."""
    return hashlib.sha256(system_prompt.encode()).hexdigest()
