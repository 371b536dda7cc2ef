"""What the batch services over HTTP share: a question with a JSON answer, and answers read line by line."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from dataclasses import replace

import aiohttp

from auditapp.llm.providers.base import (
    CallOutcome,
    ChatAnswer,
    ErrorClass,
    Line,
    NextStep,
    Trouble,
    make_trouble,
    read_object,
)
from auditapp.llm.providers.http import CONNECT_SECONDS, CallFailed, HttpAccount

ReadAnswer = Callable[[int, Mapping[str, str], bytes], ChatAnswer]
ReadLine = Callable[[Mapping[str, object]], Line | None]

ASK_SECONDS = 60.0
SEND_SECONDS = 1800.0
MAX_REPLY = 16 * 1024 * 1024
MAX_LINE = 32 * 1024 * 1024
SILENCE_SECONDS = 120.0
UNREADABLE = ChatAnswer(
    CallOutcome.FAILED, NextStep.RETRY, error_class=ErrorClass.BAD_ANSWER, error="a line that cannot be read"
)
# The other side may still have carried it out.
UNDECIDED_STATUSES = {408, 409}


async def ask(
    http: HttpAccount,
    method: str,
    path: str,
    *,
    read_answer: ReadAnswer,
    data: bytes | aiohttp.Payload | aiohttp.FormData | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
) -> dict[str, object] | Trouble:
    """Send a request and return a JSON object or the ``Trouble``. ``read_answer`` interprets a refusal, as for a live call."""
    try:
        status, reply_headers, body, _ = await http.exchange(
            method,
            path,
            data=data,
            headers=headers,
            params=params,
            timeout_seconds=ASK_SECONDS if data is None or isinstance(data, bytes) else SEND_SECONDS,
            max_bytes=MAX_REPLY,
        )
    except CallFailed as error:
        return replace(make_trouble(error.answer), is_lost=error.answer.end is not CallOutcome.UNSENT)
    if status not in {200, 201}:
        trouble = make_trouble(read_answer(status, reply_headers, body))
        return replace(trouble, is_lost=status >= 500 or status in UNDECIDED_STATUSES)
    found = read_object(body)
    if found is None:
        return Trouble(
            NextStep.RETRY,
            "The answer of the batch service is not JSON.",
            ErrorClass.BAD_ANSWER,
            status,
            True,
        )
    return found


async def read_lines(
    http: HttpAccount, path: str, *, read_line: ReadLine, read_answer: ReadAnswer
) -> AsyncGenerator[Line | Trouble, None]:
    """The lines of a file at the provider as they arrive, with one line in memory at a time. Ends with a ``Trouble`` if the file
    did not arrive completely."""
    limits = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
    try:
        http.guard.check_scheme()
        request = http.session.get(http.base_url + path, allow_redirects=False, timeout=limits)
        async with request as response:
            if response.status != 200:
                body = await response.content.read(64 * 1024)
                yield make_trouble(read_answer(response.status, response.headers, http.clean(body)))
                return
            async for raw in split_lines(response.content.iter_any()):
                yield read_raw_line(http.clean(raw), read_line) or Line("", UNREADABLE)
    except (aiohttp.ClientError, OSError) as error:
        yield make_trouble(http.explain(error, status=None, timeout_seconds=SILENCE_SECONDS))


def read_raw_line(raw: bytes, read_line: ReadLine) -> Line | None:
    """A line as received; ``None`` if it is not a JSON object, or is nested so deeply that it could be read but not written
    again."""
    data = read_object(raw)
    try:
        return read_line(data) if data is not None else None
    except RecursionError:
        return None


async def split_lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The lines that are not blank. A line that is far too long is replaced by a note that there was one."""
    held, is_too_long = bytearray(), False
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            held += piece
            if held.strip():
                yield b"" if is_too_long else bytes(held)
            held, is_too_long = bytearray(), False
        held += rest
        if len(held) > MAX_LINE:
            held, is_too_long = bytearray(b"x"), True
    if held.strip():
        yield b"" if is_too_long else bytes(held)
