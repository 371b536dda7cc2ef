"""What all providers over HTTP share: one session of one account, its limits, and what a status, its headers
and an error body mean for a call.

The cost of a failure depends on whether anything was sent. Without a connection, nothing was sent. After that, the server may
have received the whole request and may have billed it, whatever it returned, unless the status was a refusal.
"""

from __future__ import annotations

import datetime
import email.utils
import math
import re
import ssl
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

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
    SettingRefused,
    make_storable,
    max_output_tokens,
)
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
    """A request got no usable reply; ``answer`` says how it ended and what to do next."""

    def __init__(self, answer: ChatAnswer) -> None:
        super().__init__(answer.error)
        self.answer = answer


class HttpAccount:
    """An open session with one account. ``base_url`` is the beginning of all paths; only ``headers`` contain the key. Needs a
    running event loop."""

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
        """Send one request without following redirects, and read at most ``max_bytes`` (unpacked). Raises ``CallFailed``.

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
        """The body without the account's key, in case the server sent it back."""
        for form in self.secrets:
            if form in body:
                body = body.replace(form, REMOVED.encode())
        return body

    def clean_headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The headers, unless one of them contains the key: then those without it."""
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
        """Send the request and read to the end, or until more than ``max_bytes`` have arrived."""
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
    """The reply is larger than the limit for reading."""

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
    """What happened, in the operating system's words if there are any; never the request, which contains the key."""
    inner = getattr(error, "os_error", error)
    if isinstance(inner, (TimeoutError, aiohttp.ConnectionTimeoutError)):
        return "it took too long"
    if isinstance(inner, OSError) and inner.strerror and not isinstance(inner, ssl.SSLError):
        return str(inner.strerror)
    return type(inner).__name__


TOO_MANY = 429
OVERLOADED = 529
PROVIDER_BUSY = {408, 409, 425}
# A gateway gave up waiting; whether the model finished, and was billed, is not known.
GAVE_UP_WAITING = {504, 524}
ACCOUNT_REFUSED = {401, 402, 403}
MONEY_SPENT = ("insufficient_quota", "billing_hard_limit", "billing_not_active", "credit balance", "billing_error")
KEY_REFUSED = ("invalid_api_key", "api_key_invalid", "api key not valid", "authentication_error")
# The words in which servers say that a request does not fit into the model's context: OpenAI and what follows it, vLLM,
# llama.cpp and its Python server, Ollama, Anthropic, Gemini, Mistral, text-generation-inference.
OVERFLOW = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "maximum model length",
    "available context size",
    "context size has been exceeded",
    "exceed context window",
    "exceeds the context",
    "exceeds context length",
    "exceed context limit",
    "prompt is too long",
    "input prompt is too long",
    "maximum number of tokens allowed",
    "`inputs` tokens + `max_new_tokens`",
    "model is loaded with context length",
)
NUMBER = r"([0-9][0-9,]*)"
# Several numbers of one pattern are added up: those of the messages and of the answer.
NEEDED = [
    re.compile(pattern.replace("N", NUMBER))
    for pattern in (
        r"total of (?:at least )?N tokens",
        r"is too large: N\b.* has N input tokens",
        r"requested (?:about )?N tokens",
        r"requested tokens \(N\)",
        r"resulted in N tokens",
        r"\(length N\)",
        r"(?:request|prompt) \(N tokens\)",
        r"(?:contains|has|keep the first) N (?:input )?tokens",
        r"input token count \(?(?:of )?N",
        r"N `inputs` tokens and N `max_new_tokens`",
        r"(?:: |limit: )N(?: tokens| \+ N)? >",
    )
]
LIMIT = [
    re.compile(pattern.replace("N", NUMBER))
    for pattern in (
        r"maximum (?:context|model) length (?:is|of) N",
        r"N maximum context length",
        r"context (?:size|window|length) \(?(?:of )?(?:only )?N",
        r"tokens allowed \(?N",
        r"must be <= N",
        r"> N",
    )
]
FLAGGED = ("moderation", "flagged", "content_filter", "content_policy", "guardrail")
SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
RESET = re.compile(r"(?:x|anthropic)-ratelimit-(?:reset(?:-(?P<what>.+))?|(?P<what_first>.+)-reset)")


