"""A paid API that is not one: an OpenAI-compatible server on loopback that answers late, fails on order, and counts.

Run ``python -m tests.fake_provider`` (prints its port). What it counts is the billing truth of the engine's tests:
GET /stats; POST /orders changes latency and faults. Answers depend on the request only.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field, fields

from aiohttp import web


@dataclass
class State:
    """Orders in force and everything counted."""

    latency: float = 0.0
    p429: float = 0.0
    p500: float = 0.0
    retry_after: int = 1
    always_status: int = 0
    error_in_200: bool = False
    answer: str = ""
    in_flight: int = 0
    most_in_flight: int = 0
    answered: int = 0
    received: int = 0
    refused: int = 0
    by_call: Counter[str] = field(default_factory=Counter)
    first_at: float = 0.0
    last_at: float = 0.0


ORDERS = ("latency", "p429", "p500", "retry_after", "always_status", "error_in_200", "answer")
STATE = web.AppKey("state", State)


async def complete(request: web.Request) -> web.Response:
    """One chat completion, or the fault that was ordered."""
    state = request.app[STATE]
    body = await request.json()
    key = hashlib.sha256(json.dumps([body["model"], body["messages"]], sort_keys=True).encode()).hexdigest()
    state.received += 1
    state.in_flight += 1
    state.most_in_flight = max(state.most_in_flight, state.in_flight)
    now = asyncio.get_running_loop().time()
    state.first_at = state.first_at or now
    try:
        draw = int(hashlib.sha256(f"{key}{state.by_call[key]}{state.received}".encode()).hexdigest()[:8], 16) / 2**32
        if state.always_status or draw < state.p429 + state.p500:
            state.refused += 1
            status = state.always_status or (429 if draw < state.p429 else 500)
            headers = {"Retry-After": str(state.retry_after)} if status == 429 else {}
            return web.json_response({"error": {"message": "as ordered"}}, status=status, headers=headers)
        await asyncio.sleep(state.latency)
        state.by_call[key] += 1
        state.answered += 1
        if state.error_in_200:
            return web.json_response({"error": {"message": "as ordered", "code": 502}})
        return web.json_response(write_completion(key, body, state.answer))
    finally:
        state.in_flight -= 1
        state.last_at = asyncio.get_running_loop().time()


def write_completion(key: str, body: dict[str, object], answer: str) -> dict[str, object]:
    """The body of a usable answer."""
    text = (
        answer
        or ('{"Age": "31-50"}' if int(key[0], 16) % 2 else "Person: Unknown") + '\nReasoning "An invented reason."'
    )
    return {
        "id": f"chatcmpl-{key[:20]}",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


async def tell(request: web.Request) -> web.Response:
    """What was counted."""
    state = request.app[STATE]
    return web.json_response(
        {
            "received": state.received,
            "answered": state.answered,
            "refused": state.refused,
            "calls": len(state.by_call),
            "paid_twice": sum(count - 1 for count in state.by_call.values() if count > 1),
            "most_in_flight": state.most_in_flight,
            "in_flight": state.in_flight,
            "span_seconds": state.last_at - state.first_at,
        }
    )


async def order(request: web.Request) -> web.Response:
    """Change latency and faults, and forget what was counted when asked to (``{"reset": true}``)."""
    orders = await request.json()
    state = request.app[STATE]
    if orders.pop("reset", False):
        fresh = State()
        for field_ in fields(State):
            setattr(state, field_.name, getattr(fresh, field_.name))
    for name, value in orders.items():
        if name not in ORDERS:
            raise web.HTTPBadRequest(text=f"no such order: {name}")
        setattr(state, name, value)
    return web.json_response({"ok": True})


def make_app() -> web.Application:
    app = web.Application()
    app[STATE] = State()
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/stats", tell)
    app.router.add_post("/orders", order)
    return app


async def serve(port: int) -> None:
    runner = web.AppRunner(make_app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
