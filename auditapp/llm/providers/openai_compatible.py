"""Chat completions as OpenAI, OpenRouter, vLLM, Ollama, LM Studio and llama.cpp serve them, over aiohttp.

One request, one answer: nothing is retried here, and what the other side sends is data, never trusted to have a shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

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
from auditapp.llm.providers.reasoning import (
    CONSTRAINTS,
    SettingRefused,
    check_parameters,
    list_parameters,
    max_output_tokens,
    write_chat_reasoning,
)
from auditapp.llm.providers.statuses import (
    Problem,
    judge_error_in_answer,
    name_error_in_answer,
    read_problem,
    read_refusal,
)

# What a column of counts holds.
MAX_TOKENS = 2**31
# vLLM, llama.cpp and DeepSeek use the first, OpenRouter, Ollama and later versions of vLLM the second.
REASONING_FIELDS = ("reasoning_content", "reasoning")
RESERVED = frozenset(
    {"model", "messages", "stream", "n", "best_of", "max_tokens", "max_completion_tokens", *CONSTRAINTS}
)


class OpenAICompatibleProvider:
    """One account at one base URL (such as ``http://127.0.0.1:11434/v1``)."""

    def __init__(self, account: Account) -> None:
        headers = {"Authorization": f"Bearer {account.key}"} if account.key else {}
        self.http = HttpAccount(account, base_url=account.base_url, headers=headers)

    async def close(self) -> None:
        await self.http.close()

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        try:
            body = json.dumps(write_body(request), ensure_ascii=False).encode(errors="backslashreplace")
            status, headers, body, first_byte_after = await self.http.exchange(
                "POST",
                "/chat/completions",
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


def write_body(request: ChatRequest) -> dict[str, object]:
    """The JSON body of a chat completion. Sampling is the provider's default unless the variant's parameters say so.
    Raises ``SettingRefused``."""
    check_parameters(request, reserved=RESERVED)
    body = list_parameters(request)
    for name, value in write_chat_reasoning(request).items():
        # An object among the parameters keeps what else it holds.
        given = body.get(name)
        body[name] = {**given, **value} if isinstance(given, dict) and isinstance(value, dict) else value
    body["model"] = request.model
    body["messages"] = write_messages(request)
    if request.answer_schema is not None:
        schema = {"name": "answer", "strict": True, "schema": request.answer_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.max_tokens is not None:
        body[request.traits.token_limit] = max_output_tokens(request)
    return body


def write_messages(request: ChatRequest) -> list[dict[str, str]]:
    """Instructions, what was said before, and the text. A model that takes no system message gets the instructions in the first
    user message."""
    said = write_turns(request)
    if not request.system or not request.traits.takes_system:
        return said
    return [{"role": "system", "content": request.system}, *said]


def write_turns(request: ChatRequest) -> list[dict[str, str]]:
    """The messages without the system message, which the first of them holds for a model that takes none."""
    said = [
        {"role": role, "content": content}
        for exchange in request.history
        for role, content in zip(("user", "assistant"), exchange, strict=True)
    ]
    said.append({"role": "user", "content": request.user})
    if request.system and not request.traits.takes_system:
        said[0]["content"] = f"{request.system}\n\n{said[0]['content']}"
    return said


def read_answer(status: int, headers: Mapping[str, str], raw: bytes) -> ChatAnswer:
    """What a status and a body mean. A 200 that carries an error counts as the provider's failure."""
    text = decode(raw)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    data: dict[str, object] = body if isinstance(body, dict) else {}
    request_id = shorten(headers.get("x-request-id"))
    problem = read_problem(data)
    if status != 200:
        return read_refusal(status, headers, text, problem, request_id=request_id)
    is_there, content, reasoning, finish_reason, inner_problem = read_completion(data)
    problem = problem or inner_problem
    known = ChatAnswer(
        CallOutcome.ANSWERED,
        content=content,
        reasoning=reasoning,
        raw=text,
        http_status=status,
        finish_reason=finish_reason,
        served_model=shorten(data.get("model")),
        served_route=shorten(data.get("provider")),
        provider_request_id=request_id,
        provider_answer_id=shorten(data.get("id")),
        tokens_in=read_count(data, "prompt_tokens"),
        tokens_out=read_count(data, "completion_tokens"),
        tokens_cached=read_count(data, "prompt_tokens_details", "cached_tokens"),
        tokens_reasoning=read_count(data, "completion_tokens_details", "reasoning_tokens"),
    )
    if problem is not None or finish_reason == "error":
        return replace(
            known,
            end=CallOutcome.FAILED,
            next_step=judge_error_in_answer(problem),
            error_class=name_error_in_answer(problem),
            error=problem.sentence if problem else "the provider ended the answer with an error",
        )
    if not is_there:
        words = "status 200 without an answer in it"
        return replace(
            known,
            end=CallOutcome.FAILED,
            next_step=NextStep.RETRY,
            error_class=ErrorClass.BAD_ANSWER,
            error=words,
            content="",
        )
    return known


def read_completion(data: Mapping[str, object]) -> tuple[bool, str, str, str, Problem | None]:
    """Whether there is a first choice, its words, its reasoning, why it ended, and the error in its place. A refusal of the model
    itself is an answer, and ends as ``refusal``."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return False, "", "", "", None
    finish_reason = shorten(choice.get("finish_reason"), 50)
    problem = read_problem({"error": choice.get("error"), "choices": None})
    message = choice.get("message")
    if not isinstance(message, dict):
        # A filter may leave nothing of the message; asking again would pay again for the same.
        return finish_reason == "content_filter", "", "", finish_reason, problem
    content, refusal = _join_parts(message.get("content")), message.get("refusal")
    if not content and isinstance(refusal, str) and refusal:
        return True, make_storable(refusal), _read_reasoning(message), "refusal", problem
    return True, make_storable(content), _read_reasoning(message), finish_reason, problem


def _read_reasoning(message: Mapping[str, object]) -> str:
    """The model's reasoning in the field that the server has for it, or from OpenRouter's list of its parts. What is encrypted
    or left out is no text."""
    for name in REASONING_FIELDS:
        words = message.get(name)
        if isinstance(words, str) and words:
            return make_storable(words)
    details = message.get("reasoning_details")
    parts = [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    texts = [part.get("text") or part.get("summary") for part in parts]
    return make_storable("".join(text for text in texts if isinstance(text, str)))


def _join_parts(content: object) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def read_count(data: Mapping[str, object], *names: str) -> int | None:
    """A token count of the usage block; ``None`` where there is none (never 0)."""
    value: object = data.get("usage")
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < MAX_TOKENS else None
