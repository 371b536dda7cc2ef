"""What an HTTP status, its headers and an error body mean for a call."""

from __future__ import annotations

import datetime
import email.utils
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep, make_storable

TOO_MANY = 429
OVERLOADED = 529
PROVIDER_BUSY = {408, 409, 425}
# A gateway gave up waiting; whether the model behind it finished, and was billed, is not known.
GAVE_UP_WAITING = {504, 524}
ACCOUNT_REFUSED = {401, 402, 403}
MONEY_SPENT = ("insufficient_quota", "billing_hard_limit", "billing_not_active", "credit balance", "billing_error")
KEY_REFUSED = ("invalid_api_key", "api_key_invalid", "api key not valid", "authentication_error")
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


def read_problem(data: Mapping[str, object]) -> Problem | None:
    """The error in a body, in any of the forms there are; ``None`` where it holds none."""
    error = data.get("error")
    if not error and data.get("object") == "error":
        error = data
    if not error and "choices" not in data:
        error = data.get("detail")
    if not error:
        return None
    if not isinstance(error, dict):
        return Problem(make_storable(str(error))[:300], str(error).lower())
    message = str(error.get("message") or error.get("detail") or error.get("type") or error.get("code") or "error")
    metadata = error.get("metadata")
    marks = [error.get("code"), error.get("type"), error.get("status"), message]
    if isinstance(metadata, dict):
        marks += ["flagged" if "flagged_input" in metadata else "", metadata.get("error_type")]
    code = error.get("code")
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    return Problem(
        make_storable(message)[:300], " ".join(str(mark) for mark in marks).lower(), code if is_status else None
    )


def judge_status(
    status: int, problem: Problem | None, *, may_wait: bool = False
) -> tuple[CallOutcome, NextStep, ErrorClass]:
    """How a call with a status other than 200 ended, and what follows. ``may_wait``: the answer says when to ask again."""
    kinds = problem.kinds if problem else ""
    if 300 <= status < 400:
        return CallOutcome.REFUSED, NextStep.STOP_BATCH, ErrorClass.REDIRECT
    if status < 400:
        return CallOutcome.FAILED, NextStep.RETRY, ErrorClass.BAD_ANSWER
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
    """What follows from a status 200 that carries an error: the provider's failure, billed or not. Where the error names a
    status of its own, it decides whether to wait, to stop or to give up."""
    if problem and problem.code in {TOO_MANY, OVERLOADED, 401, 402, 403}:
        _, next_step, _ = judge_status(problem.code, problem)
        return next_step
    return NextStep.RETRY


def read_refusal(
    status: int, headers: Mapping[str, str], text: str, problem: Problem | None, *, request_id: str
) -> ChatAnswer:
    """The answer to a call that ended with a status other than 200."""
    retry_after = read_retry_after(status, headers)
    end, next_step, error_class = judge_status(status, problem, may_wait="retry-after" in headers)
    error = problem.message if problem else f"status {status}"
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
    """Seconds to wait before asking again; ``None`` where nothing says so. Dates are counted from the answer's own Date, so
    that a wrong clock here does no harm."""
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
    """When the limit that is used up is filled again; where none is said to be, the one that is filled first."""
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
