"""Anthropic's messages and message batches, over aiohttp: one request, one answer, nothing retried here.

``max_tokens`` of a variant is the room for the answer; a budget for thinking is added to it (``base.py``). The API
demands a limit: a variant without one is asked with the model's recorded maximum, thinking included. Earlier thinking is not
sent back.

A message batch has all requests in the body of one call, and its results are lines in any order. The names of its calls are the
only thing in it that we choose, so the job's token is part of each name. If the creation of a batch was cut off, it can therefore
be told from other batches of the same size only after it has ended.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import BinaryIO

import aiohttp
from yarl import URL

from auditapp.llm.providers.base import (
    CONSTRAINTS,
    Account,
    CallOutcome,
    ChatAnswer,
    ChatRequest,
    ErrorClass,
    JobState,
    JobStatus,
    Line,
    NextStep,
    SettingRefused,
    Trouble,
    check_parameters,
    dump_line,
    list_parameters,
    make_storable,
    max_output_tokens,
    read_budget,
    read_call_name,
    read_text,
    read_unmade,
    shorten_token,
    take_object,
    write_anthropic_reasoning,
)
from auditapp.llm.providers.http import (
    CallFailed,
    HttpAccount,
    cap_body,
    decode,
    judge_error_in_answer,
    name_error_in_answer,
    name_request,
    read_problem,
    read_refusal,
    refuse_setting,
    shorten,
)
from auditapp.llm.providers.jobs_http import ask, read_lines
from auditapp.llm.providers.openai_compatible import (
    MAX_PAGES,
    MAX_TOKENS,
    SKEW,
    list_jobs,
    read_count,
    read_id,
    write_turns,
)

BASE_URL = "https://api.anthropic.com/v1"
VERSION = "2023-06-01"
RESERVED = frozenset({"model", "messages", "system", "stream", "max_tokens", *CONSTRAINTS})
MIN_TOP_P_WHILE_THINKING = 0.95
FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}


class AnthropicProvider:
    """One account; without a base URL it is Anthropic's own."""

    def __init__(self, account: Account) -> None:
        self.http = open_http(account)

    async def close(self) -> None:
        await self.http.close()

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        try:
            body = json.dumps(write_body(request), ensure_ascii=False).encode(errors="backslashreplace")
            status, headers, body, first_byte_after = await self.http.exchange(
                "POST",
                "/messages",
                data=body,
                headers=name_request(request),
                timeout_seconds=request.timeout_seconds,
                max_bytes=cap_body(request),
            )
        except SettingRefused as error:
            return refuse_setting(error)
        except CallFailed as error:
            return error.answer
        answer = read_answer(status, headers, body)
        return replace(answer, first_byte_after=first_byte_after)


def open_http(account: Account) -> HttpAccount:
    """The session of an account, with its key in the header that Anthropic requires."""
    headers = {"anthropic-version": VERSION}
    if account.key:
        headers["x-api-key"] = account.key
    return HttpAccount(account, base_url=complete_base_url(account.base_url), headers=headers)


def complete_base_url(base_url: str) -> str:
    """The base URL with its version, which Anthropic's own tools leave out."""
    if not base_url:
        return BASE_URL
    try:
        return base_url if URL(base_url).path.strip("/") else base_url.rstrip("/") + "/v1"
    except ValueError:
        return base_url


def write_body(request: ChatRequest) -> dict[str, object]:
    """The JSON body of a message. Raises ``SettingRefused``."""
    check_parameters(request, reserved=RESERVED)
    body = list_parameters(request)
    thinking = write_anthropic_reasoning(request)
    _check_sampling(request, thinks=thinking.get("thinking", {"type": "disabled"}) != {"type": "disabled"})
    if "stop" in body:
        body["stop_sequences"] = body.pop("stop")
    body |= thinking
    if request.answer_schema is not None:
        effort = thinking.get("output_config", {})
        schema = {"format": {"type": "json_schema", "schema": request.answer_schema}}
        body["output_config"] = {**effort, **schema} if isinstance(effort, dict) else schema
    body["model"] = request.model
    body["max_tokens"] = max_output_tokens(request)
    if read_budget(request) >= max_output_tokens(request):
        raise SettingRefused(
            f"The thinking budget of {request.model} ({read_budget(request):,} tokens) leaves no room for an answer: thinking "
            f"and answer together can have at most {max_output_tokens(request):,} tokens. Add the model again with a smaller "
            "budget."
        )
    # The API takes no message without words. It joins the user messages on both sides of an answer that had none.
    turns = write_turns(request)
    body["messages"] = [turn for turn in turns if turn["role"] == "user" or turn["content"].strip()]
    if request.system and request.traits.takes_system:
        body["system"] = request.system
    return body


