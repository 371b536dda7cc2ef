"""What a provider's own batch service looks like to the rest of the program.

A job is a group of calls that is handed over at once, is worked off within a day at a lower price, and whose answers are
then fetched, in any order and as often as wanted. It is submitted in steps that can each be done again: written to a file,
uploaded (where the service wants that), created. A step never raises for what the other side did: it gives ``Trouble``.
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


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a step came to nothing. With ``is_lost`` it was sent, and whether it was done is not known.

    ``next_step``: RETRY and SLOW_DOWN pass by themselves, STOP_BATCH is for whoever holds the account, GIVE_UP is a no.
    """

    next_step: NextStep
    error: str
    error_class: ErrorClass = ErrorClass.NONE
    http_status: int | None = None
    is_lost: bool = False

    @property
    def is_passing(self) -> bool:
        """Whether it is enough to try again later."""
        return self.next_step in {NextStep.RETRY, NextStep.SLOW_DOWN}


class JobState(StrEnum):
    """Where a job stands at its provider."""

    RUNNING = "running"
    CANCELLING = "cancelling"
    ENDED = "ended"
    REFUSED = "refused"


class JobStatus(NamedTuple):
    """What the provider says of a job. ``results`` is where its answers are (none before it ended); ``cut_short`` means
    that calls without an answer were never made, and so never billed."""

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

    most_calls: int
    most_bytes: int
    # What stands before, between and after the lines of the file that is sent.
    framing: tuple[bytes, bytes, bytes]
    uploads: bool

    def name_call(self, token: str, cell_id: int) -> str:
        """The custom_id of a call."""

    def write_line(self, call_name: str, request: ChatRequest) -> bytes:
        """One call as the file holds it; its body is that of a live call."""

    async def upload(self, file: BinaryIO, token: str) -> str | Trouble:
        """Bring the file to the provider; the file's id there. Costs nothing, also when it is done again."""

    async def create(self, file: BinaryIO, file_id: str, token: str) -> str | Trouble:
        """Order the job, by its uploaded file or (where nothing is uploaded) with the file itself; its id. Never twice for
        the same calls without ``find`` in between."""

    async def find(
        self, token: str, calls: int, known: frozenset[str], since: datetime.datetime
    ) -> tuple[str, int] | Trouble:
        """Look for a job of this token at the provider, created after ``since`` for so many calls: its id or "", and the
        number of jobs that may be it and will tell when they end. ``known`` are ids that belong to other jobs."""

    async def check(self, job_id: str) -> JobStatus | Trouble:
        """Ask how far the job is."""

    def collect(self, status: JobStatus) -> AsyncGenerator[Line | Trouble, None]:
        """The answers of an ended job as they come over the wire. A ``Trouble`` ends it: not everything came."""

    async def cancel(self, job_id: str) -> Trouble | None:
        """Ask that no further call be made; what was finished can still be collected."""

    async def delete_file(self, file_id: str) -> Trouble | None:
        """Have the provider forget an uploaded file, whose texts nobody needs there any more."""

    async def close(self) -> None:
        """Give the connections back."""


def read_call_name(name: str) -> tuple[int, str] | None:
    """The cell and the part of the token in a custom_id of ours; ``None`` for anybody else's. The second is empty where the
    service keeps the token with the job itself."""
    match = CALL_NAME.fullmatch(name)
    return (int(match[1]), match[2] or "") if match else None


def shorten_token(token: str) -> str:
    """The part of a token that is put into names."""
    return token.replace("-", "")[:TOKEN_PART]


def describe_refusal(answer: ChatAnswer) -> Trouble:
    """The trouble behind an answer that is none."""
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
    """A field that is an object; an empty one where it is something else."""
    value = data.get(name) if data else None
    return value if isinstance(value, dict) else {}


def dump_line(content: Mapping[str, object]) -> bytes:
    """JSON on one line, always the same for the same content."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
