"""OpenAI's batch service, and those that follow its form: a file of requests, a job, a file of answers and one of errors."""

from __future__ import annotations

import datetime
from collections.abc import AsyncGenerator, Mapping
from typing import BinaryIO

import aiohttp

from auditapp.llm.providers.base import Account, ChatRequest, ErrorClass, NextStep
from auditapp.llm.providers.http import HttpAccount
from auditapp.llm.providers.job_lines import OPENAI_URL, read_openai_line, write_openai_line
from auditapp.llm.providers.jobs_base import (
    JobState,
    JobStatus,
    Line,
    Trouble,
    dump_line,
    read_text,
    take_object,
)
from auditapp.llm.providers.jobs_http import ask, read_lines
from auditapp.llm.providers.openai_compatible import read_answer

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
    """How far a job is, by its own words; a word not known yet is taken for one of a job under way."""
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
    """A job that was not taken on: the first of its errors."""
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
    """The id of what was made; an answer without one leaves open whether anything was."""
    if isinstance(answer, Trouble):
        return answer
    words = "The batch service answered without an id."
    return read_text(answer, "id") or Trouble(NextStep.RETRY, words, ErrorClass.BAD_ANSWER, is_lost=True)
