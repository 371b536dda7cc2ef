"""What every provider of a model and its batch service look like to the rest of the program, and how much a model is to think
before it answers.

No Django here. A provider turns a request into an answer and never raises because of what the other side did.

A variant has one word for reasoning, which is written as each API takes it: "" (the provider's default), "off", "on", a whole
number of tokens, or an effort such as "low", "medium", "high". A budget of thinking tokens is added to ``max_tokens``, which
stays the room for the answer itself. So what a call may cost at most follows from ``max_output_tokens``. An effort has no such
room of its own: thinking counts within ``max_tokens``.

A job is a group of calls submitted together. The provider processes it within a day at a lower price; its answers can then
be fetched in any order and repeatedly. A job is submitted in steps that can each be repeated: written to a file, uploaded
(if the service needs that) and created. A step never raises because of what the other side did: it returns ``Trouble``. The
body of a call is that of a live call, and the body of an answer is read by the same rules, so that it makes no difference which
way an answer came.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO, NamedTuple, Protocol

from auditapp.llm.pure.model_settings import SAMPLING

CALL_NAME = re.compile(r"cell-(\d{1,18})(?:-([0-9a-f]{12}))?")
TOKEN_PART = 12
EXPIRED = "the provider did not reach this call in time and billed nothing"
CANCELED = "the provider's job was cancelled before it reached this call"


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
    """One call: the instructions as the system message, the text as the user message.

    ``history`` is the conversation before it, oldest first: pairs of a user message and its answer. ``max_tokens``: the limit of
    the answer; ``None`` for none. ``answer_schema``: a JSON schema that the server is to hold the answer to.
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


BUDGETS = {"low": 2_048, "medium": 8_192, "high": 16_384}
BUDGETS["on"] = BUDGETS["medium"]
MIN_BUDGET = 1_024
"""Anthropic accepts no smaller budget."""
ASSUMED_MAX_OUTPUT = 131_072
"""The most tokens that an answer is assumed to have where no limit is set and the model's maximum is not recorded."""

CONSTRAINTS = frozenset(
    {
        *("response_format", "output_format", "output_config", "structured_outputs", "json_schema", "grammar"),
        *("guided_json", "guided_choice", "guided_regex", "guided_grammar", "regex", "ebnf"),
        *("tools", "tool_choice", "functions", "function_call", "logit_bias"),
    }
)
"""Parameters that constrain what an answer may be. They are never a variant's own: a constraint sets a benchmark's score by
itself. The program sends one only for tasks that have a schema."""


class SettingRefused(ValueError):
    """A setting of a variant that its model does not accept; the sentence names it and says what to write instead.

    Nothing is sent then: an answer under a different setting from the one recorded would be worse than no answer.
    """


def max_output_tokens(request: ChatRequest) -> int:
    """The most tokens that a call may be billed for as output: the room for the answer and the budget for thinking.

    Without a limit it is the model's recorded maximum, which includes thinking, or ``ASSUMED_MAX_OUTPUT``.
    """
    if request.max_tokens is None:
        return request.traits.max_output_tokens or ASSUMED_MAX_OUTPUT
    return request.max_tokens + read_budget(request)


def read_budget(request: ChatRequest) -> int:
    """The budget of thinking tokens that a request asks for; 0 if it asks for none, or for an effort."""
    word = read_word(request)
    if word.isdecimal():
        return int(word)
    return BUDGETS.get(word, 0) if request.traits.reasoning == "budget" else 0


def read_word(request: ChatRequest) -> str:
    """The reasoning setting in the form in which it is compared."""
    return request.reasoning.strip().lower()


def check_settable(request: ChatRequest) -> None:
    """Refuse a setting for a model whose reasoning cannot be set."""
    word = read_word(request)
    if request.traits.reasoning == "none" and word not in {"", "off"}:
        raise SettingRefused(
            f"The reasoning of {request.model} cannot be set, but this model was added with reasoning {word!r}. "
            "Add it again without reasoning, or record other capabilities for it."
        )


