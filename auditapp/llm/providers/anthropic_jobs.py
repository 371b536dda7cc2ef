"""Anthropic's message batches: all requests in the body of one call, results as lines in any order.

A message batch carries nothing of ours but the names of its calls, so the job's token is part of each. Which of several
batches of the same size is the one whose creation was cut off therefore shows only when it has ended.
"""

from __future__ import annotations

import datetime
from collections.abc import AsyncGenerator, Mapping
from typing import BinaryIO

import aiohttp

from auditapp.llm.providers.anthropic import open_http, read_answer
from auditapp.llm.providers.base import Account, ChatRequest
from auditapp.llm.providers.job_lines import read_anthropic_line, write_anthropic_line
from auditapp.llm.providers.jobs_base import (
    JobState,
    JobStatus,
    Line,
    Trouble,
    read_call_name,
    read_text,
    shorten_token,
    take_object,
)
from auditapp.llm.providers.jobs_http import ask, read_lines
from auditapp.llm.providers.openai_jobs import MAX_PAGES, SKEW, list_jobs, read_id

PATH = "/messages/batches"


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
    """How far a message batch is. Its results are fetched from where they are known to be, not from where it says."""
    word = read_text(job, "processing_status")
    if word == "canceling":
        return JobStatus(JobState.CANCELLING)
    if word != "ended":
        return JobStatus(JobState.RUNNING)
    counts = take_object(job, "request_counts")
    is_cut = any(counts.get(name) not in {0, None} for name in ("canceled", "expired"))
    return JobStatus(JobState.ENDED, [f"{PATH}/{read_text(job, 'id')}/results"], cut_short=is_cut)


def count_calls(job: Mapping[str, object]) -> int:
    """How many requests a message batch holds."""
    return sum(count for count in take_object(job, "request_counts").values() if isinstance(count, int))


def is_older(job: Mapping[str, object], since: datetime.datetime) -> bool:
    """Whether a message batch was made before ``since``, with room for clocks that differ."""
    try:
        made_at = datetime.datetime.fromisoformat(read_text(job, "created_at"))
    except ValueError:
        return False
    return made_at.tzinfo is not None and made_at < since - SKEW
