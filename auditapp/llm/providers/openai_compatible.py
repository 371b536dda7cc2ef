"""Chat completions as OpenAI, OpenRouter, vLLM, Ollama, LM Studio and llama.cpp serve them, over aiohttp.

One request, one answer: nothing is retried here, and what the other side sends is data, never trusted to have a shape.
"""

from __future__ import annotations

import datetime
import email.utils
import json
import os
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp

from auditapp.llm.providers.base import (
    Account,
    ChatAnswer,
    ChatRequest,
    End,
    ProviderNotReady,
    Remedy,
    make_storable,
)

MAX_BODY = 4 * 1024 * 1024
# An answer that is not streamed comes in one piece, and a reasoning model may think for minutes before.
TIMEOUT = aiohttp.ClientTimeout(total=900, connect=10, sock_read=600)
PROVIDER_BUSY = {408, 409, 425, 500, 502, 503, 504}
TOO_MANY = {429, 529}
ACCOUNT_REFUSED = {401, 402, 403}


class OpenAICompatibleProvider:
    """One account at one base URL (such as ``http://127.0.0.1:11434/v1``)."""

    def __init__(self, account: Account) -> None:
        if not account.base_url:
            raise ProviderNotReady("This model has no base URL. Add it again with --base-url.")
        headers = {"Accept": "application/json"}
        if account.key_env:
            key = os.environ.get(account.key_env, "")
            if not key:
                raise ProviderNotReady(
                    f"The worker has no environment variable {account.key_env}, which should hold this model's key. "
                    "Set it and start the worker again."
                )
            headers["Authorization"] = f"Bearer {key}"
        self.url = account.base_url.rstrip("/") + "/chat/completions"
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=False), timeout=TIMEOUT, headers=headers
        )

    async def close(self) -> None:
        await self.session.close()

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        body = json.dumps(write_body(request), ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "X-Client-Request-Id": request.request_id}
        try:
            async with self.session.post(self.url, data=body, headers=headers, allow_redirects=False) as response:
                raw = await read_capped(response)
                return read_answer(response.status, response.headers, raw)
        except BodyTooLarge as error:
            return ChatAnswer(End.FAILED, Remedy.GIVE_UP, http_status=error.status, error=str(error))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return ChatAnswer(End.UNSENT, Remedy.RETRY, error=f"no connection: {type(error).__name__}")
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            return ChatAnswer(End.UNKNOWN, Remedy.RETRY, error=f"the answer was lost: {type(error).__name__}")


class BodyTooLarge(Exception):
    """More than ``MAX_BODY`` bytes came."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the answer is larger than {MAX_BODY // 1024 // 1024} MB")
        self.status = status


def write_body(request: ChatRequest) -> dict[str, object]:
    """The JSON body of a chat completion. Sampling is the provider's default unless the variant's parameters say so."""
    body: dict[str, object] = {
        "model": request.model,
        "messages": [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.user},
        ],
        "max_tokens": request.max_tokens,
    }
    if request.reasoning:
        body["reasoning_effort"] = request.reasoning
    return body | dict(request.parameters)


async def read_capped(response: aiohttp.ClientResponse) -> bytes:
    """The body, or ``BodyTooLarge`` as soon as it grows past the cap."""
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_BODY:
            response.close()
            raise BodyTooLarge(response.status)
        chunks.append(chunk)
    return b"".join(chunks)


def read_answer(status: int, headers: Mapping[str, str], raw: bytes) -> ChatAnswer:
    """What a status and a body mean. A 200 that carries an error counts as the provider's failure."""
    text = raw.decode("utf-8", errors="backslashreplace").replace("\x00", "\\x00")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    data: dict[str, object] = body if isinstance(body, dict) else {}
    request_id = make_storable(headers.get("x-request-id", "") or str(data.get("id") or ""))
    if status == 200:
        answer = read_completion(data)
        if answer is None:
            problem = describe_error(data) or "status 200 without an answer in it"
            return ChatAnswer(
                End.FAILED,
                Remedy.RETRY,
                raw=text,
                http_status=status,
                error=problem,
                provider_request_id=request_id[:200],
            )
        return ChatAnswer(
            End.ANSWERED,
            content=answer.content,
            raw=text,
            http_status=status,
            finish_reason=answer.finish_reason[:50],
            served_model=make_storable(str(data.get("model") or ""))[:200],
            provider_request_id=request_id[:200],
            tokens_in=read_count(data, "prompt_tokens"),
            tokens_out=read_count(data, "completion_tokens"),
        )
    return ChatAnswer(
        End.REFUSED,
        choose_remedy(status, text),
        raw=text,
        http_status=status,
        error=describe_error(data) or f"status {status}",
        provider_request_id=request_id[:200],
        retry_after=read_retry_after(headers.get("retry-after", "")),
    )


class Completion(NamedTuple):
    """The words of an answer and why they ended."""

    content: str
    finish_reason: str


def read_completion(data: Mapping[str, object]) -> Completion | None:
    """The first choice's words and finish reason, or ``None`` when the body holds no choice."""
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        content = message.get("refusal") if isinstance(message.get("refusal"), str) else ""
    return Completion(make_storable(str(content)), make_storable(str(choices[0].get("finish_reason") or "")))


def read_count(data: Mapping[str, object], name: str) -> int | None:
    """A token count of the usage block; ``None`` where there is none (never 0)."""
    usage = data.get("usage")
    value = usage.get(name) if isinstance(usage, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**31 else None


def describe_error(data: Mapping[str, object]) -> str:
    """The provider's own message, cut to 300 characters; it may quote a prompt, so it goes to the ledger, not to logs."""
    error = data.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return make_storable(str(message))[:300] if message else ""


def choose_remedy(status: int, body: str) -> Remedy:
    """What follows from an HTTP status other than 200; the body tells a spent account from a busy one, and a refused
    text from a refused account."""
    if status in TOO_MANY:
        return Remedy.STOP_BATCH if "insufficient_quota" in body else Remedy.SLOW_DOWN
    if status == 403 and any(word in body.lower() for word in ("moderation", "flagged", "content_filter")):
        return Remedy.GIVE_UP
    if status in PROVIDER_BUSY:
        return Remedy.RETRY
    if status in ACCOUNT_REFUSED:
        return Remedy.STOP_BATCH
    return Remedy.GIVE_UP


def read_retry_after(value: str) -> float | None:
    """Seconds to wait, from either form of the Retry-After header; ``None`` where it says nothing."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return max(0.0, (moment - datetime.datetime.now(datetime.UTC)).total_seconds())
