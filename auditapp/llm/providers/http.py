"""What all providers over HTTP share: one session of one account, its limits, and what an error means for a call.

Whether anything left decides what a failure costs. Before there is a connection, nothing was sent. After that the other side may
have had the whole request, and may have billed it, whatever came back; unless a status said no.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from auditapp.llm.providers.base import (
    Account,
    CallOutcome,
    ChatAnswer,
    ChatRequest,
    ErrorClass,
    NextStep,
    ProviderNotReady,
    make_storable,
)
from auditapp.llm.providers.reasoning import SettingRefused, max_output_tokens
from auditapp.llm.pure.key_removal import MIN_KEY_LENGTH, REMOVED, list_forms
from auditapp.outbound.guard import AddressRefused, Guard, make_connector

CONNECT_SECONDS = 5.0
MAX_BODY = 4 * 1024 * 1024
MIN_BODY_CAP = 256 * 1024
BYTES_PER_TOKEN = 64
# They multiply the number of bytes for each token of the answer.
WORDY_PARAMETERS = {"logprobs", "top_logprobs"}
KEPT_OF_TOO_LARGE = 64 * 1024
MAX_HEADER = 32 * 1024


class CallFailed(Exception):
    """A request got no reply; ``answer`` says how it ended and what to do next."""

    def __init__(self, answer: ChatAnswer) -> None:
        super().__init__(answer.error)
        self.answer = answer


class HttpAccount:
    """An open session with one account. ``base_url`` is where its paths begin; ``headers`` carry its key and nothing else
    does. Needs a running event loop."""

    def __init__(
        self, account: Account, *, base_url: str, headers: Mapping[str, str], resolver: AbstractResolver | None = None
    ) -> None:
        if not base_url:
            raise ProviderNotReady("This account has no base URL. Enter one, such as http://127.0.0.1:11434/v1.")
        try:
            url = URL(base_url)
            (url.host or "").encode("idna")  # a name that DNS cannot represent fails here, not during a call
            self.guard = Guard(base_url, account.allowed)
        except ValueError:
            raise ProviderNotReady(
                "The base URL of this account is not valid. It should look like https://host/v1."
            ) from None
        if not url.host or url.user or url.password:
            raise ProviderNotReady("The base URL of this account needs a host and must not contain a name or password.")
        if any(not " " <= sign <= "~" for value in headers.values() for sign in value):
            raise ProviderNotReady("The key of this account has characters that no key has. Set it again.")
        self.base_url = base_url.rstrip("/")
        self.secrets = _list_secrets(account.key)
        self.session = aiohttp.ClientSession(
            connector=make_connector(self.guard, resolver),
            headers={"Accept": "application/json", **headers},
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            max_field_size=MAX_HEADER,
        )

    async def close(self) -> None:
        await self.session.close()

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        timeout_seconds: float,
        max_bytes: int,
        data: bytes | aiohttp.Payload | aiohttp.FormData | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes, float | None]:
        """Send one request, follow nothing, read at most ``max_bytes`` (unpacked). Raises ``CallFailed``.

        Returns the status, the headers, the body, and the seconds until its first byte. A body that was cut off or is too
        large is kept as far as it was received, and only if the status is an error.
        """
        received = Received()
        try:
            self.guard.check_scheme()
            request = self.session.request(
                method,
                self.base_url + path,
                data=data,
                headers=headers,
                params=params,
                allow_redirects=False,
                timeout=make_timeout(timeout_seconds),
            )
            await received.read(request, max_bytes)
        except (aiohttp.ClientError, OSError, BodyTooLarge) as error:
            if received.status < 300:
                failure = self.explain(error, status=received.status or None, timeout_seconds=timeout_seconds)
                raw = decode(self.clean(bytes(received.body[:KEPT_OF_TOO_LARGE])))
                raise CallFailed(replace(failure, raw=raw, first_byte_after=received.first_byte_after)) from None
        body = self.clean(bytes(received.body[:max_bytes]))
        return received.status, self.clean_headers(received.headers), body, received.first_byte_after

    def explain(self, error: Exception, *, status: int | None, timeout_seconds: float) -> ChatAnswer:
        """How a call ended that failed with ``error``, before or after ``status`` was received."""
        place = self.guard.place
        refused = error if isinstance(error, AddressRefused) else getattr(error, "os_error", None)
        if isinstance(refused, AddressRefused):
            return _unsent(NextStep.STOP_BATCH, ErrorClass.ADDRESS_REFUSED, str(refused))
        if isinstance(error, aiohttp.InvalidURL):
            return _unsent(NextStep.STOP_BATCH, ErrorClass.ADDRESS_REFUSED, self.guard.refuse_odd_address())
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            sentence = f"The certificate of {place} was not accepted, so nothing was sent."
            return _unsent(NextStep.STOP_BATCH, ErrorClass.CONNECTION, sentence)
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return _unsent(NextStep.RETRY, ErrorClass.CONNECTION, f"No connection to {place}: {_name(error)}.")
        if isinstance(error, BodyTooLarge):
            return ChatAnswer(
                CallOutcome.FAILED,
                NextStep.GIVE_UP,
                http_status=status,
                error_class=ErrorClass.TOO_LARGE,
                error=f"The answer is larger than {error.max_bytes:,} bytes; only its beginning is kept.",
            )
        if isinstance(error, aiohttp.ClientResponseError):
            sentence = "The response is not HTTP."
            return ChatAnswer(CallOutcome.FAILED, NextStep.RETRY, error_class=ErrorClass.BAD_ANSWER, error=sentence)
        kind, sentence = (
            ErrorClass.CUT_OFF,
            f"The connection ended before the whole answer was received: {_name(error)}.",
        )
        if isinstance(error, TimeoutError):
            kind, sentence = ErrorClass.TIMEOUT, f"No complete answer was received within {timeout_seconds:g} seconds."
        return ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, http_status=status, error_class=kind, error=sentence)

    def clean(self, body: bytes) -> bytes:
        """The body without the account's key, in case the other side sent it back."""
        for form in self.secrets:
            if form in body:
                body = body.replace(form, REMOVED.encode())
        return body

    def clean_headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The headers, unless one of them holds the key: then those without it."""
        if not self.secrets:
            return headers
        said = "\n".join(headers.values()).encode(errors="replace")
        if not any(form in said for form in self.secrets):
            return headers
        return {
            name.lower(): value
            for name, value in headers.items()
            if not any(form in value.encode(errors="replace") for form in self.secrets)
        }


@dataclass
class Received:
    """The part of a reply received so far; status 0 means nothing yet."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    first_byte_after: float | None = None

    async def read(self, request: AbstractAsyncContextManager[aiohttp.ClientResponse], max_bytes: int) -> None:
        """Send the request and read until the end, or until more than ``max_bytes`` are there."""
        started = time.monotonic()
        async with request as response:
            self.first_byte_after = time.monotonic() - started
            self.status, self.headers = response.status, response.headers
            async for chunk in response.content.iter_any():
                self.body += chunk
                if len(self.body) > max_bytes:
                    response.close()
                    raise BodyTooLarge(max_bytes)


