"""What a runner knows before the database does: which calls left, and which answers came.

One file per runner in the data folder, lines of JSON. A call is noted before it is sent, an answer before it is read, and
answers are on disk (fsync) before the transaction that stores them. After a crash the file tells the three cases apart:
never sent (costs nothing), answered (costs nothing more), sent with its end unknown (may have been paid for).
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import NamedTuple

from auditapp.llm.providers.base import ChatAnswer, End, Remedy

logger = logging.getLogger(__name__)


class Spool:
    """The open spool of a running runner."""

    def __init__(self, folder: Path, runner: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = spool_path(folder, runner)
        self.descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        fsync_folder(folder)

    def note_sent(self, request_id: str) -> None:
        """The call is about to leave. The page cache outlives a killed process, so no fsync is needed here."""
        write_line(self.descriptor, {"sent": request_id})

    def note_answer(self, request_id: str, answer: ChatAnswer, done_at: str) -> None:
        """The call ended; ``done_at`` is ISO 8601."""
        write_line(self.descriptor, {"done": request_id, "at": done_at, "answer": asdict(answer)})

    def sync(self) -> None:
        """Everything noted so far is on the disk."""
        os.fsync(self.descriptor)

    def close(self, *, keep: bool) -> None:
        """Close the file; a runner that stored everything keeps none."""
        os.close(self.descriptor)
        if not keep:
            self.path.unlink(missing_ok=True)


class SpooledAnswer(NamedTuple):
    """An answer found in a dead runner's spool."""

    request_id: str
    answer: ChatAnswer
    done_at: str


class SpoolContent(NamedTuple):
    """What a dead runner's spool says."""

    sent: frozenset[str]
    answers: list[SpooledAnswer]


def spool_path(folder: Path, runner: str) -> Path:
    """The file of ``runner``."""
    return folder / f"{runner.replace(':', '-').replace('/', '-')}.jsonl"


def read_spool(path: Path) -> SpoolContent | None:
    """The content of a spool; ``None`` when the file is not on this machine. A half-written last line is left out."""
    if not path.exists():
        return None
    sent: set[str] = set()
    answers: dict[str, SpooledAnswer] = {}
    for line in read_whole_lines(path):
        if "sent" in line:
            sent.add(str(line["sent"]))
        else:
            request_id = str(line["done"])
            answers[request_id] = SpooledAnswer(request_id, revive_answer(line["answer"]), str(line["at"]))
    return SpoolContent(frozenset(sent), list(answers.values()))


def read_whole_lines(path: Path) -> Iterator[dict[str, object]]:
    """The lines that were written to their end; only the last one can be cut."""
    with path.open("rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError:
                # A line cut by a full disk, with the next one written behind it: its call counts as sent, end unknown.
                logger.warning("An unreadable line in spool %s is left out", path.name)


def revive_answer(stored: object) -> ChatAnswer:
    """A ``ChatAnswer`` from its stored form."""
    if not isinstance(stored, dict):
        raise TypeError("a spooled answer is an object")
    known = {field.name for field in fields(ChatAnswer)}
    values = {name: value for name, value in stored.items() if name in known}
    return ChatAnswer(**{**values, "end": End(values["end"]), "remedy": Remedy(values["remedy"])})


def write_line(descriptor: int, content: dict[str, object]) -> None:
    """One line in one write, so that lines of one runner never mix."""
    data = json.dumps(content, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def fsync_folder(folder: Path) -> None:
    """Make the file's name durable too; a no-op where folders cannot be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
