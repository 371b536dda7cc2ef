"""What every provider of a model looks like to the rest of the program.

No Django here. A provider turns a request into an answer and never raises because of what the other side did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class CallOutcome(StrEnum):
    """How an attempt ended, in the terms of the ledger (``batches.Attempt.End``)."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"
    UNSENT = "unsent"
    UNKNOWN = "unknown"
    CACHED = "cached"


class NextStep(StrEnum):
    """What the engine does next with the cell."""

    NONE = "none"
    RETRY = "retry"
    SLOW_DOWN = "slow_down"
    GIVE_UP = "give_up"
    STOP_BATCH = "stop_batch"


class ErrorClass(StrEnum):
    """What went wrong with an attempt, as a category that tables can count."""

    NONE = ""
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    ERROR_IN_ANSWER = "error_in_answer"
    BAD_ANSWER = "bad_answer"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    CUT_OFF = "cut_off"
    CONNECTION = "connection"
    ADDRESS_REFUSED = "address_refused"
    ACCOUNT = "account"
    QUOTA = "quota"
    MODERATION = "moderation"
    BAD_REQUEST = "bad_request"
    CONTEXT_OVERFLOW = "context_overflow"
    REDIRECT = "redirect"
    ABORTED = "aborted"
    RUNNER_DIED = "runner_died"
    BROKEN_PROVIDER = "broken_provider"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Traits:
    """Which settings a model accepts: the fields of ``llm.Capabilities``, with the defaults for models without a row."""

    reasoning: str = "effort"
    token_limit: str = "max_tokens"  # noqa: S105 - the name of a setting
    takes_system: bool = True
    takes_temperature: bool = True
    takes_top_p: bool = True
    takes_seed: bool = True
    takes_stop: bool = True
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call: instructions as the system message, the text as the user message.

    ``history`` is what was said before it, oldest first: pairs of a user message and the answer to it.
    ``max_tokens``: the limit of the answer; ``None`` for none. ``answer_schema``: a JSON schema that the server is to hold
    the answer to.
    """

    request_id: str
    model: str
    system: str
    user: str
    max_tokens: int | None
    history: Sequence[tuple[str, str]] = ()
    reasoning: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    answer_schema: Mapping[str, object] | None = None
    traits: Traits = Traits()
    timeout_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The outcome of one call. ``raw`` is the body as received; unknown numbers are ``None``. ``reasoning`` is what the model
    wrote before its answer, where the API gives it in a field of its own. ``retry_after`` and ``first_byte_after`` are in
    seconds, the latter from the time of sending."""

    end: CallOutcome
    next_step: NextStep = NextStep.NONE
    content: str = ""
    reasoning: str = ""
    raw: str = ""
    http_status: int | None = None
    error_class: ErrorClass = ErrorClass.NONE
    error: str = ""
    finish_reason: str = ""
    served_model: str = ""
    served_route: str = ""
    provider_request_id: str = ""
    provider_answer_id: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    retry_after: float | None = None
    first_byte_after: float | None = None


class Provider(Protocol):
    """An open connection to one provider account. Used from one event loop; closed by its opener."""

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        """Send one request, without retries: every paid attempt is a row of the ledger."""

    async def close(self) -> None:
        """Close the connections."""


class ProviderNotReady(Exception):
    """The provider cannot be opened (no key, no address). The message says what to set."""


@dataclass(frozen=True)
class Account:
    """What is needed to open a provider. ``key`` is the secret itself: it is never logged, stored or included in a message.

    ``allowed`` are the private addresses (``host:port``) that calls may go to.
    """

    provider: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    allowed: frozenset[str] = frozenset()
    parameters: Mapping[str, object] = field(default_factory=dict)


def make_storable(text: str) -> str:
    """The text with characters that databases reject (NUL, lone surrogates) escaped; the raw body keeps the original."""
    return text.replace("\x00", "\\x00").encode("utf-8", errors="backslashreplace").decode()
