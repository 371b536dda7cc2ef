"""What every provider of a model looks like to the rest of the program.

No Django here: a provider turns a request into an answer and never raises for what the other side did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class End(StrEnum):
    """How one try ended; the words are those of the ledger (``batches.Attempt.End``)."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"
    UNSENT = "unsent"
    UNKNOWN = "unknown"


class Remedy(StrEnum):
    """What the engine does next with the cell."""

    NONE = "none"
    RETRY = "retry"
    SLOW_DOWN = "slow_down"
    GIVE_UP = "give_up"
    STOP_BATCH = "stop_batch"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call: instructions as the system message, the text as the user message."""

    request_id: str
    model: str
    system: str
    user: str
    max_tokens: int
    reasoning: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The end of one call. ``raw`` is the body as it came; unknown numbers are ``None``; ``retry_after`` is in seconds."""

    end: End
    remedy: Remedy = Remedy.NONE
    content: str = ""
    raw: str = ""
    http_status: int | None = None
    error: str = ""
    finish_reason: str = ""
    served_model: str = ""
    provider_request_id: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    retry_after: float | None = None


class Provider(Protocol):
    """An open connection to one provider account. Used from one event loop; closed by its opener."""

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        """Send one request. Retries nothing by itself: every paid try is a row of the ledger."""

    async def close(self) -> None:
        """Give the connections back."""


class ProviderNotReady(Exception):
    """The provider cannot be opened here (no key, no address); the sentence says what to set."""


@dataclass(frozen=True)
class Account:
    """What is needed to open a provider: no secrets, only where they are found."""

    provider: str
    base_url: str = ""
    key_env: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)


def make_storable(text: str) -> str:
    """The text with what no database takes (NUL, lone surrogates) written as escapes; a raw body keeps the original."""
    return text.replace("\x00", "\\x00").encode("utf-8", errors="backslashreplace").decode()
