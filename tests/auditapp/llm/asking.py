"""Calls of the provider tests: real ones over loopback, and a listener that must never hear of any."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from auditapp.llm.providers import open_provider
from auditapp.llm.providers.base import Account, ChatRequest

REQUEST = ChatRequest(request_id="r1", model="m", system="Judge.", user="A text.", max_tokens=50, timeout_seconds=10.0)


def write_request(user="A text.", **changes):
    """A request for one text."""
    return replace(REQUEST, user=user, **changes)


def open_account(base_url, *, provider="openai_compatible", key=""):
    """An account whose address is on the list, as a test server on loopback must be."""
    return Account(provider, base_url, key, allowed=frozenset({urlsplit(base_url).netloc}))


def ask(account, *requests):
    """The answers to ``requests``, one after the other."""

    async def talk():
        provider = open_provider(account)
        try:
            return [await provider.chat(request) for request in requests]
        finally:
            await provider.close()

    return asyncio.run(talk())


class Canary:
    """A listener on loopback that counts who connects."""

    def __init__(self):
        self.connections = 0
        self.port = 0

    async def hear(self, reader, writer):
        self.connections += 1
        writer.close()


@asynccontextmanager
async def listen():
    """A canary while it sings."""
    canary = Canary()
    server = await asyncio.start_server(canary.hear, "127.0.0.1", 0)
    canary.port = server.sockets[0].getsockname()[1]
    async with server:
        yield canary
