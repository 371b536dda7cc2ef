"""A paid API that is not one: chat completions and Anthropic messages on loopback; it answers late, fails on order, counts.

Run ``python -m tests.support.fake_provider`` (prints its port). What it counts is the billing truth of the engine's tests: a
call is billed when an answer was begun, usable or not; never for a refusal (429, 5xx, 401 ...), a hang or a dropped connection.

POST /orders      changes latency and faults (``ORDERS``); ``{"reset": true}`` forgets orders and counts first
GET  /stats       the counts
GET  /requests    by X-Client-Request-Id: received, billed, statuses, prompt, at (seconds on one clock)
GET  /prompts     by prompt (a hash): received, billed, text

A fault is named by a status (``"429"``) or a word of ``faults.FAULTS``. A text may carry its own script, played in order, one
step per call of the same prompt: ``[[429:2]]`` fails twice and then answers, ``[[500]]`` fails always,
``[[429:1]][[cut:1]]`` does one after the other. Answers depend on the request only. Under the order ``obey`` it does what
the texts it reads tell it to (``obeying``); under ``pretends`` it is the model of that name in ``pretending``. A request with
one of the parameters that it ``refuses`` gets a 400. ``schemas`` says what becomes of a JSON schema: ``honour``, ``plain`` (limits
of length get a 400), ``ignore``, or ``refuse`` (a 400). ``one_at_a_time`` lets calls wait for each other, as a server on a laptop
does.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib
import importlib.util
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from auditapp.llm.pure.json_answers import LIMITS, conforms, make_example
from tests.support import biased_models as pretending
from tests.support import fake_faults
from tests.support import obedient_model as obeying

SCRIPT = re.compile(r"\[\[([a-z0-9]+)(?::(\d+))?\]\]")


@dataclass
class Entry:
    """What is known of one request id or one prompt."""

    received: int = 0
    billed: int = 0
    statuses: list[str] = field(default_factory=list)
    prompt: str = ""
    text: str = ""
    at: list[float] = field(default_factory=list)


@dataclass
class State:
    """Orders in force and everything counted."""

    latency: float = 0.0
    one_at_a_time: bool = False
    slow_after: int = 0
    slow_latency: float = 0.0
    p429: float = 0.0
    p500: float = 0.0
    faults: dict[str, float] = field(default_factory=dict)
    always: str = ""
    always_status: int = 0
    always_after: int = 0
    error_in_200: bool = False
    retry_after: float = 1
    answer: str = ""
    refuses: list[str] = field(default_factory=list)
    schemas: str = "honour"
    obey: bool = False
    pretends: str = ""
    key: str = ""
    revoke_after: int = 0
    redirect_to: str = "http://169.254.169.254/latest/meta-data/"
    drip_seconds: float = 1.0
    hang_seconds: float = 600.0
    huge_bytes: int = 200 * 1024 * 1024
    in_flight: int = 0
    most_in_flight: int = 0
    answered: int = 0
    received: int = 0
    refused: int = 0
    billed: int = 0
    by_fault: Counter[str] = field(default_factory=Counter)
    requests: dict[str, Entry] = field(default_factory=dict)
    prompts: dict[str, Entry] = field(default_factory=dict)
    first_at: float = 0.0
    last_at: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class Desk:
    """Holds the state in force, so that a reset cannot be disturbed by calls that are still under way."""

    state: State = field(default_factory=State)


ORDERS = (
    "latency",
    "one_at_a_time",
    "slow_after",
    "slow_latency",
    "p429",
    "p500",
    "faults",
    "always",
    "always_status",
    "always_after",
    "error_in_200",
    "retry_after",
    "answer",
    "refuses",
    "schemas",
    "obey",
    "pretends",
    "key",
    "revoke_after",
    "redirect_to",
    "drip_seconds",
    "hang_seconds",
    "huge_bytes",
)
DESK = web.AppKey("desk", Desk)


async def complete(request: web.Request) -> web.StreamResponse:
    """One chat completion, or the fault that was ordered."""
    return await answer_call(request, fake_faults.OPENAI)


async def message(request: web.Request) -> web.StreamResponse:
    """One Anthropic message, or the fault that was ordered."""
    return await answer_call(request, fake_faults.ANTHROPIC)


async def answer_call(request: web.Request, form: fake_faults.Form) -> web.StreamResponse:
    """Count the call, choose its fault, answer it."""
    state = request.app[DESK].state
    body = await request.json()
    call = note_call(state, request, body)
    try:
        fault = choose_fault(state, request, call)
        state.by_fault[fault or "none"] += 1
        call.note_status(fault)
        schema = find_schema(body)
        limits = [word for word in LIMITS if f'"{word}"' in json.dumps(schema)] if schema else []
        if schema and (state.schemas == "refuse" or (limits and state.schemas == "plain")):
            state.refused += 1
            return form.refuse(400, 0.0, f"Invalid schema: {(limits or ['json_schema'])[0]} is not permitted.")
        refused = [name for name in state.refuses if name in body]
        if refused:
            state.refused += 1
            return form.refuse(400, 0.0, f"Unsupported parameter: '{refused[0]}' is not supported with this model.")
        if fault.isdigit():
            state.refused += 1
            return form.refuse(int(fault), state.retry_after)
        if fault in fake_faults.UNBILLED:
            return await fake_faults.fail_unbilled(request, fault, state)
        if state.slow_after and state.received > state.slow_after:
            await take_long(state)
        elif state.one_at_a_time:
            async with state.turn:
                await asyncio.sleep(state.latency)
        else:
            await asyncio.sleep(state.latency)
        state.answered += 1
        state.billed += 1
        call.by_request.billed += 1
        call.by_prompt.billed += 1
        said = say(state, body, call)
        held = said.words
        if schema and state.schemas in {"honour", "plain"}:
            held = hold_to(schema, said.words)
        words = form.write(call.key, body, fault, held, said.tool)
        return await fake_faults.answer(request, words, fault, form, state)
    finally:
        state.in_flight -= 1
        state.last_at = asyncio.get_running_loop().time()


def find_schema(body: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON schema that a request holds its answer to, in the form of either API."""
    found = body.get("response_format", {}).get("json_schema", body.get("output_config", {}).get("format", {}))
    schema: dict[str, Any] | None = found.get("schema")
    return schema


