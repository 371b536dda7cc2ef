"""What the fake paid API sends: usable answers in two forms, and every way in which an answer goes wrong."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from aiohttp import web

if TYPE_CHECKING:
    from tests.support.fake_provider import State

FAULTS = {
    "hang": "nothing comes for hang_seconds, then 504",
    "drop": "the connection is closed before any byte of an answer",
    "redirect": "302 to redirect_to",
    "drip": "a good answer, one byte each drip_seconds",
    "huge": "huge_bytes of one string that never ends",
    "bomb": "huge_bytes, gzipped to next to nothing",
    "cut": "half of a good answer",
    "garbage": "status 200, not JSON",
    "empty": "status 200, no choice in it",
    "error200": "status 200, an error at the top",
    "choice200": "status 200, an error in the first choice",
    "refusal": "the model refuses",
    "filter": "the provider's content filter",
    "length": "the answer ends at the token limit",
}
UNBILLED = {"hang", "drop", "redirect"}
PIECE = 64 * 1024
REFUSAL = "I cannot help with that."


class Form(NamedTuple):
    """How one kind of API writes an answer and a refusal."""

    write: Callable[[str, dict[str, Any], str, str, str], dict[str, object]]
    refuse: Callable[..., web.Response]
    id_header: str


def invent_text(key: str, answer: str) -> str:
    """The words of a usable answer: those ordered, or invented from the prompt's hash."""
    person = '{"Age": "31-50"}' if int(key[0], 16) % 2 else "Person: Unknown"
    return answer or f'{person}\nReasoning "An invented reason."'


def write_completion(key: str, body: dict[str, Any], fault: str, answer: str, tool: str = "") -> dict[str, object]:
    """A chat completion, or a call of ``tool`` in the place of words."""
    words: dict[str, object] = {"role": "assistant", "content": invent_text(key, answer)}
    choice: dict[str, object] = {"index": 0, "finish_reason": "stop", "message": words}
    if fault == "refusal":
        words.update(content=None, refusal=REFUSAL)
    if fault == "filter":
        words["content"] = ""
        choice["finish_reason"] = "content_filter"
    if fault == "length":
        words["content"] = invent_text(key, answer)[:10]
        choice["finish_reason"] = "length"
    if tool:
        function = {"name": tool, "arguments": "{}"}
        words.update(content=None, tool_calls=[{"id": f"call_{key[:8]}", "type": "function", "function": function}])
        choice["finish_reason"] = "tool_calls"
    if fault == "choice200":
        choice = {"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "as ordered"}}
    return {
        "id": f"chatcmpl-{key[:20]}",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [] if fault == "empty" else [choice],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def write_message(key: str, body: dict[str, Any], fault: str, answer: str, tool: str = "") -> dict[str, object]:
    """An Anthropic message, with a thinking block where thinking was asked for; or a call of ``tool``."""
    text = {"refusal": REFUSAL, "filter": "", "length": invent_text(key, answer)[:10]}.get(
        fault, invent_text(key, answer)
    )
    blocks: list[dict[str, object]] = [{"type": "text", "text": text}]
    if tool:
        blocks = [{"type": "tool_use", "id": f"toolu_{key[:8]}", "name": tool, "input": {}}]
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        blocks.insert(0, {"type": "thinking", "thinking": "Invented thoughts.", "signature": "x"})
    reasons = {"refusal": "refusal", "filter": "refusal", "length": "max_tokens"}
    return {
        "id": f"msg_{key[:20]}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [] if fault == "empty" else blocks,
        "stop_reason": "tool_use" if tool else reasons.get(fault, "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def refuse_completion(status: int, retry_after: float, words: str = "as ordered") -> web.Response:
    """An error as chat-completions services write it."""
    headers = {"Retry-After": f"{retry_after:g}"} if status in {429, 503, 529} else {}
    return web.json_response({"error": {"message": words}}, status=status, headers=headers)


def refuse_message(status: int, retry_after: float, words: str = "as ordered") -> web.Response:
    """An error as Anthropic writes it."""
    kinds = {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    headers = {"Retry-After": f"{retry_after:g}"} if status in {429, 503, 529} else {}
    error = {"type": kinds.get(status, "api_error"), "message": words}
    return web.json_response({"type": "error", "error": error}, status=status, headers=headers)


OPENAI = Form(write_completion, refuse_completion, "x-request-id")
ANTHROPIC = Form(write_message, refuse_message, "request-id")


async def fail_unbilled(request: web.Request, fault: str, state: State) -> web.StreamResponse:
    """A call that ends without any answer having been begun."""
    if fault == "redirect":
        return web.Response(status=302, headers={"Location": state.redirect_to})
    if fault == "hang":
        end = asyncio.get_running_loop().time() + state.hang_seconds
        while is_connected(request) and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.05)
        return web.Response(status=504)
    close(request)
    return web.Response(status=500)


async def answer(
    request: web.Request, body: dict[str, object], fault: str, form: Form, state: State
) -> web.StreamResponse:
    """A begun answer, whatever becomes of it."""
    headers = {form.id_header: f"req_{state.received}"}
    if fault == "error200":
        error = {"type": "api_error", "message": "as ordered", "code": 502}
        return web.json_response({"type": "error", "error": error}, headers=headers)
    if fault == "garbage":
        return web.Response(body=b"<html>\xff\xfe not json", content_type="application/json", headers=headers)
    data = json.dumps(body).encode()
    if fault in {"drip", "cut", "huge", "bomb"}:
        with suppress(ConnectionError):
            return await stream(request, data, fault, headers, state)
    return web.Response(body=data, content_type="application/json", headers=headers)


async def stream(
    request: web.Request, data: bytes, fault: str, headers: dict[str, str], state: State
) -> web.StreamResponse:
    """An answer that comes in pieces and does not end well."""
    response = web.StreamResponse(headers=headers | {"Content-Type": "application/json"})
    if fault == "cut":
        response.content_length = len(data)
    if fault == "bomb":
        response.headers["Content-Encoding"] = "gzip"
    await response.prepare(request)
    if fault == "cut":
        await response.write(data[: len(data) // 2])
        await asyncio.sleep(0.01)
        close(request)
    elif fault == "drip":
        for position in range(len(data)):
            await response.write(data[position : position + 1])
            await asyncio.sleep(state.drip_seconds)
    else:
        await write_much(response, fault, state.huge_bytes)
    return response


async def write_much(response: web.StreamResponse, fault: str, size: int) -> None:
    """``size`` bytes and never more than a piece of them in memory; as a bomb they are gzipped on the way."""
    packing = zlib.compressobj(wbits=31) if fault == "bomb" else None
    await response.write(packing.compress(b'{"x": "') if packing else b'{"x": "')
    for _ in range(size // PIECE):
        piece = packing.compress(b"a" * PIECE) if packing else b"a" * PIECE
        if piece:
            await response.write(piece)
        else:
            await asyncio.sleep(0)
    if packing:
        await response.write(packing.flush())


def is_connected(request: web.Request) -> bool:
    """Whether the asker still listens."""
    return request.transport is not None and not request.transport.is_closing()


def close(request: web.Request) -> None:
    """Hang up."""
    if request.transport is not None:
        request.transport.close()
