"""The interface of a provider's own batch service.

A job is a group of calls submitted together. The provider processes it within a day at a lower price; its answers can then be
fetched in any order and repeatedly. A job is submitted in steps that can each be repeated: written to a file, uploaded (if the
service needs that) and created. A step raises nothing for a fault of the provider: it returns ``Trouble``.

The body of a call is that of a live call, and the body of an answer is read by the same rules, so that it makes no difference how
an answer arrived.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO, NamedTuple, Protocol

from auditapp.llm.providers.base import (
    CallOutcome,
    ChatAnswer,
    ChatRequest,
    ErrorClass,
    NextStep,
    make_storable,
)

CALL_NAME = re.compile(r"cell-(\d{1,18})(?:-([0-9a-f]{12}))?")
TOKEN_PART = 12
EXPIRED = "the provider did not reach this call in time and billed nothing"
CANCELED = "the provider's job was cancelled before it reached this call"


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
