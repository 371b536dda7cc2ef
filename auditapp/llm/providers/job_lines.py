"""One call, and one answer, as the providers' batch files hold them.

The body of a call is that of a live call, and the body of an answer is read by the same rules, so that it makes no difference
which way an answer came.
"""

from __future__ import annotations

from collections.abc import Mapping

from auditapp.llm.providers import anthropic, openai_compatible
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ChatRequest, ErrorClass, NextStep
from auditapp.llm.providers.jobs_base import Line, dump_line, read_text, take_object

OPENAI_URL = "/v1/chat/completions"
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
EXPIRED = "the provider did not reach this call in time and billed nothing"
CANCELED = "the provider's job was cancelled before it reached this call"


def write_openai_line(call_name: str, request: ChatRequest) -> bytes:
    """A line of OpenAI's batch input."""
    body = openai_compatible.write_body(request)
    return dump_line({"custom_id": call_name, "method": "POST", "url": OPENAI_URL, "body": body})


def write_anthropic_line(call_name: str, request: ChatRequest) -> bytes:
    """A member of Anthropic's ``requests``."""
    return dump_line({"custom_id": call_name, "params": anthropic.write_body(request)})


def read_openai_line(data: Mapping[str, object]) -> Line | None:
    """A line of an output or error file; ``None`` when it is none."""
    name = read_text(data, "custom_id")
    response = data.get("response")
    if not name or ("response" not in data and "error" not in data):
        return None
    if not isinstance(response, dict):
        return Line(name, read_unmade(read_text(take_object(data, "error"), "code"), data))
    status = response.get("status_code")
    body = response.get("body")
    answer = openai_compatible.read_answer(
        status if isinstance(status, int) and 100 <= status < 600 else 0,
        {"x-request-id": read_text(response, "request_id")},
        dump_line(body) if isinstance(body, dict) else str(body or "").encode(errors="backslashreplace"),
    )
    return Line(name, answer)


def read_anthropic_line(data: Mapping[str, object]) -> Line | None:
    """A line of a message batch's results; ``None`` when it is none."""
    name, result = read_text(data, "custom_id"), take_object(data, "result")
    kind = read_text(result, "type")
    if not name or not kind:
        return None
    if kind == "succeeded":
        return Line(name, anthropic.read_answer(200, {}, dump_line(take_object(result, "message"))))
    if kind != "errored":
        return Line(name, read_unmade(kind, data))
    failure = take_object(result, "error")
    inner = take_object(failure, "error") or failure
    status = ANTHROPIC_STATUSES.get(read_text(inner, "type"), 500)
    return Line(name, anthropic.read_answer(status, {}, dump_line(failure)))


def read_unmade(word: str, data: Mapping[str, object]) -> ChatAnswer:
    """The end of a call that the service never made, by its word for it; nothing was billed."""
    raw = dump_line(data).decode(errors="backslashreplace").replace("\x00", "\\x00")
    if "cancel" in word:
        return refuse_unmade(ErrorClass.EXPIRED, CANCELED, raw=raw)
    if "expired" in word:
        return refuse_unmade(ErrorClass.EXPIRED, EXPIRED, raw=raw)
    return refuse_unmade(ErrorClass.SERVER_ERROR, f"the provider's batch service: {word or 'no reason given'}", raw=raw)


def refuse_unmade(error_class: ErrorClass, error: str, *, raw: str = "") -> ChatAnswer:
    """A call of a job that was not made: it may be asked again."""
    return ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, error_class=error_class, error=error, raw=raw)
