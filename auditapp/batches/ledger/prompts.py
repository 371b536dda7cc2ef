"""The request for an input of an arm, its hash, and the most that it can cost."""

from __future__ import annotations

import hashlib
import json
import logging
import traceback
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.db import InterfaceError, OperationalError, transaction

from auditapp.batches.kinds import BatchKind, get_kind, write_answer_schema
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.pure.money import compute_cost, count_most_input, count_most_output
from auditapp.llm.models import ProviderAccount
from auditapp.llm.providers import max_output_tokens
from auditapp.llm.providers.base import ChatRequest, Traits
from auditapp.llm.queries import find_max_output

PRIVATE_PARAMETERS = {"latency_seconds"}
# The traits that a row of capabilities holds under the same name; the first four are part of a request's hash, and the others
# decide only whether it is sent.
TRAITS = ("reasoning", "token_limit", "takes_system", "takes_temperature", "takes_top_p", "takes_seed", "takes_stop")
HASHED_TRAITS = TRAITS[:4]

logger = logging.getLogger(__name__)


def make_request(arm: Arm, prompt: str) -> ChatRequest:
    """The request for one input. Reads arm.variant.account and arm.capabilities, and arm.batch where
    the arm's answers are held to a schema."""
    variant, row = arm.variant, arm.capabilities
    known = {name: getattr(row, name) for name in TRAITS} if row else {}
    traits = Traits(**known, max_output_tokens=find_max_output(variant, row))
    return ChatRequest(
        request_id=str(uuid.uuid4()),
        model=variant.model,
        system=arm.system_prompt,
        user=prompt,
        max_tokens=variant.max_tokens,
        reasoning=variant.reasoning,
        parameters={name: value for name, value in variant.parameters.items() if name not in PRIVATE_PARAMETERS},
        answer_schema=write_answer_schema(arm, prompt),
        traits=traits,
        timeout_seconds=variant.timeout_seconds,
    )


def write_requests(
    batch: Batch, arms: Mapping[int, Arm], cells: Sequence[Cell]
) -> tuple[dict[int, ChatRequest], dict[int, str]]:
    """The requests by cell, and by cell the name of the error where the kind's own code failed. A cell in neither is one
    whose input is gone."""
    kind = get_kind(batch.kind)
    requests: dict[int, ChatRequest] = {}
    broken: dict[int, str] = {}
    for arm_id in {cell.arm_id for cell in cells}:
        own = [cell for cell in cells if cell.arm_id == arm_id]
        prompts, errors = write_messages(kind, arms[arm_id], list(dict.fromkeys(cell.input_id for cell in own)))
        for cell in own:
            if cell.input_id in prompts:
                requests[cell.pk] = make_request(arms[arm_id], prompts[cell.input_id])
            elif cell.input_id in errors:
                broken[cell.pk] = errors[cell.input_id]
    return requests, broken


def write_messages(kind: BatchKind, arm: Arm, input_ids: Sequence[int]) -> tuple[Mapping[int, str], dict[int, str]]:
    """The kind's user messages by input, and by input the name of the error that its own code ended with.

    An input that it cannot write about must not stop the others, nor the engine. An input in neither is gone.
    """
    prompts, failure = _try(kind, arm, input_ids)
    if failure is None:
        return prompts, {}
    written: dict[int, str] = {}
    broken: dict[int, Exception] = {}
    for input_id in input_ids:
        prompts, failure = _try(kind, arm, [input_id])
        written.update(prompts)
        if failure is not None:
            broken[input_id] = failure
    if broken:
        _log_broken(arm, len(input_ids), broken)
    return written, {input_id: type(failure).__name__ for input_id, failure in broken.items()}


def _try(kind: BatchKind, arm: Arm, input_ids: Sequence[int]) -> tuple[Mapping[int, str], Exception | None]:
    try:
        with transaction.atomic():
            return kind.write_prompts(arm, input_ids), None
    except (OperationalError, InterfaceError):
        # The database is unavailable: that is temporary and has nothing to do with the inputs.
        raise
    except Exception as failure:
        return {}, failure


def _log_broken(arm: Arm, tried: int, broken: Mapping[int, Exception]) -> None:
    """Log what failed and where. The error's message stays out of the log: it may quote a text."""
    input_id, failure = next(iter(broken.items()))
    frames = traceback.extract_tb(failure.__traceback__)
    last = [frame for frame in frames if "site-packages" not in frame.filename][-1]
    logger.error(
        "Arm %s: of messages about %d inputs %d could not be written, the first about input %s (%s in %s, line %s of %s)",
        arm.pk,
        tried,
        len(broken),
        input_id,
        type(failure).__name__,
        last.name,
        last.lineno,
        Path(last.filename).name,
    )


def hash_request(request: ChatRequest, account: ProviderAccount) -> str:
    """SHA-256 of everything that shapes the answer: account, address, texts and settings (not the request's own id)."""
    content: list[object] = [
        [account.pk, account.provider, account.base_url],
        request.model,
        request.system,
        request.user,
        request.max_tokens,
        request.reasoning,
        dict(request.parameters),
        [getattr(request.traits, name) for name in HASHED_TRAITS],
    ]
    if request.max_tokens is None:
        # Some APIs are sent the maximum in its place.
        content.append(request.traits.max_output_tokens)
    if request.answer_schema is not None:
        content.append(request.answer_schema)
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def compute_highest_price(request: ChatRequest, arm: Arm) -> int:
    """The most that the request can cost in nanodollars."""
    tokens_in, tokens_out = count_most_tokens(request)
    cost = compute_cost(tokens_in=tokens_in, tokens_out=tokens_out, price_in=arm.price_in, price_out=arm.price_out)
    return cost or 0


def count_most_tokens(request: ChatRequest) -> tuple[int, int]:
    """The most tokens that the request can send and get back. What parameters add (a schema, a tool) is sent too."""
    parameters = json.dumps(dict(request.parameters), ensure_ascii=False) if request.parameters else ""
    if request.answer_schema is not None:
        parameters += write_json(request.answer_schema)
    sent = count_most_input(request.system + request.user + parameters)
    return sent, count_most_output(max_output_tokens(request), request.parameters)


def write_json(schema: Mapping[str, object]) -> str:
    """A schema as it is counted."""
    return json.dumps(schema, ensure_ascii=False)


def hash_prompt(system_prompt: str) -> str:
    """SHA-256 of an arm's instructions."""
    return hashlib.sha256(system_prompt.encode()).hexdigest()