def write_chat_reasoning(request: ChatRequest) -> dict[str, object]:
    """The part of a chat completion about thinking, according to the model's capabilities. Raises ``SettingRefused``."""
    check_settable(request)
    word, trait = read_word(request), request.traits.reasoning
    if not word or trait == "none":
        return {}
    if trait == "nested_effort":
        return {"reasoning": _write_nested(word)}
    if trait == "template":
        if word not in {"on", "off"}:
            raise SettingRefused(f"The reasoning of {request.model} can only be on or off, not {word!r}.")
        return {"chat_template_kwargs": {"enable_thinking": word == "on"}}
    if trait == "budget" or word.isdecimal():
        raise SettingRefused(
            f"{request.model} uses the chat completions API, which has no reasoning token budget ({word!r}). Enter an "
            "effort such as low or high. At OpenRouter a number works if the model's capabilities say reasoning.effort."
        )
    return {"reasoning_effort": {"off": "none", "on": "medium"}.get(word, word)}


def _write_nested(word: str) -> dict[str, object]:
    if word in {"on", "off"}:
        return {"enabled": word == "on"}
    return {"max_tokens": int(word)} if word.isdecimal() else {"effort": word}


def write_anthropic_reasoning(request: ChatRequest) -> dict[str, object]:
    """The part of an Anthropic message about thinking: a budget if the model takes one or a number was given, otherwise adaptive
    thinking with an effort. Raises ``SettingRefused``."""
    check_settable(request)
    word, trait = read_word(request), request.traits.reasoning
    if not word or trait == "none":
        return {}
    if trait == "template":
        raise SettingRefused(f"{request.model} uses the Anthropic Messages API, which has no chat_template_kwargs.")
    if word == "off":
        return {"thinking": {"type": "disabled"}}
    budget = read_budget(request)
    if trait == "budget" or word.isdecimal():
        if budget < MIN_BUDGET:
            raise SettingRefused(
                f"The reasoning of {request.model} must be off, on, low, medium, high, or a number of tokens of at least "
                f"{MIN_BUDGET:,}, not {word!r}."
            )
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    adaptive: dict[str, object] = {"thinking": {"type": "adaptive"}}
    return adaptive if word == "on" else adaptive | {"output_config": {"effort": word}}


def check_parameters(request: ChatRequest, *, reserved: frozenset[str]) -> None:
    """Refuse parameters that the rest of the program relies on."""
    taken = sorted(reserved & request.parameters.keys())
    if taken:
        raise SettingRefused(
            f"The parameters of {request.model} cannot contain {', '.join(taken)}: the program sets these itself, or could not "
            "limit the cost of a call. Add the model again without them."
        )


