"""What the providers' batch services say, read without trust."""

import asyncio
import json
from urllib.parse import urlsplit

import pytest

from auditapp.batches.pure.answer_lines import read_answer_line
from auditapp.llm.providers import anthropic, jobs_http, open_job_service, openai_compatible
from auditapp.llm.providers.anthropic import read_anthropic_line, write_anthropic_line
from auditapp.llm.providers.base import (
    Account,
    ChatRequest,
    ErrorClass,
    JobState,
    JobStatus,
    Line,
    NextStep,
    ProviderNotReady,
    Trouble,
    read_call_name,
)
from auditapp.llm.providers.openai_compatible import read_openai_line, write_openai_line
from auditapp.llm.pure.key_removal import REMOVED
from tests.auditapp.llm.asking import listen

TOKEN = "01234567-89ab-cdef-0123-456789abcdef"
REQUEST = ChatRequest(request_id="r", model="m", system="Say it.", user="text", max_tokens=10)


def test_the_body_of_a_line_is_that_of_a_live_call():
    from auditapp.llm.providers import anthropic, openai_compatible

    assert json.loads(write_openai_line("cell-1", REQUEST))["body"] == openai_compatible.write_body(REQUEST)
    assert json.loads(write_anthropic_line("cell-1", REQUEST))["params"] == anthropic.write_body(REQUEST)


@pytest.mark.parametrize("user", ["line\nbreak", "half a sign \ud800", "ends \u2028 here"])
def test_a_line_is_one_line_whatever_the_text(user):
    request = ChatRequest(request_id="r", model="m", system="", user=user, max_tokens=10)
    line = write_openai_line("cell-1", request)
    assert b"\n" not in line
    assert json.loads(line)["body"]["messages"][-1]["content"] == user


@pytest.mark.parametrize(
    ("name", "cell", "part"),
    [("cell-12", 12, ""), ("cell-12-0123456789ab", 12, "0123456789ab")],
)
def test_a_name_of_ours_is_taken_apart(name, cell, part):
    assert read_call_name(name) == (cell, part)


@pytest.mark.parametrize("name", ["", "cell-", "cell-x", "cell-1-xyz", "request-1", "cell-1\n", "cell-" + "9" * 30])
def test_a_name_of_somebody_else_is_none(name):
    assert read_call_name(name) is None


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"custom_id": 5, "response": {}},
        {"custom_id": "cell-1"},
    ],
)
def test_what_is_no_line_of_openai_is_none(line):
    assert read_openai_line(line) is None


@pytest.mark.parametrize("status", [0, -1, 70_000, True, "200", None])
def test_a_status_that_is_none_leaves_the_line_to_be_asked_again(status):
    line = read_openai_line({"custom_id": "cell-1", "response": {"status_code": status, "body": {}}})
    assert line is not None
    assert (line.answer.http_status, line.answer.next_step) == (0, NextStep.RETRY)


def test_a_line_nested_too_deeply_is_one_that_cannot_be_read():
    for depth in range(900, 1000):
        raw = b'{"custom_id":"cell-1","result":{"type":"odd","of":%s}}' % (b"[" * depth + b"]" * depth)
        jobs_http.read_raw_line(raw, read_anthropic_line)
        assert read_answer_line(1, raw)


@pytest.mark.parametrize("line", [{}, {"custom_id": "cell-1"}, {"custom_id": "cell-1", "result": {"type": 3}}])
def test_what_is_no_line_of_anthropic_is_none(line):
    assert read_anthropic_line(line) is None


@pytest.mark.parametrize(
    ("name", "next_step"),
    [
        ("invalid_request_error", NextStep.GIVE_UP),
        ("rate_limit_error", NextStep.SLOW_DOWN),
        ("overloaded_error", NextStep.SLOW_DOWN),
        ("api_error", NextStep.RETRY),
        ("authentication_error", NextStep.STOP_BATCH),
        ("something_new", NextStep.RETRY),
    ],
)
def test_an_error_of_anthropic_counts_as_its_status_would(name, next_step):
    failure = {"type": "error", "error": {"type": name, "message": "as ordered"}}
    line = read_anthropic_line({"custom_id": "cell-1", "result": {"type": "errored", "error": failure}})
    assert line is not None
    assert (line.answer.next_step, line.answer.error) == (next_step, "as ordered")