def _check_sampling(request: ChatRequest, *, thinks: bool) -> None:
    """Refuse sampling settings that Anthropic's API does not accept, according to its documentation. Raises ``SettingRefused``."""
    given = request.parameters
    if "seed" in given:
        raise SettingRefused(
            f"{request.model} takes no seed: Anthropic's API has none. Add the model again without it."
        )
    if thinks and "temperature" in given:
        raise SettingRefused(
            f"{request.model} takes no temperature while it thinks. Add the model again without one of the two."
        )
    temperature, top_p = given.get("temperature"), given.get("top_p")
    if isinstance(temperature, (int, float)) and temperature > 1:
        raise SettingRefused(
            f"{request.model} takes a temperature from 0 to 1, not {temperature:g}. Add the model again with another."
        )
    if thinks and isinstance(top_p, (int, float)) and top_p < MIN_TOP_P_WHILE_THINKING:
        raise SettingRefused(
            f"{request.model} takes a top_p from {MIN_TOP_P_WHILE_THINKING} to 1 while it thinks, not {top_p:g}. Add the "
            "model again with another, or without thinking."
        )


def read_answer(status: int, headers: Mapping[str, str], raw: bytes) -> ChatAnswer:
    """What a status and a body mean."""
    text = decode(raw)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    data: dict[str, object] = found if isinstance(found, dict) else {}
    request_id = shorten(headers.get("request-id") or data.get("request_id"))
    problem = read_problem(data)
    if status != 200:
        return read_refusal(status, headers, text, problem, request_id=request_id)
    reason = shorten(data.get("stop_reason"), 50)
    blocks = data.get("content")
    known = ChatAnswer(
        CallOutcome.ANSWERED,
        content=make_storable(_join_text(blocks, "text")),
        reasoning=make_storable(_join_text(blocks, "thinking")),
        raw=text,
        http_status=status,
        finish_reason=FINISH_REASONS.get(reason, reason),
        served_model=shorten(data.get("model")),
        provider_request_id=request_id,
        provider_answer_id=shorten(data.get("id")),
        tokens_in=count_input(data),
        tokens_out=read_count(data, "output_tokens"),
        tokens_cached=read_count(data, "cache_read_input_tokens"),
        tokens_reasoning=read_count(data, "output_tokens_details", "thinking_tokens"),
    )
    if problem is not None:
        return replace(
            known,
            end=CallOutcome.FAILED,
            next_step=judge_error_in_answer(problem),
            error_class=name_error_in_answer(problem),
            error=problem.sentence,
        )
    if not isinstance(blocks, list):
        words = "status 200 without an answer in it"
        return replace(
            known, end=CallOutcome.FAILED, next_step=NextStep.RETRY, error_class=ErrorClass.BAD_ANSWER, error=words
        )
    return known


def count_input(data: Mapping[str, object]) -> int | None:
    """All input tokens; Anthropic counts those written to and read from its cache separately."""
    fresh = read_count(data, "input_tokens")
    if fresh is None:
        return None
    cached = (read_count(data, "cache_creation_input_tokens"), read_count(data, "cache_read_input_tokens"))
    whole = fresh + sum(count or 0 for count in cached)
    return whole if whole < MAX_TOKENS else None


def _join_text(blocks: object, kind: str) -> str:
    """The blocks of text, or those of thinking, joined. Redacted thinking does not count as text."""
    if not isinstance(blocks, list):
        return ""
    texts = [block.get(kind) for block in blocks if isinstance(block, dict) and block.get("type") == kind]
    return "".join(text for text in texts if isinstance(text, str))