def list_parameters(request: ChatRequest) -> dict[str, object]:
    """The variant's own parameters. Raises ``SettingRefused`` for a sampling setting that the model does not accept."""
    refused = [name for name in SAMPLING if name in request.parameters and not getattr(request.traits, f"takes_{name}")]
    if refused:
        raise SettingRefused(
            f"{request.model} does not accept {' and '.join(refused)}, according to its recorded capabilities, but this model "
            "was added with it. Add the model again without it, or record other capabilities."
        )
    return dict(request.parameters)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a step failed. With ``is_lost``, it was sent, but it is not known whether it was carried out.

    ``next_step``: RETRY and SLOW_DOWN are temporary, STOP_BATCH needs the owner of the account, GIVE_UP is final.
    """

    next_step: NextStep
    error: str
    error_class: ErrorClass = ErrorClass.NONE
    http_status: int | None = None
    is_lost: bool = False

    @property
    def is_passing(self) -> bool:
        """Whether it makes sense to try again later."""
        return self.next_step in {NextStep.RETRY, NextStep.SLOW_DOWN}


class JobState(StrEnum):
    """The state of a job at its provider."""

    RUNNING = "running"
    CANCELLING = "cancelling"
    ENDED = "ended"
    REFUSED = "refused"


class JobStatus(NamedTuple):
    """What the provider reports about a job. ``results`` says where its answers are (empty until it ends); ``cut_short``
    means that calls without an answer were never made and never billed."""

    state: JobState
    results: Sequence[str] = ()
    cut_short: bool = False
    error: str = ""
    is_passing: bool = False


class Line(NamedTuple):
    """One answer of a job."""

    call_name: str
    answer: ChatAnswer


class JobService(Protocol):
    """An open connection to the batch service of one account. Used from one event loop; closed by its opener."""

    max_calls: int
    max_bytes: int
    # The bytes before, between and after the lines of the file that is sent.
    framing: tuple[bytes, bytes, bytes]
    uploads: bool

    def name_call(self, token: str, cell_id: int) -> str:
        """The custom_id of a call."""

    def write_line(self, call_name: str, request: ChatRequest) -> bytes:
        """One call as a line of the file, with the same body as a live call."""

    async def upload(self, file: BinaryIO, token: str) -> str | Trouble:
        """Upload the file; returns its id at the provider. Costs nothing and can be repeated."""

    async def create(self, file: BinaryIO, file_id: str, token: str) -> str | Trouble:
        """Create the job from its uploaded file or, if the service has no upload, from the file itself; returns its id. Never
        call this twice for the same calls without ``find`` in between."""

    async def find(
        self, token: str, calls: int, known: frozenset[str], since: datetime.datetime
    ) -> tuple[str, int] | Trouble:
        """Look for a job with this token, created after ``since`` with this number of calls.

        Returns its id or "", and the number of jobs that may be this one, which is known only when they end. ``known`` are the
        ids of other jobs.
        """

    async def check(self, job_id: str) -> JobStatus | Trouble:
        """Ask for the state of the job."""

    def collect(self, status: JobStatus) -> AsyncGenerator[Line | Trouble, None]:
        """The answers of an ended job as they arrive. A ``Trouble`` ends the stream: some answers are missing."""

    async def cancel(self, job_id: str) -> Trouble | None:
        """Ask the provider to make no further calls. Finished answers can still be collected."""

    async def delete_file(self, file_id: str) -> Trouble | None:
        """Delete an uploaded file at the provider once its texts are no longer needed there."""

    async def close(self) -> None:
        """Close the connections."""


def read_call_name(name: str) -> tuple[int, str] | None:
    """The cell and the part of the token in one of our custom_ids; ``None`` for any other id. The part is empty if the service
    stores the token with the job."""
    match = CALL_NAME.fullmatch(name)
    return (int(match[1]), match[2] or "") if match else None


def shorten_token(token: str) -> str:
    """The part of a token that is used in names."""
    return token.replace("-", "")[:TOKEN_PART]


def make_trouble(answer: ChatAnswer) -> Trouble:
    """The ``Trouble`` for a failed answer."""
    return Trouble(
        next_step=answer.next_step if answer.next_step is not NextStep.NONE else NextStep.RETRY,
        error=answer.error,
        error_class=answer.error_class,
        http_status=answer.http_status,
        is_lost=answer.end is CallOutcome.UNKNOWN,
    )


def read_object(raw: bytes) -> dict[str, object] | None:
    """A JSON object; ``None`` for anything else."""
    try:
        found = json.loads(raw.decode("utf-8", errors="backslashreplace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_text(data: Mapping[str, object] | None, name: str) -> str:
    """A text field, storable; empty where there is none."""
    value = data.get(name) if data else None
    return make_storable(value)[:500] if isinstance(value, str) else ""


def take_object(data: Mapping[str, object] | None, name: str) -> dict[str, object]:
    """A field that is an object; an empty object if it is something else."""
    value = data.get(name) if data else None
    return value if isinstance(value, dict) else {}


def dump_line(content: Mapping[str, object]) -> bytes:
    """JSON on one line, identical for identical content."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def read_unmade(word: str, data: Mapping[str, object]) -> ChatAnswer:
    """The end of a call that the service never made, with the service's word for it; nothing was billed."""
    raw = dump_line(data).decode(errors="backslashreplace").replace("\x00", "\\x00")
    if "cancel" in word:
        return refuse_unmade(ErrorClass.EXPIRED, CANCELED, raw=raw)
    if "expired" in word:
        return refuse_unmade(ErrorClass.EXPIRED, EXPIRED, raw=raw)
    return refuse_unmade(ErrorClass.SERVER_ERROR, f"the provider's batch service: {word or 'no reason given'}", raw=raw)


def refuse_unmade(error_class: ErrorClass, error: str, *, raw: str = "") -> ChatAnswer:
    """A call of a job that was not made; it may be asked again."""
    return ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, error_class=error_class, error=error, raw=raw)