class BodyTooLarge(Exception):
    """The reply has more bytes than are read."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self.max_bytes = max_bytes


@lru_cache(maxsize=64)
def make_timeout(seconds: float) -> aiohttp.ClientTimeout:
    """Limits of one request: five seconds to connect, and ``seconds`` in total, however slowly the answer arrives. The first
    is always shorter, so that a timeout while connecting can be recognised."""
    return aiohttp.ClientTimeout(total=seconds, connect=min(CONNECT_SECONDS, seconds / 2), sock_read=seconds)


def cap_body(request: ChatRequest) -> int:
    """The most bytes that a genuine answer to ``request`` can have."""
    if WORDY_PARAMETERS & request.parameters.keys():
        return MAX_BODY
    return min(MAX_BODY, MIN_BODY_CAP + BYTES_PER_TOKEN * max_output_tokens(request))


def name_request(request: ChatRequest) -> dict[str, str]:
    """The headers of one call. A provider that honours an idempotency key bills the same request once."""
    return {
        "Content-Type": "application/json",
        "X-Client-Request-Id": request.request_id,
        "Idempotency-Key": request.request_id,
    }


def refuse_setting(error: SettingRefused) -> ChatAnswer:
    """The outcome of a call whose variant has a setting the model refuses; all its other calls would fail too."""
    return _unsent(NextStep.STOP_BATCH, ErrorClass.BAD_REQUEST, str(error))


def decode(body: bytes) -> str:
    """A body as text that every database accepts, without loss."""
    return body.decode("utf-8", errors="backslashreplace").replace("\x00", "\\x00")


def shorten(value: object, length: int = 200) -> str:
    """A provider's term, fit for its column; "" for anything that is not text."""
    return make_storable(value)[:length] if isinstance(value, str) else ""


def _unsent(next_step: NextStep, error_class: ErrorClass, error: str) -> ChatAnswer:
    return ChatAnswer(CallOutcome.UNSENT, next_step, error_class=error_class, error=error)


def _list_secrets(key: str) -> tuple[bytes, ...]:
    """The forms in which a key may be sent back, including its JSON escapes."""
    if len(key) < MIN_KEY_LENGTH:
        return ()
    forms = list_forms(key) | {key.replace("/", "\\/")}
    return tuple(form.encode() for form in sorted(forms, key=len, reverse=True))


def _name(error: Exception) -> str:
    """What happened, in the system's words if there are any; never the request, which contains the key."""
    inner = getattr(error, "os_error", error)
    if isinstance(inner, (TimeoutError, aiohttp.ConnectionTimeoutError)):
        return "it took too long"
    if isinstance(inner, OSError) and inner.strerror and not isinstance(inner, ssl.SSLError):
        return str(inner.strerror)
    return type(inner).__name__
