"""Chat completions as OpenAI, OpenRouter, vLLM, Ollama, LM Studio and llama.cpp serve them, and OpenAI's batch service.

One request gives one answer: nothing is retried here, and the form of what the server sends is never taken for granted.

OpenAI's batch service, and services that follow its form, take a file of requests and turn it into a job, with a file of answers
and a file of errors.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import BinaryIO

import aiohttp

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
    read_text,
    read_unmade,
    take_object,
    write_chat_reasoning,
)
from auditapp.llm.providers.http import (
    CallFailed,
    HttpAccount,
    Problem,
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

# A count is below this, or its column cannot store it.
MAX_TOKENS = 2**31
# vLLM, llama.cpp and DeepSeek use the first, OpenRouter, Ollama and later versions of vLLM the second.
REASONING_FIELDS = ("reasoning_content", "reasoning")
RESERVED = frozenset(
    {"model", "messages", "stream", "n", "best_of", "max_tokens", "max_completion_tokens", *CONSTRAINTS}
)


class OpenAICompatibleProvider:
    """One account at one base URL (such as ``http://127.0.0.1:11434/v1``)."""

    def __init__(self, account: Account) -> None:
        headers = {"Authorization": f"Bearer {account.key}"} if account.key else {}
        self.http = HttpAccount(account, base_url=account.base_url, headers=headers)

    async def close(self) -> None:
        await self.http.close()

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        try:
            body = json.dumps(write_body(request), ensure_ascii=False).encode(errors="backslashreplace")
            status, headers, body, first_byte_after = await self.http.exchange(
                "POST",
                "/chat/completions",
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


def write_body(request: ChatRequest) -> dict[str, object]:
    """The JSON body of a chat completion. Sampling is the provider's default unless the variant's parameters say so.
    Raises ``SettingRefused``."""
    check_parameters(request, reserved=RESERVED)
    body = list_parameters(request)
    for name, value in write_chat_reasoning(request).items():
        # An object among the parameters keeps what else is in it.
        given = body.get(name)
        body[name] = {**given, **value} if isinstance(given, dict) and isinstance(value, dict) else value
    body["model"] = request.model
    body["messages"] = write_messages(request)
    if request.answer_schema is not None:
        schema = {"name": "answer", "strict": True, "schema": request.answer_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.max_tokens is not None:
        body[request.traits.token_limit] = max_output_tokens(request)
    return body


def write_messages(request: ChatRequest) -> list[dict[str, str]]:
    """The instructions, the earlier messages and the text. A model that takes no system message gets the instructions in the
    first user message."""
    said = write_turns(request)
    if not request.system or not request.traits.takes_system:
        return said
    return [{"role": "system", "content": request.system}, *said]


def write_turns(request: ChatRequest) -> list[dict[str, str]]:
    """The messages without a system message, for a model that takes none: its words are put into the first message."""
    said = [
        {"role": role, "content": content}
        for exchange in request.history
        for role, content in zip(("user", "assistant"), exchange, strict=True)
    ]
    said.append({"role": "user", "content": request.user})
    if request.system and not request.traits.takes_system:
        said[0]["content"] = f"{request.system}\n\n{said[0]['content']}"
    return said


def read_answer(status: int, headers: Mapping[str, str], raw: bytes) -> ChatAnswer:
    """What a status and a body mean. A 200 that carries an error counts as the provider's failure."""
    text = decode(raw)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    data: dict[str, object] = body if isinstance(body, dict) else {}
    request_id = shorten(headers.get("x-request-id"))
    problem = read_problem(data)
    if status != 200:
        return read_refusal(status, headers, text, problem, request_id=request_id)
    is_there, content, reasoning, finish_reason, inner_problem = read_completion(data)
    problem = problem or inner_problem
    known = ChatAnswer(
        CallOutcome.ANSWERED,
        content=content,
        reasoning=reasoning,
        raw=text,
        http_status=status,
        finish_reason=finish_reason,
        served_model=shorten(data.get("model")),
        served_route=shorten(data.get("provider")),
        provider_request_id=request_id,
        provider_answer_id=shorten(data.get("id")),
        tokens_in=read_count(data, "prompt_tokens"),
        tokens_out=read_count(data, "completion_tokens"),
        tokens_cached=read_count(data, "prompt_tokens_details", "cached_tokens"),
        tokens_reasoning=read_count(data, "completion_tokens_details", "reasoning_tokens"),
    )
    if problem is not None or finish_reason == "error":
        return replace(
            known,
            end=CallOutcome.FAILED,
            next_step=judge_error_in_answer(problem),
            error_class=name_error_in_answer(problem),
            error=problem.sentence if problem else "the provider ended the answer with an error",
        )
    if not is_there:
        words = "status 200 without an answer in it"
        return replace(
            known,
            end=CallOutcome.FAILED,
            next_step=NextStep.RETRY,
            error_class=ErrorClass.BAD_ANSWER,
            error=words,
            content="",
        )
    return known


def read_completion(data: Mapping[str, object]) -> tuple[bool, str, str, str, Problem | None]:
    """Whether there is a first choice, its words, its reasoning, why it ended, and the error that it may contain instead. A
    refusal by the model itself is an answer that ends as ``refusal``."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return False, "", "", "", None
    finish_reason = shorten(choice.get("finish_reason"), 50)
    problem = read_problem({"error": choice.get("error"), "choices": None})
    message = choice.get("message")
    if not isinstance(message, dict):
        # A filter may leave nothing of the message; asking again would pay again for the same.
        return finish_reason == "content_filter", "", "", finish_reason, problem
    content, refusal = _join_parts(message.get("content")), message.get("refusal")
    if not content and isinstance(refusal, str) and refusal:
        return True, make_storable(refusal), _read_reasoning(message), "refusal", problem
    return True, make_storable(content), _read_reasoning(message), finish_reason, problem


def _read_reasoning(message: Mapping[str, object]) -> str:
    """The model's reasoning, from the field that the server has for it or from OpenRouter's list of its parts. Encrypted or
    omitted parts have no text."""
    for name in REASONING_FIELDS:
        words = message.get(name)
        if isinstance(words, str) and words:
            return make_storable(words)
    details = message.get("reasoning_details")
    parts = [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    texts = [part.get("text") or part.get("summary") for part in parts]
    return make_storable("".join(text for text in texts if isinstance(text, str)))


def _join_parts(content: object) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def read_count(data: Mapping[str, object], *names: str) -> int | None:
    """A token count of the usage block; ``None`` if there is none (never 0)."""
    value: object = data.get("usage")
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < MAX_TOKENS else None


OPENAI_URL = "/v1/chat/completions"
METADATA = "auditapp_job"
MAX_PAGES = 50
SKEW = datetime.timedelta(hours=2)
CUT_SHORT = {"expired", "cancelled"}
# The account's allowance of waiting tokens is used up; it frees itself as its jobs end.
FULL = {"token_limit_exceeded", "rate_limit_exceeded"}
NOTHING_TO_SAY = 204


class OpenAIJobs:
    """The batch service of one account. Jobs carry their token as metadata."""

    max_calls = 50_000
    max_bytes = 200 * 1000 * 1000
    framing = (b"", b"\n", b"\n")
    uploads = True

    def __init__(self, account: Account) -> None:
        headers = {"Authorization": f"Bearer {account.key}"} if account.key else {}
        self.http = HttpAccount(account, base_url=account.base_url, headers=headers)

    async def close(self) -> None:
        await self.http.close()

    def name_call(self, token: str, cell_id: int) -> str:
        return f"cell-{cell_id}"

    def write_line(self, call_name: str, request: ChatRequest) -> bytes:
        return write_openai_line(call_name, request)

    async def upload(self, file: BinaryIO, token: str) -> str | Trouble:
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", file, filename=f"{token}.jsonl", content_type="application/jsonl")
        return read_id(await self._ask("POST", "/files", data=form))

    async def create(self, file: BinaryIO, file_id: str, token: str) -> str | Trouble:
        body = {
            "input_file_id": file_id,
            "endpoint": OPENAI_URL,
            "completion_window": "24h",
            "metadata": {METADATA: token},
        }
        headers = {"Content-Type": "application/json", "Idempotency-Key": token}
        return read_id(await self._ask("POST", "/batches", data=dump_line(body), headers=headers))

    async def find(
        self, token: str, calls: int, known: frozenset[str], since: datetime.datetime
    ) -> tuple[str, int] | Trouble:
        params = {"limit": "100"}
        for _ in range(MAX_PAGES):
            page = await self._ask("GET", "/batches", params=params)
            if isinstance(page, Trouble):
                return page
            jobs = list_jobs(page)
            for job in jobs:
                if read_text(take_object(job, "metadata"), METADATA) == token:
                    return read_text(job, "id"), 0
            made_at = jobs[-1].get("created_at") if jobs else None
            is_older = isinstance(made_at, (int, float)) and made_at < (since - SKEW).timestamp()
            if not jobs or not page.get("has_more") or is_older:
                break
            params = {"limit": "100", "after": read_text(jobs[-1], "id")}
        return "", 0

    async def check(self, job_id: str) -> JobStatus | Trouble:
        job = await self._ask("GET", f"/batches/{job_id}")
        return job if isinstance(job, Trouble) else read_status(job)

    async def collect(self, status: JobStatus) -> AsyncGenerator[Line | Trouble, None]:
        for path in status.results:
            async for line in read_lines(self.http, path, read_line=read_openai_line, read_answer=read_answer):
                yield line
                if isinstance(line, Trouble):
                    return

    async def cancel(self, job_id: str) -> Trouble | None:
        answer = await self._ask("POST", f"/batches/{job_id}/cancel")
        return answer if isinstance(answer, Trouble) else None

    async def delete_file(self, file_id: str) -> Trouble | None:
        answer = await self._ask("DELETE", f"/files/{file_id}")
        if isinstance(answer, Trouble):
            # Done, and nothing said about it.
            return None if answer.http_status == NOTHING_TO_SAY else answer
        if answer.get("deleted") is False:
            return Trouble(NextStep.GIVE_UP, "The batch service says that it did not delete the file.")
        return None

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        data: bytes | aiohttp.FormData | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> dict[str, object] | Trouble:
        return await ask(self.http, method, path, read_answer=read_answer, data=data, headers=headers, params=params)


def read_status(job: Mapping[str, object]) -> JobStatus:
    """The state of a job, from the provider's word for it; an unknown word is taken to mean that the job is in progress."""
    word = read_text(job, "status").lower()
    if word == "failed":
        # Validation fails before any call is made. A job that names answers failed later, and they were paid for.
        refused = read_refused_job(job)
        if not read_text(job, "output_file_id"):
            return refused
        return JobStatus(JobState.ENDED, list_results(job), error=refused.error)
    if word == "cancelling":
        return JobStatus(JobState.CANCELLING)
    if word not in {"completed", *CUT_SHORT}:
        return JobStatus(JobState.RUNNING)
    return JobStatus(JobState.ENDED, list_results(job), cut_short=word in CUT_SHORT)


def list_results(job: Mapping[str, object]) -> list[str]:
    """Where the answers and the errors of a job are."""
    files = [read_text(job, name) for name in ("output_file_id", "error_file_id")]
    return [f"/files/{file}/content" for file in files if file]


def read_refused_job(job: Mapping[str, object]) -> JobStatus:
    """A job that was not accepted: the first of its errors."""
    errors = take_object(job, "errors").get("data")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    code = read_text(first, "code")
    words = ": ".join(each for each in (code, read_text(first, "message")) if each)
    return JobStatus(JobState.REFUSED, error=words or "the job failed", is_passing=code in FULL)


def list_jobs(page: Mapping[str, object]) -> list[dict[str, object]]:
    """The jobs of a page of a list."""
    data = page.get("data")
    return [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []


def read_id(answer: dict[str, object] | Trouble) -> str | Trouble:
    """The id of the file or job that was made; with an answer without an id, it is not known whether anything was made."""
    if isinstance(answer, Trouble):
        return answer
    words = "The batch service answered without an id."
    return read_text(answer, "id") or Trouble(NextStep.RETRY, words, ErrorClass.BAD_ANSWER, is_lost=True)


def write_openai_line(call_name: str, request: ChatRequest) -> bytes:
    """A line of OpenAI's batch input."""
    body = write_body(request)
    return dump_line({"custom_id": call_name, "method": "POST", "url": OPENAI_URL, "body": body})


def read_openai_line(data: Mapping[str, object]) -> Line | None:
    """A line of an output or error file; ``None`` for a line that cannot be read as one."""
    name = read_text(data, "custom_id")
    response = data.get("response")
    if not name or ("response" not in data and "error" not in data):
        return None
    if not isinstance(response, dict):
        return Line(name, read_unmade(read_text(take_object(data, "error"), "code"), data))
    status = response.get("status_code")
    body = response.get("body")
    answer = read_answer(
        status if isinstance(status, int) and 100 <= status < 600 else 0,
        {"x-request-id": read_text(response, "request_id")},
        dump_line(body) if isinstance(body, dict) else str(body or "").encode(errors="backslashreplace"),
    )
    return Line(name, answer)
