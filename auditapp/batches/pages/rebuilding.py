"""A request as it was sent, written again from what the ledger keeps of it."""

from __future__ import annotations

import json
from typing import NamedTuple

from auditapp.batches.ledger.prompts import hash_request, make_request
from auditapp.batches.models import Attempt
from auditapp.llm.providers.base import ChatRequest
from auditapp.llm.providers.reasoning import SettingRefused


class Rebuilt(NamedTuple):
    """The body of a request, and whether its hash is the one that was noted before it was sent. Without a body, ``sentence``
    says why."""

    body: str
    agrees: bool
    sentence: str


def rebuild_request(attempt: Attempt) -> Rebuilt:
    """The request of a try. Reads attempt.arm with its capabilities, its variant and the account."""
    if not attempt.prompt:
        return Rebuilt("", False, "The message of this try was not kept, so its request cannot be written again.")
    variant = attempt.arm.variant
    request = make_request(attempt.arm, attempt.prompt)
    try:
        body = json.dumps(write_body(variant.provider, request), ensure_ascii=False, indent=2)
    except SettingRefused as error:
        return Rebuilt("", False, str(error))
    return Rebuilt(body, hash_request(request, variant.account) == attempt.request_hash, "")


def write_body(provider: str, request: ChatRequest) -> dict[str, object]:
    """The body as the provider's own code writes it."""
    if provider == "anthropic":
        from auditapp.llm.providers.anthropic import write_body as write_message

        return write_message(request)
    from auditapp.llm.providers.openai_compatible import write_body as write_completion

    return write_completion(request)
