"""Calls of the provider tests: real ones over loopback, and a listener that must never hear of any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from auditapp.llm.providers import open_provider
from auditapp.llm.providers.base import Account, ChatAnswer, ChatRequest

REQUEST = ChatRequest(request_id="r1", model="m", system="Judge.", user="A text.", max_tokens=50, timeout_seconds=10.0)


def write_request(user: str = "A text.", **changes: object) -> ChatRequest:
    """A request for one text."""
    return replace(REQUEST, user=user, **changes)  # type: ignore[arg-type]


def open_account(base_url: str, *, provider: str = "openai_compatible", key: str = "") -> Account:
    """An account whose address is on the list, as a test server on loopback must be."""
    return Account(provider, base_url, key, allowed=frozenset({urlsplit(base_url).netloc}))


def ask(account: Account, *requests: ChatRequest) -> list[ChatAnswer]:
    """The answers to ``requests``, one after the other."""

    async def talk() -> list[ChatAnswer]:
        provider = open_provider(account)
        try:
            return [await provider.chat(request) for request in requests]
        finally:
            await provider.close()

    return asyncio.run(talk())


class Canary:
    """A listener on loopback that counts who connects."""

    def __init__(self) -> None:
        self.connections = 0
        self.port = 0

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.close()


@asynccontextmanager
async def listen() -> AsyncIterator[Canary]:
    """A canary while it sings."""
    canary = Canary()
    server = await asyncio.start_server(canary.hear, "127.0.0.1", 0)
    canary.port = server.sockets[0].getsockname()[1]
    async with server:
        yield canary
