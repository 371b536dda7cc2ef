import datetime
import email.utils
import json

import pytest

from auditapp.llm.providers.base import CallOutcome, ErrorClass, NextStep
from auditapp.llm.providers.http import read_retry_after
from auditapp.llm.providers.openai_compatible import read_answer

NOW = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)
DATE = email.utils.format_datetime(NOW, usegmt=True)


@pytest.mark.parametrize(
    ("status", "next_step", "error_class"),
    [
        (429, NextStep.SLOW_DOWN, ErrorClass.RATE_LIMITED),
        (529, NextStep.SLOW_DOWN, ErrorClass.OVERLOADED),
        (408, NextStep.RETRY, ErrorClass.SERVER_ERROR),
        (409, NextStep.RETRY, ErrorClass.SERVER_ERROR),
        (425, NextStep.RETRY, ErrorClass.SERVER_ERROR),
        (500, NextStep.RETRY, ErrorClass.SERVER_ERROR),
        (502, NextStep.RETRY, ErrorClass.SERVER_ERROR),
        (503, NextStep.RETRY, ErrorClass.SERVER_ERROR),
        (520, NextStep.RETRY, ErrorClass.SERVER_ERROR),
        (401, NextStep.STOP_BATCH, ErrorClass.ACCOUNT),
        (402, NextStep.STOP_BATCH, ErrorClass.ACCOUNT),
        (403, NextStep.STOP_BATCH, ErrorClass.ACCOUNT),
        (400, NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
        (404, NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
        (413, NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
        (422, NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
        (301, NextStep.STOP_BATCH, ErrorClass.REDIRECT),
        (307, NextStep.STOP_BATCH, ErrorClass.REDIRECT),
    ],
)
def test_a_status_that_says_no_decides_what_follows(status, next_step, error_class):
    answer = read_answer(status, {}, b'{"error": "no"}')
    assert (answer.end, answer.next_step, answer.error_class) == (CallOutcome.REFUSED, next_step, error_class)
    assert answer.http_status == status


@pytest.mark.parametrize("status", [504, 524])
def test_a_gateway_that_gave_up_waiting_does_not_say_that_nothing_was_billed(status):
    answer = read_answer(status, {}, b"")
    assert (answer.end, answer.next_step, answer.error_class) == (
        CallOutcome.UNKNOWN,
        NextStep.RETRY,
        ErrorClass.TIMEOUT,
    )


@pytest.mark.parametrize("status", [201, 202, 204])
def test_a_status_of_success_that_brings_no_answer_is_a_bad_answer(status):
    answer = read_answer(status, {}, b"")
    assert (answer.end, answer.next_step, answer.error_class) == (
        CallOutcome.FAILED,
        NextStep.RETRY,
        ErrorClass.BAD_ANSWER,
    )


@pytest.mark.parametrize(
    ("status", "body", "next_step", "error_class"),
    [
        (429, b'{"error": {"code": "insufficient_quota", "message": "m"}}', NextStep.STOP_BATCH, ErrorClass.QUOTA),
        (429, b'{"error": {"type": "insufficient_quota", "message": "m"}}', NextStep.STOP_BATCH, ErrorClass.QUOTA),
        (400, b'{"error": {"code": "billing_hard_limit_reached"}}', NextStep.STOP_BATCH, ErrorClass.QUOTA),
        (429, b'{"error": {"message": "Request too large for m"}}', NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
        (400, b'{"error": {"code": "invalid_api_key", "message": "m"}}', NextStep.STOP_BATCH, ErrorClass.ACCOUNT),
        (400, b'{"error": {"code": "content_filter", "message": "m"}}', NextStep.GIVE_UP, ErrorClass.MODERATION),
        (
            403,
            b'{"error": {"message": "m", "metadata": {"flagged_input": "x"}}}',
            NextStep.GIVE_UP,
            ErrorClass.MODERATION,
        ),
        (403, b'{"error": {"message": "requires moderation"}}', NextStep.GIVE_UP, ErrorClass.MODERATION),
    ],
)
def test_the_words_of_an_error_tell_money_key_and_text_apart(status, body, next_step, error_class):
    answer = read_answer(status, {}, body)
    assert (answer.end, answer.next_step, answer.error_class) == (CallOutcome.REFUSED, next_step, error_class)


@pytest.mark.parametrize(
    ("status", "message", "needed", "limit"),
    [
        (
            400,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            9000,
            8192,
        ),
        (
            400,
            (
                "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the "
                "messages, 10000 in the completion)."
            ),
            122946,
            16384,
        ),
        (
            400,
            (
                "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your "
                "prompt contains at least 62466 input tokens, for a total of at least 128001 tokens."
            ),
            128001,
            128000,
        ),
        (
            400,
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 2048 tokens "
                "and your request has 1500 input tokens (1024 > 2048 - 1500)."
            ),
            2524,
            2048,
        ),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 2048.", 5000, 2048),
        (
            400,
            (
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 of "
                "text input, 1000 in the output)."
            ),
            140000,
            131072,
        ),
        (400, "prompt is too long: 208310 tokens > 200000 maximum", 208310, 200000),
        (
            400,
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
            209573,
            200000,
        ),
        (400, "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it", 4390, 4096),
        (500, "Context size has been exceeded.", None, None),
        (500, "Requested tokens (2285) exceed context window of 2048", 2285, 2048),
        (400, "the input length exceeds the context length", None, None),
        (
            400,
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            40000,
            32768,
        ),
        (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1200000,
            1048576,
        ),
        (
            422,
            (
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 "
                "`max_new_tokens`"
            ),
            4512,
            4096,
        ),
    ],
)
def test_a_request_too_long_for_the_context_is_named_with_what_it_needs_and_what_the_server_takes(
    status, message, needed, limit
):
    answer = read_answer(
        status, {}, json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    )
    assert (answer.end, answer.next_step, answer.error_class) == (
        CallOutcome.REFUSED,
        NextStep.GIVE_UP,
        ErrorClass.CONTEXT_OVERFLOW,
    )
    assert answer.error.startswith("The request is too long for the model's context.")
    numbers = "" if needed is None else f" It needs {needed:,} tokens. The server takes {limit:,}."
    assert answer.error == f"The request is too long for the model's context.{numbers} The server says: {message}"


def test_the_numbers_that_llama_cpp_gives_apart_are_used():
    error = {
        "code": 400,
        "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 1407,
        "n_ctx": 256,
    }
    answer = read_answer(400, {}, json.dumps({"error": error}).encode())
    assert "It needs 1,407 tokens. The server takes 256." in answer.error
    carried = read_answer(200, {}, json.dumps({"error": error}).encode())
    assert (carried.end, carried.next_step, carried.error_class) == (
        CallOutcome.FAILED,
        NextStep.GIVE_UP,
        ErrorClass.CONTEXT_OVERFLOW,
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b'{"error": {"message": "The model `m` does not exist"}}'),
        (400, b'{"error": {"message": "max_tokens must be at least 1"}}'),
    ],
)
def test_other_refusals_are_no_overflow(status, body):
    assert read_answer(status, {}, body).error_class is ErrorClass.BAD_REQUEST


def test_a_budget_of_calls_in_flight_is_waited_for():
    answer = read_answer(402, {"retry-after": "3"}, b'{"error": {"message": "in flight", "code": 402}}')
    assert (answer.next_step, answer.retry_after) == (NextStep.SLOW_DOWN, 3.0)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error": {"message": "m"}}', "m"),
        (b'{"error": "model not found"}', "model not found"),
        (b'{"object": "error", "message": "m", "code": 404}', "m"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"error": {"code": "gone"}}', "gone"),
        (b"<html>secret of an inner service</html>", "status 404"),
        (b"", "status 404"),
    ],
)
def test_an_error_has_the_providers_own_words_but_never_a_whole_body(body, error):
    answer = read_answer(404, {}, body)
    assert answer.error == error
    assert answer.raw == body.decode()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": email.utils.format_datetime(NOW + datetime.timedelta(seconds=30), usegmt=True)}, 30.0),
        ({"retry-after": email.utils.format_datetime(NOW - datetime.timedelta(seconds=30), usegmt=True)}, 0.0),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-remaining-requests": "0"}, 90.0),
        ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
        (
            {
                "x-ratelimit-reset-requests": "12ms",
                "x-ratelimit-remaining-requests": "99",
                "x-ratelimit-reset-tokens": "6s",
                "x-ratelimit-remaining-tokens": "0",
            },
            6.0,
        ),
        ({"x-ratelimit-reset": str(int((NOW.timestamp() + 45) * 1000))}, 45.0),
        ({"x-ratelimit-reset": str(int(NOW.timestamp() + 45))}, 45.0),
        ({"x-ratelimit-reset": "45"}, 45.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-11-21T12:00:07Z",
                "anthropic-ratelimit-requests-remaining": "0",
            },
            7.0,
        ),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"x-ratelimit-reset-requests": "later"}, None),
        ({}, None),
    ],
)
def test_every_way_to_ask_for_a_wait_is_read(headers, seconds):
    found = read_retry_after(429, {"date": DATE, **headers})
    assert found == (None if seconds is None else pytest.approx(seconds, abs=0.01))


def test_a_date_is_counted_from_the_answers_own_clock():
    later = email.utils.format_datetime(NOW + datetime.timedelta(seconds=30), usegmt=True)
    assert read_retry_after(503, {"date": DATE, "retry-after": later}) == 30.0


def test_a_limit_that_is_told_beside_another_error_is_no_reason_to_wait():
    assert read_retry_after(500, {"x-ratelimit-reset-requests": "6m0s"}) is None
