"""Anthropic's messages, over aiohttp: one request, one answer, nothing retried here.

``max_tokens`` of a variant is the room for the answer; a budget for thinking comes on top of it (``reasoning.py``). The API
demands a limit: a variant without one is asked with the model's recorded maximum, thinking included. Earlier thinking is not
sent back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from yarl import URL

from auditapp.llm.providers.base import (
    Account,
    CallOutcome,
    ChatAnswer,
    ChatRequest,
    ErrorClass,
    NextStep,
    make_storable,
)
from auditapp.llm.providers.http import CallFailed, HttpAccount, cap_body, decode, name_request, refuse_setting, shorten
from auditapp.llm.providers.openai_compatible import MAX_TOKENS, read_count, write_turns
from auditapp.llm.providers.reasoning import (
    CONSTRAINTS,
    SettingRefused,
    check_parameters,
    list_parameters,
    max_output_tokens,
    read_budget,
    write_anthropic_reasoning,
)
from auditapp.llm.providers.statuses import judge_error_in_answer, name_error_in_answer, read_problem, read_refusal

BASE_URL = "https://api.anthropic.com/v1"
VERSION = "2023-06-01"
RESERVED = frozenset({"model", "messages", "system", "stream", "max_tokens", *CONSTRAINTS})
MIN_TOP_P_WHILE_THINKING = 0.95
FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}


class AnthropicProvider:
    """One account; without a base URL it is Anthropic's own."""

    def __init__(self, account: Account) -> None:
        self.http = open_http(account)

    async def close(self) -> None:
        await self.http.close()

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        try:
            body = json.dumps(write_body(request), ensure_ascii=False).encode(errors="backslashreplace")
            status, headers, body, first_byte_after = await self.http.exchange(
                "POST",
                "/messages",
                data=body,
                headers=name_request(request),
                timeout_seconds=request.timeout_seconds,
                max_bytes=cap_body(request),
            )
        except SettingRefused as error:
            return refuse_setting(error)
        except CallFailed as error:
            return error.answer
        answer = read_answer(status, headers, body)
        return replace(answer, first_byte_after=first_byte_after)


def open_http(account: Account) -> HttpAccount:
    """The session of an account, its key in the header Anthropic wants it in."""
    headers = {"anthropic-version": VERSION}
    if account.key:
        headers["x-api-key"] = account.key
    return HttpAccount(account, base_url=complete_base_url(account.base_url), headers=headers)


def complete_base_url(base_url: str) -> str:
    """The base URL with its version, which Anthropic's own tools leave out."""
    if not base_url:
        return BASE_URL
    try:
        return base_url if URL(base_url).path.strip("/") else base_url.rstrip("/") + "/v1"
    except ValueError:
        return base_url


def write_body(request: ChatRequest) -> dict[str, object]:
    """The JSON body of a message. Raises ``SettingRefused``."""
    check_parameters(request, reserved=RESERVED)
    body = list_parameters(request)
    thinking = write_anthropic_reasoning(request)
    _check_sampling(request, thinks=thinking.get("thinking", {"type": "disabled"}) != {"type": "disabled"})
    if "stop" in body:
        body["stop_sequences"] = body.pop("stop")
    body |= thinking
    if request.answer_schema is not None:
        effort = thinking.get("output_config", {})
        schema = {"format": {"type": "json_schema", "schema": request.answer_schema}}
        body["output_config"] = {**effort, **schema} if isinstance(effort, dict) else schema
    body["model"] = request.model
    body["max_tokens"] = max_output_tokens(request)
    if read_budget(request) >= max_output_tokens(request):
        raise SettingRefused(
            f"The thinking budget of {request.model} ({read_budget(request):,} tokens) leaves no room for an answer: "
            f"all output together can have {max_output_tokens(request):,} tokens. Add the model again with a smaller budget."
        )
    # The API takes no message without words. It joins the user messages on both sides of an answer that had none.
    turns = write_turns(request)
    body["messages"] = [turn for turn in turns if turn["role"] == "user" or turn["content"].strip()]
    if request.system and request.traits.takes_system:
        body["system"] = request.system
    return body


def _check_sampling(request: ChatRequest, *, thinks: bool) -> None:
    """Refuse settings of sampling that Anthropic's API is documented not to take. Raises ``SettingRefused``."""
    given = request.parameters
    if "seed" in given:
        raise SettingRefused(
            f"{request.model} takes no seed: Anthropic's API has none. Add the model again without it."
        )
    if thinks and "temperature" in given:
        raise SettingRefused(
            f"{request.model} takes no temperature while it thinks. Add the model again without one of the two."
        )
    temperature, top_p = given.get("temperature"), given.get("top_p")
    if isinstance(temperature, (int, float)) and temperature > 1:
        raise SettingRefused(
            f"{request.model} takes a temperature from 0 to 1, not {temperature:g}. Add the model again with another."
        )
    if thinks and isinstance(top_p, (int, float)) and top_p < MIN_TOP_P_WHILE_THINKING:
        raise SettingRefused(
            f"{request.model} takes a top_p from {MIN_TOP_P_WHILE_THINKING} to 1 while it thinks, not {top_p:g}. Add the "
            "model again with another, or without thinking."
        )


def read_answer(status: int, headers: Mapping[str, str], raw: bytes) -> ChatAnswer:
    """What a status and a body mean."""
    text = decode(raw)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    data: dict[str, object] = found if isinstance(found, dict) else {}
    request_id = shorten(headers.get("request-id") or data.get("request_id"))
    problem = read_problem(data)
    if status != 200:
        return read_refusal(status, headers, text, problem, request_id=request_id)
    reason = shorten(data.get("stop_reason"), 50)
    blocks = data.get("content")
    known = ChatAnswer(
        CallOutcome.ANSWERED,
        content=make_storable(_join_text(blocks, "text")),
        reasoning=make_storable(_join_text(blocks, "thinking")),
        raw=text,
        http_status=status,
        finish_reason=FINISH_REASONS.get(reason, reason),
        served_model=shorten(data.get("model")),
        provider_request_id=request_id,
        provider_answer_id=shorten(data.get("id")),
        tokens_in=count_input(data),
        tokens_out=read_count(data, "output_tokens"),
        tokens_cached=read_count(data, "cache_read_input_tokens"),
        tokens_reasoning=read_count(data, "output_tokens_details", "thinking_tokens"),
    )
    if problem is not None:
        return replace(
            known,
            end=CallOutcome.FAILED,
            next_step=judge_error_in_answer(problem),
            error_class=name_error_in_answer(problem),
            error=problem.sentence,
        )
    if not isinstance(blocks, list):
        words = "status 200 without an answer in it"
        return replace(
            known, end=CallOutcome.FAILED, next_step=NextStep.RETRY, error_class=ErrorClass.BAD_ANSWER, error=words
        )
    return known


def count_input(data: Mapping[str, object]) -> int | None:
    """All tokens that went in; Anthropic counts those written to and read from its cache apart."""
    fresh = read_count(data, "input_tokens")
    if fresh is None:
        return None
    cached = (read_count(data, "cache_creation_input_tokens"), read_count(data, "cache_read_input_tokens"))
    whole = fresh + sum(count or 0 for count in cached)
    return whole if whole < MAX_TOKENS else None


def _join_text(blocks: object, kind: str) -> str:
    """The blocks of text, or those of thinking, as one. Redacted thinking is no text."""
    if not isinstance(blocks, list):
        return ""
    texts = [block.get(kind) for block in blocks if isinstance(block, dict) and block.get("type") == kind]
    return "".join(text for text in texts if isinstance(text, str))