PATH = "/messages/batches"
# The statuses that Anthropic's error names correspond to, so that one rule serves both.
ANTHROPIC_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicJobs:
    """The batch service of one account."""

    max_calls = 100_000
    max_bytes = 256 * 1000 * 1000
    framing = (b'{"requests":[', b",", b"]}")
    uploads = False

    def __init__(self, account: Account) -> None:
        self.http = open_http(account)

    async def close(self) -> None:
        await self.http.close()

    def name_call(self, token: str, cell_id: int) -> str:
        return f"cell-{cell_id}-{shorten_token(token)}"

    def write_line(self, call_name: str, request: ChatRequest) -> bytes:
        return write_anthropic_line(call_name, request)

    async def upload(self, file: BinaryIO, token: str) -> str | Trouble:
        raise NotImplementedError("a message batch is created with its requests")

    async def create(self, file: BinaryIO, file_id: str, token: str) -> str | Trouble:
        body = aiohttp.BufferedReaderPayload(file, content_type="application/json")
        headers = {"Content-Type": "application/json", "Idempotency-Key": token}
        return read_id(await self._ask("POST", PATH, data=body, headers=headers))

    async def find(
        self, token: str, calls: int, known: frozenset[str], since: datetime.datetime
    ) -> tuple[str, int] | Trouble:
        params, undecided = {"limit": "100"}, 0
        for _ in range(MAX_PAGES):
            page = await self._ask("GET", PATH, params=params)
            if isinstance(page, Trouble):
                return page
            jobs = list_jobs(page)
            for job in jobs:
                if count_calls(job) != calls or read_text(job, "id") in known or is_older(job, since):
                    continue
                if read_text(job, "processing_status") != "ended":
                    undecided += 1
                    continue
                is_it = await self._holds(job, token)
                if isinstance(is_it, Trouble):
                    return is_it
                if is_it:
                    return read_text(job, "id"), 0
            if not jobs or not page.get("has_more") or is_older(jobs[-1], since):
                break
            params = {"limit": "100", "after_id": read_text(jobs[-1], "id")}
        return "", undecided

    async def _holds(self, job: Mapping[str, object], token: str) -> bool | Trouble:
        """Whether an ended batch is that of ``token``: its first result says so."""
        lines = self.collect(read_status(job))
        try:
            async for line in lines:
                if isinstance(line, Trouble):
                    return line
                name = read_call_name(line.call_name)
                return name is not None and name[1] == shorten_token(token)
        finally:
            await lines.aclose()
        return False

    async def check(self, job_id: str) -> JobStatus | Trouble:
        job = await self._ask("GET", f"{PATH}/{job_id}")
        return job if isinstance(job, Trouble) else read_status(job)

    async def collect(self, status: JobStatus) -> AsyncGenerator[Line | Trouble, None]:
        for path in status.results:
            async for line in read_lines(self.http, path, read_line=read_anthropic_line, read_answer=read_answer):
                yield line

    async def cancel(self, job_id: str) -> Trouble | None:
        answer = await self._ask("POST", f"{PATH}/{job_id}/cancel")
        return answer if isinstance(answer, Trouble) else None

    async def delete_file(self, file_id: str) -> Trouble | None:
        raise NotImplementedError("a message batch is created with its requests")

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        data: aiohttp.Payload | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> dict[str, object] | Trouble:
        return await ask(self.http, method, path, read_answer=read_answer, data=data, headers=headers, params=params)


def read_status(job: Mapping[str, object]) -> JobStatus:
    """The state of a message batch. Its results are fetched from the documented address, not from the one that it names."""
    word = read_text(job, "processing_status")
    if word == "canceling":
        return JobStatus(JobState.CANCELLING)
    if word != "ended":
        return JobStatus(JobState.RUNNING)
    counts = take_object(job, "request_counts")
    is_cut = any(counts.get(name) not in {0, None} for name in ("canceled", "expired"))
    return JobStatus(JobState.ENDED, [f"{PATH}/{read_text(job, 'id')}/results"], cut_short=is_cut)


def count_calls(job: Mapping[str, object]) -> int:
    """How many requests a message batch has."""
    return sum(count for count in take_object(job, "request_counts").values() if isinstance(count, int))


def is_older(job: Mapping[str, object], since: datetime.datetime) -> bool:
    """Whether a message batch was made before ``since``, allowing for clocks that differ."""
    try:
        made_at = datetime.datetime.fromisoformat(read_text(job, "created_at"))
    except ValueError:
        return False
    return made_at.tzinfo is not None and made_at < since - SKEW


def write_anthropic_line(call_name: str, request: ChatRequest) -> bytes:
    """A member of Anthropic's ``requests``."""
    return dump_line({"custom_id": call_name, "params": write_body(request)})


def read_anthropic_line(data: Mapping[str, object]) -> Line | None:
    """A line of a message batch's results; ``None`` for a line that cannot be read as one."""
    name, result = read_text(data, "custom_id"), take_object(data, "result")
    kind = read_text(result, "type")
    if not name or not kind:
        return None
    if kind == "succeeded":
        return Line(name, read_answer(200, {}, dump_line(take_object(result, "message"))))
    if kind != "errored":
        return Line(name, read_unmade(kind, data))
    failure = take_object(result, "error")
    inner = take_object(failure, "error") or failure
    status = ANTHROPIC_STATUSES.get(read_text(inner, "type"), 500)
    return Line(name, read_answer(status, {}, dump_line(failure)))