@pytest.mark.parametrize(
    ("word", "state", "cut_short"),
    [
        ("validating", JobState.RUNNING, False),
        ("in_progress", JobState.RUNNING, False),
        ("finalizing", JobState.RUNNING, False),
        ("a word not known yet", JobState.RUNNING, False),
        ("cancelling", JobState.CANCELLING, False),
        ("completed", JobState.ENDED, False),
        ("COMPLETED", JobState.ENDED, False),
        ("expired", JobState.ENDED, True),
        ("cancelled", JobState.ENDED, True),
        # With answers, which were paid for; without any it is refused: see the tests of failed jobs.
        ("failed", JobState.ENDED, False),
    ],
)
def test_the_words_of_openai_are_understood(word, state, cut_short):
    status = openai_compatible.read_status({"status": word, "output_file_id": "out", "error_file_id": None})
    assert (status.state, status.cut_short) == (state, cut_short)
    assert status.results == (["/files/out/content"] if state is JobState.ENDED else ())


def test_results_of_anthropic_are_fetched_from_the_account_s_own_address():
    job = {"id": "b1", "processing_status": "ended", "results_url": "http://169.254.169.254/latest"}
    assert anthropic.read_status(job).results == ["/messages/batches/b1/results"]


async def arrive(*chunks):
    for chunk in chunks:
        yield chunk


def split(*chunks):
    async def read():
        return [line async for line in jobs_http.split_lines(arrive(*chunks))]

    return asyncio.run(read())


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_lines_are_whole_however_they_arrive(size):
    data = b'{"a": 1}\n\n{"b": 2}\n{"c": 3}'
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert split(*chunks) == [b'{"a": 1}', b'{"b": 2}', b'{"c": 3}']


def test_of_a_line_that_is_far_too_long_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(jobs_http, "MAX_LINE", 100)
    assert split(*[b"x" * 60] * 10, b"\n{}\n") == [b"", b"{}"]


@pytest.mark.parametrize("provider", ["openai_compatible", "anthropic"])
def test_a_private_address_that_is_not_allowed_is_not_called(provider):
    async def check():
        service = open_job_service(Account(provider, base_url="http://127.0.0.1:9/v1", key="secret"))
        try:
            return await service.check("job")
        finally:
            await service.close()

    trouble = asyncio.run(check())
    assert isinstance(trouble, Trouble)
    assert trouble.next_step is NextStep.STOP_BATCH
    assert not trouble.is_lost


KEY = "sk-canary-0123456789"
ENDED = JobStatus(JobState.ENDED, ["/results"])


async def collect(base_url, *, allowed=True):
    """The lines of an ended job at ``base_url``."""
    known = frozenset({urlsplit(base_url).netloc} if allowed else ())
    service = open_job_service(Account("anthropic", base_url, KEY, allowed=known))
    try:
        return [line async for line in service.collect(ENDED)]
    finally:
        await service.close()


def collect_from(reply):
    """The lines that come of one HTTP reply."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        writer.close()

    async def run():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            return await collect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")

    return asyncio.run(run())


def test_a_redirect_away_from_the_answers_is_not_followed():
    async def run():
        async with listen() as canary:
            head = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{canary.port}/\r\nContent-Length: 0\r\n\r\n"
            lines = await asyncio.to_thread(collect_from, head.encode())
            return canary.connections, lines

    connections, (trouble,) = asyncio.run(run())
    assert isinstance(trouble, Trouble)
    assert (connections, trouble.error_class) == (0, ErrorClass.REDIRECT)


def test_answers_are_not_fetched_without_encryption_from_an_address_that_is_not_allowed():
    (trouble,) = asyncio.run(collect("http://models.example/v1", allowed=False))
    assert isinstance(trouble, Trouble)
    assert trouble.error_class is ErrorClass.ADDRESS_REFUSED
    assert "without encryption" in trouble.error


def test_a_key_that_comes_back_in_a_line_is_taken_out():
    said = {"type": "message", "content": [{"type": "text", "text": f"You wrote {KEY}."}], "stop_reason": "end_turn"}
    body = json.dumps({"custom_id": "cell-1", "result": {"type": "succeeded", "message": said}}).encode() + b"\n"
    (line,) = collect_from(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert isinstance(line, Line)
    assert line.answer.content == f"You wrote {REMOVED}."
    assert KEY not in line.answer.raw


@pytest.mark.parametrize("provider", ["fake", "file"])
def test_only_providers_with_a_batch_service_have_one(provider):
    with pytest.raises(ProviderNotReady, match="no batch service"):
        open_job_service(Account(provider))


def test_both_services_keep_the_protocol():
    services = [openai_compatible.OpenAIJobs, anthropic.AnthropicJobs]
    assert [service.max_calls for service in services] == [50_000, 100_000]
    assert [service.max_bytes // 10**6 for service in services] == [200, 256]
