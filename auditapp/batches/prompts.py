"""From an arm and a user message to the request that is sent, and its hash."""

from __future__ import annotations

import hashlib
import json
import uuid

from auditapp.batches.models import Arm
from auditapp.llm.providers.base import ChatRequest

PRIVATE_PARAMETERS = {"latency_seconds"}


def make_request(arm: Arm, prompt: str) -> ChatRequest:
    """The request for one input. Reads arm.variant."""
    variant = arm.variant
    return ChatRequest(
        request_id=str(uuid.uuid4()),
        model=variant.model,
        system=arm.system_prompt,
        user=prompt,
        max_tokens=variant.max_tokens,
        reasoning=variant.reasoning,
        parameters={name: value for name, value in variant.parameters.items() if name not in PRIVATE_PARAMETERS},
    )


def hash_request(request: ChatRequest) -> str:
    """SHA-256 of everything that shapes the answer (not of the request's own id)."""
    content = [
        request.model,
        request.system,
        request.user,
        request.max_tokens,
        request.reasoning,
        dict(request.parameters),
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def hash_prompt(system_prompt: str) -> str:
    """SHA-256 of an arm's instructions."""
    return hashlib.sha256(system_prompt.encode()).hexdigest()