def hold_to(schema: dict[str, Any], words: str) -> str:
    """The ordered words, or the smallest answer that the schema allows where it does not allow them."""
    try:
        if conforms(json.loads(words), schema):
            return words
    except ValueError:
        pass
    return json.dumps(make_example(schema))


async def take_long(state: State) -> None:
    """Wait for as long as a slow call is to take, also where that is changed meanwhile: a test holds calls and lets them go."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    while (left := begun + state.slow_latency - clock()) > 0:
        await asyncio.sleep(min(left, 0.05))


def say(state: State, body: dict[str, Any], call: Call) -> obeying.Said:
    """What the model that was ordered says."""
    if state.obey:
        return obeying.obey(*obeying.read_messages(body))
    if state.pretends:
        instructions, message = obeying.read_messages(body)
        return obeying.Said(pretending.pretend(state.pretends, instructions, message, call.by_prompt.billed))
    return obeying.Said(state.answer)


@dataclass
class Call:
    """One arrived request: its prompt's hash and the two entries it is counted in."""

    key: str
    text: str
    by_request: Entry
    by_prompt: Entry

    def note_status(self, fault: str) -> None:
        self.by_request.statuses.append(fault or "200")
        self.by_prompt.statuses.append(fault or "200")


def note_call(state: State, request: web.Request, body: dict[str, Any]) -> Call:
    """Count the arrival, before anything else happens with it."""
    asked = [body["model"], body["messages"], *([body["system"]] if "system" in body else [])]
    key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    text = "\n".join(str(each.get("content")) for each in body["messages"])
    now = asyncio.get_running_loop().time()
    state.received += 1
    state.in_flight += 1
    state.most_in_flight = max(state.most_in_flight, state.in_flight)
    state.first_at = state.first_at or now
    by_request = state.requests.setdefault(request.headers.get("X-Client-Request-Id", ""), Entry())
    by_prompt = state.prompts.setdefault(key, Entry())
    by_prompt.text = text[-200:]
    for entry in (by_request, by_prompt):
        entry.received += 1
        entry.prompt = key
        entry.at.append(now)
    return Call(key, text, by_request, by_prompt)