class Problem(NamedTuple):
    """The provider's own words for an error, and everything in it that names a kind of error, in lower case.

    The message may quote a prompt: it goes to the ledger, never to a log.
    """

    message: str
    kinds: str
    code: int | None = None
    needed_tokens: int | None = None
    token_limit: int | None = None

    @property
    def is_overflow(self) -> bool:
        """Whether the request was too long for the model's context."""
        return _holds(self.kinds, OVERFLOW)

    @property
    def sentence(self) -> str:
        """The provider's words; for a request that was too long, preceded by its length and the server's limit."""
        if not self.is_overflow:
            return self.message
        needed = "" if self.needed_tokens is None else f" It needs {self.needed_tokens:,} tokens."
        limit = "" if self.token_limit is None else f" The server takes {self.token_limit:,}."
        return f"The request is too long for the model's context.{needed}{limit} The server says: {self.message}"


def read_problem(data: Mapping[str, object]) -> Problem | None:
    """The error in a body, in any of the known forms; ``None`` if there is none."""
    error = data.get("error")
    if not error and data.get("object") == "error":
        error = data
    if not error and "choices" not in data:
        error = data.get("detail")
    if not error:
        return None
    if not isinstance(error, dict):
        return Problem(make_storable(str(error))[:300], str(error).lower(), None, *_read_tokens(str(error)))
    message = str(error.get("message") or error.get("detail") or error.get("type") or error.get("code") or "error")
    metadata = error.get("metadata")
    marks = [error.get("code"), error.get("type"), error.get("status"), message]
    if isinstance(metadata, dict):
        marks += ["flagged" if "flagged_input" in metadata else "", metadata.get("error_type")]
    code = error.get("code")
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    needed, limit = _read_tokens(message)
    if is_count(error.get("n_prompt_tokens")) and is_count(error.get("n_ctx")):
        needed, limit = error["n_prompt_tokens"], error["n_ctx"]
    kinds = " ".join(str(mark) for mark in marks).lower()
    return Problem(make_storable(message)[:300], kinds, code if is_status else None, needed, limit)


