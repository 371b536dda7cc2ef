"""One answer of somebody else's run, whatever file it came in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_FILE_BYTES = 500_000_000


class ResultError(Exception):
    """A sentence that says what is wrong with the file; it never quotes a text or an answer."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One answer. ``place`` says where it is ("row 12").

    The text is identified by ``source`` and ``external_id`` or by ``text`` itself. ``answer`` is "" where the file has none;
    ``error`` says that the call failed there. ``instrument`` names the wording where it is known, ``system_prompt`` holds
    it where the file does. ``note`` and ``kept`` are what else the file says: both are stored with the answer.
    """

    place: str
    model: str
    task: str
    answer: str
    source: str = ""
    external_id: str = ""
    text: str = ""
    repeat: int = 1
    reasoning: str = ""
    model_id: str = ""
    finish_reason: str = ""
    served_model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    error: str = ""
    instrument: str = ""
    system_prompt: str = ""
    note: str = ""
    kept: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """The rows of a file in its order. ``passed_over`` counts rows that hold no answer of a known task, by reason."""

    format: str
    rows: tuple[ResultRow, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)