def choose_fault(state: State, request: web.Request, call: Call) -> str:
    """The fault of this call, or nothing: the account's, then the standing order, then the text's script, then the dice."""
    presented = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")
    if state.key and presented != state.key:
        return "401"
    if state.revoke_after and state.received > state.revoke_after:
        return "401"
    if (state.always_status or state.always) and state.received > state.always_after:
        return str(state.always_status or state.always)
    step = call.by_prompt.received
    for fault, count in SCRIPT.findall(call.text):
        if not count or step <= int(count):
            return str(fault)
        step -= int(count)
    draw = (
        int(hashlib.sha256(f"{call.key}{call.by_prompt.billed}{state.received}".encode()).hexdigest()[:8], 16) / 2**32
    )
    for fault, share in {"429": state.p429, "500": state.p500, **state.faults}.items():
        if draw < share:
            return fault
        draw -= share
    return "error200" if state.error_in_200 else ""


async def tell(request: web.Request) -> web.Response:
    """What was counted."""
    state = request.app[DESK].state
    answered = [entry.billed for entry in state.prompts.values() if entry.billed]
    return web.json_response(
        {
            "received": state.received,
            "answered": state.answered,
            "refused": state.refused,
            "billed": state.billed,
            "calls": len(answered),
            "paid_twice": sum(count - 1 for count in answered),
            "most_in_flight": state.most_in_flight,
            "in_flight": state.in_flight,
            "by_fault": state.by_fault,
            "request_ids": len(state.requests),
            "request_ids_used_twice": sum(entry.received > 1 for entry in state.requests.values()),
            "span_seconds": state.last_at - state.first_at,
            "seconds": asyncio.get_running_loop().time(),
        }
    )


async def tell_requests(request: web.Request) -> web.Response:
    """The log by request id."""
    return web.json_response({name: vars(entry) for name, entry in request.app[DESK].state.requests.items()})


async def tell_prompts(request: web.Request) -> web.Response:
    """The log by prompt."""
    return web.json_response({name: vars(entry) for name, entry in request.app[DESK].state.prompts.items()})


async def order(request: web.Request) -> web.Response:
    """Change latency and faults, and forget what was counted when asked to (``{"reset": true}``)."""
    orders = await request.json()
    desk = request.app[DESK]
    if orders.pop("reset", False):
        desk.state = State()
    for name, value in orders.items():
        if name not in ORDERS:
            raise web.HTTPBadRequest(text=f"no such order: {name}")
        setattr(desk.state, name, value)
    return web.json_response({"ok": True})


def make_app() -> web.Application:
    # Batch services upload whole files of requests.
    app = web.Application(client_max_size=512 * 1024 * 1024)
    app[DESK] = Desk()
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_post("/v1/messages", message)
    app.router.add_get("/stats", tell)
    app.router.add_get("/requests", tell_requests)
    app.router.add_get("/prompts", tell_prompts)
    app.router.add_post("/orders", order)
    if importlib.util.find_spec("tests.support.fake_jobs") is not None:
        importlib.import_module("tests.support.fake_jobs").add_routes(app)
    return app


async def serve(port: int) -> None:
    runner = web.AppRunner(make_app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    # The module under its own name, which other modules import too: there must be one key of the state, not two.
    importlib.import_module("tests.support.fake_provider").main()
