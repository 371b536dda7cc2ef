"""The request for an input of an arm, its hash, and the most that it can cost."""

from __future__ import annotations

import hashlib
import json
import logging
import traceback
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from django.db import InterfaceError, OperationalError, transaction

from auditapp.batches.kinds import BatchKind, Said, get_kind, write_answer_schema
from auditapp.batches.ledger.conversations import read_exchanges
from auditapp.batches.models import Arm, Attempt, Batch, Cell
from auditapp.batches.pure.conversations import Conversation, Exchange, Message, keep_messages, revive_conversation
from auditapp.batches.pure.estimates import compute_cost, count_most_input, count_most_output
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


def make_request(arm: Arm, said: Said) -> ChatRequest:
    """The request for a user message with the arm's instructions, or for a conversation. Reads arm.variant.account and
    arm.capabilities, and arm.batch if the arm's answers must follow a schema."""
    conversation = complete_conversation(said, arm)
    variant, row = arm.variant, arm.capabilities
    known = {name: getattr(row, name) for name in TRAITS} if row else {}
    traits = Traits(**known, max_output_tokens=find_max_output(variant, row))
    return ChatRequest(
        request_id=str(uuid.uuid4()),
        model=variant.model,
        system=conversation.system,
        history=tuple(conversation.history),
        user=conversation.user,
        max_tokens=variant.max_tokens,
        reasoning=variant.reasoning,
        parameters={name: value for name, value in variant.parameters.items() if name not in PRIVATE_PARAMETERS},
        answer_schema=write_answer_schema(arm, conversation.user),
        traits=traits,
        timeout_seconds=variant.timeout_seconds,
    )


def keep_history(request: ChatRequest, arm: Arm) -> list[Message] | None:
    """The part of a request that its attempt keeps as ``history``."""
    return keep_messages(Conversation(request.system, request.history, request.user), arm.system_prompt)


def rewrite_request(attempt: Attempt, arm: Arm) -> ChatRequest:
    """The request of an attempt, rebuilt from what the attempt keeps, with a new id."""
    return make_request(arm, revive_conversation(attempt.history, attempt.prompt, arm.system_prompt))


def complete_conversation(said: Said, arm: Arm, before: Sequence[Exchange] | None = None) -> Conversation:
    """The messages of a kind as a conversation. ``before``, if given, is what was said before the cell: it is always sent, whatever
    history the kind returned."""
    given = Conversation(arm.system_prompt, (), said) if isinstance(said, str) else said
    return given if before is None else given._replace(history=before)


def write_requests(
    batch: Batch, arms: Mapping[int, Arm], cells: Sequence[Cell]
) -> tuple[dict[int, ChatRequest], dict[int, str]]:
    """The requests by cell, and the names of errors by cell if the kind's own code failed. For a cell in neither, the input is
    gone."""
    kind = get_kind(batch.kind)
    exchanges = read_exchanges(cells) if batch.has_conversations else {}
    requests: dict[int, ChatRequest] = {}
    broken: dict[int, str] = {}
    for arm_id in {cell.arm_id for cell in cells}:
        arm = arms[arm_id]
        # Nothing is sent without what was said before it.
        own = [cell for cell in cells if cell.arm_id == arm_id and (cell.after_id is None or cell.pk in exchanges)]
        written, errors = _write_said(kind, arm, own, exchanges)
        broken |= errors
        for pk, said in written.items():
            requests[pk] = make_request(arm, complete_conversation(said, arm, exchanges.get(pk)))
    return requests, broken


def _write_said(
    kind: BatchKind, arm: Arm, cells: Sequence[Cell], exchanges: Mapping[int, Sequence[Exchange]]
) -> tuple[Mapping[int, Said], dict[int, str]]:
    """The kind's messages for each cell, and the names of its errors, both by cell."""
    by_key = {cell.pk: cell for cell in cells}

    def write(keys: Sequence[int]) -> Mapping[int, Said]:
        own = {pk: exchanges[pk] for pk in keys if pk in exchanges}
        return kind.write_conversations(arm, [by_key[pk] for pk in keys], own)

    return _write_each(write, arm, "cell", list(by_key))