def is_count(value: object) -> bool:
    """Whether a value of a body is a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _read_tokens(message: str) -> tuple[int | None, int | None]:
    """The tokens that a request needed and those that the server accepts, if the message gives them."""
    words = message[:1000].lower()
    needed = next((found for each in NEEDED if (found := each.search(words))), None)
    limit = next((found for each in LIMIT if (found := each.search(words))), None)
    total = None if needed is None else sum(int(group.replace(",", "")) for group in needed.groups() if group)
    return total, None if limit is None else int(limit[1].replace(",", ""))


def judge_status(
    status: int, problem: Problem | None, *, may_wait: bool = False
) -> tuple[CallOutcome, NextStep, ErrorClass]:
    """How a call with a status other than 200 ended, and what follows. ``may_wait``: the answer says when to ask again."""
    kinds = problem.kinds if problem else ""
    if 300 <= status < 400:
        return CallOutcome.REFUSED, NextStep.STOP_BATCH, ErrorClass.REDIRECT
    if status < 400:
        return CallOutcome.FAILED, NextStep.RETRY, ErrorClass.BAD_ANSWER
    if problem is not None and problem.is_overflow and status not in ACCOUNT_REFUSED:
        return CallOutcome.REFUSED, NextStep.GIVE_UP, ErrorClass.CONTEXT_OVERFLOW
    if status in {400, 402, 403, TOO_MANY} and _holds(kinds, MONEY_SPENT) and not may_wait:
        return CallOutcome.REFUSED, NextStep.STOP_BATCH, ErrorClass.QUOTA
    if status == TOO_MANY or (status == 402 and may_wait):
        if "request too large" in kinds:
            # Larger than a whole minute's allowance: it will never pass.
            return CallOutcome.REFUSED, NextStep.GIVE_UP, ErrorClass.BAD_REQUEST
        return CallOutcome.REFUSED, NextStep.SLOW_DOWN, ErrorClass.RATE_LIMITED
    if status == OVERLOADED:
        return CallOutcome.REFUSED, NextStep.SLOW_DOWN, ErrorClass.OVERLOADED
    if status in GAVE_UP_WAITING:
        return CallOutcome.UNKNOWN, NextStep.RETRY, ErrorClass.TIMEOUT
    if status >= 500 or status in PROVIDER_BUSY:
        return CallOutcome.REFUSED, NextStep.RETRY, ErrorClass.SERVER_ERROR
    if status in {400, 403, 422} and _holds(kinds, FLAGGED):
        return CallOutcome.REFUSED, NextStep.GIVE_UP, ErrorClass.MODERATION
    if status in ACCOUNT_REFUSED or (status == 400 and _holds(kinds, KEY_REFUSED)):
        return CallOutcome.REFUSED, NextStep.STOP_BATCH, ErrorClass.ACCOUNT
    return CallOutcome.REFUSED, NextStep.GIVE_UP, ErrorClass.BAD_REQUEST


def judge_error_in_answer(problem: Problem | None) -> NextStep:
    """What follows from a status 200 with an error in the body: the provider's failure, billed or not. If the error names another
    status, that status decides whether to wait, to stop or to give up."""
    if problem and problem.is_overflow:
        return NextStep.GIVE_UP
    if problem and problem.code in {TOO_MANY, OVERLOADED, 401, 402, 403}:
        _, next_step, _ = judge_status(problem.code, problem)
        return next_step
    return NextStep.RETRY


def name_error_in_answer(problem: Problem | None) -> ErrorClass:
    """The category of a status 200 that carries an error."""
    return ErrorClass.CONTEXT_OVERFLOW if problem and problem.is_overflow else ErrorClass.ERROR_IN_ANSWER


def read_refusal(
    status: int, headers: Mapping[str, str], text: str, problem: Problem | None, *, request_id: str
) -> ChatAnswer:
    """The answer to a call that ended with a status other than 200."""
    retry_after = read_retry_after(status, headers)
    end, next_step, error_class = judge_status(status, problem, may_wait="retry-after" in headers)
    error = problem.sentence if problem else f"status {status}"
    if error_class is ErrorClass.REDIRECT:
        error = f"The address answers with a redirect (status {status}), which is not followed. Correct the base URL."
    return ChatAnswer(
        end,
        next_step,
        raw=text,
        http_status=status,
        error_class=error_class,
        error=error,
        provider_request_id=request_id,
        retry_after=retry_after,
    )


def read_retry_after(status: int, headers: Mapping[str, str]) -> float | None:
    """Seconds to wait before asking again; ``None`` if the answer does not say. Dates are counted from the answer's Date header,
    so that a wrong clock on this machine does no harm."""
    milliseconds = _read_number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _read_number(value)
    if seconds is not None:
        return seconds
    now = _read_date(headers.get("date", "")) or datetime.datetime.now(datetime.UTC)
    moment = _read_date(value)
    if moment is not None:
        return max(0.0, (moment - now).total_seconds())
    return _read_resets(headers, now) if status in {TOO_MANY, OVERLOADED, 503} else None


def _read_resets(headers: Mapping[str, str], now: datetime.datetime) -> float | None:
    """The seconds until the exhausted limit is refilled; if none is reported as exhausted, until the first limit is refilled."""
    spent: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        found = RESET.fullmatch(name.lower())
        seconds = _read_span(value, now) if found else None
        if found is None or seconds is None:
            continue
        what = found["what"] or found["what_first"] or ""
        remaining = [f"x-ratelimit-remaining-{what}".rstrip("-"), f"anthropic-ratelimit-{what}-remaining"]
        (spent if any(headers.get(each) == "0" for each in remaining) else others).append(seconds)
    if spent:
        return max(spent)
    return min(others, default=None)


def _read_span(value: str, now: datetime.datetime) -> float | None:
    """Seconds from now: of "1m30s", of a number of seconds, of a moment since 1970 in (milli)seconds, of an ISO date."""
    number = _read_number(value)
    if number is not None:
        if number > 1e11:
            number /= 1000
        return max(0.0, number - now.timestamp()) if number > 1e8 else number
    if SPAN.sub("", value.strip()) == "" and value.strip():
        return sum(float(count) * SECONDS[unit] for count, unit in SPAN.findall(value))
    try:
        moment = datetime.datetime.fromisoformat(value)
    except ValueError:
        return None
    return max(0.0, (_with_zone(moment) - now).total_seconds())


def _read_number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _read_date(value: str) -> datetime.datetime | None:
    try:
        return _with_zone(email.utils.parsedate_to_datetime(value))
    except (ValueError, OverflowError):
        return None


def _with_zone(moment: datetime.datetime) -> datetime.datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)


def _holds(kinds: str, words: tuple[str, ...]) -> bool:
    return any(word in kinds for word in words)