def write_messages(kind: BatchKind, arm: Arm, input_ids: Sequence[int]) -> tuple[Mapping[int, Said], dict[int, str]]:
    """The kind's user messages by input, and by input the name of the error in which the kind's code ended."""
    return _write_each(lambda keys: kind.write_prompts(arm, keys), arm, "input", input_ids)


def _write_each(
    write: Callable[[Sequence[int]], Mapping[int, Said]], arm: Arm, what: str, keys: Sequence[int]
) -> tuple[Mapping[int, Said], dict[int, str]]:
    """The messages by key, and the names of errors by key. A message that cannot be written must not stop the others or the
    engine. For a key in neither, the input is gone."""
    said, failure = _try(write, keys)
    if failure is None:
        return said, {}
    written: dict[int, Said] = {}
    broken: dict[int, Exception] = {}
    for key in keys:
        said, failure = _try(write, [key])
        written.update(said)
        if failure is not None:
            broken[key] = failure
    if broken:
        _log_broken(arm, what, len(keys), broken)
    return written, {key: type(failure).__name__ for key, failure in broken.items()}


def _try(
    write: Callable[[Sequence[int]], Mapping[int, Said]], keys: Sequence[int]
) -> tuple[Mapping[int, Said], Exception | None]:
    try:
        with transaction.atomic():
            return write(keys), None
    except (OperationalError, InterfaceError):
        # The database is unavailable: that is temporary and has nothing to do with the inputs.
        raise
    except Exception as failure:
        return {}, failure


def _log_broken(arm: Arm, what: str, tried: int, broken: Mapping[int, Exception]) -> None:
    """Log what failed and where; ``what`` names the things that the keys belong to. The error's message is not logged, because it
    may quote a text."""
    key, failure = next(iter(broken.items()))
    frames = traceback.extract_tb(failure.__traceback__)
    last = [frame for frame in frames if "site-packages" not in frame.filename][-1]
    logger.error(
        "Arm %s: of messages about %d %ss %d could not be written, the first about %s %s (%s in %s, line %s of %s)",
        arm.pk,
        tried,
        what,
        len(broken),
        what,
        key,
        type(failure).__name__,
        last.name,
        last.lineno,
        Path(last.filename).name,
    )


def hash_request(request: ChatRequest, account: ProviderAccount) -> str:
    """SHA-256 of everything that shapes the answer: account, address, texts and settings, but not the request's id."""
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
    if request.history:
        content.append([list(exchange) for exchange in request.history])
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def compute_highest_price(request: ChatRequest, arm: Arm) -> int:
    """The most that the request can cost in nanodollars."""
    tokens_in, tokens_out = count_most_tokens(request)
    cost = compute_cost(tokens_in=tokens_in, tokens_out=tokens_out, price_in=arm.price_in, price_out=arm.price_out)
    return cost or 0


def count_most_tokens(request: ChatRequest) -> tuple[int, int]:
    """The most tokens that the request can send and receive. Whatever parameters add (a schema, a tool) is sent too."""
    parameters = json.dumps(dict(request.parameters), ensure_ascii=False) if request.parameters else ""
    if request.answer_schema is not None:
        parameters += write_json(request.answer_schema)
    said = "".join(part for exchange in request.history for part in exchange)
    sent = count_most_input(
        request.system + said + request.user + parameters, earlier_messages=2 * len(request.history)
    )
    return sent, count_most_output(max_output_tokens(request), request.parameters)


def write_json(schema: Mapping[str, object]) -> str:
    """The text of a schema that is counted."""
    return json.dumps(schema, ensure_ascii=False)


def hash_prompt(system_prompt: str) -> str:
    """SHA-256 of an arm's instructions."""
    return hashlib.sha256(system_prompt.encode()).hexdigest()
