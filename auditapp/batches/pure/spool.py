"""What a runner knows before the database does: which calls were sent, and which answers arrived.

One file per runner in the data folder, lines of JSON. A call is written there before it is sent, an answer before it is
parsed, and answers are on disk (fsync) before the transaction that stores them. After a crash the file distinguishes three
cases: never sent (costs nothing), answered (costs nothing more), sent with its end unknown (may have been paid for).

The lines are formatted by hand and written once per turn of the event loop, because every call passes through the spool, up to
two thousand a second (docs/performance.md, batch throughput). A runner keeps a lock on its file as long as it lives, and the
operating system releases the lock however the runner dies. So on this machine, if a file can be locked, its runner is dead.
"""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger(__name__)

MIN_FREE_SHARE = 0.05
MIN_FREE_BYTES = 200_000_000
encode_line = json.JSONEncoder(separators=(",", ":")).encode
ANSWER_FIELDS = tuple(field.name for field in fields(ChatAnswer))


class Spool:
    """The open spool of a running runner."""

    def __init__(self, folder: Path, runner: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = spool_path(folder, runner)
        # Locked before it gets its name, so that no process ever finds it unlocked.
        unnamed = self.path.with_suffix(".new")
        self.descriptor = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lines: list[bytes] = []
        try_lock(self.descriptor)
        unnamed.rename(self.path)
        fsync_folder(folder)

    def note_sent(self, request_id: str, sent_at: str = "") -> None:
        """Write that a call is about to be sent (``sent_at`` is ISO 8601); it must not be before ``flush``."""
        self.lines.append(f'{{"sent":"{request_id}","at":"{sent_at}"}}\n'.encode("ascii"))

    def note_answer(self, request_id: str, answer: ChatAnswer, done_at: str) -> None:
        """Write how a call ended; ``done_at`` is ISO 8601."""
        stored = {name: value for name in ANSWER_FIELDS if (value := getattr(answer, name)) not in ("", None)}
        line = encode_line({"done": request_id, "at": done_at, "answer": stored})
        self.lines.append(line.encode("ascii") + b"\n")

    def flush(self) -> None:
        """Pass the lines to the operating system, whose memory outlives a killed process. All lines of one turn of the event loop
        are written at once; lines that could not be written are tried again with the next."""
        data = b"".join(self.lines)
        written = 0
        try:
            while written < len(data):
                written += os.write(self.descriptor, data[written:])
        except OSError:
            self.lines = [data[written:]]
            raise
        self.lines = []

    def sync(self) -> None:
        """Make sure that everything flushed so far is on the disk. May be called from another thread."""
        os.fsync(self.descriptor)

    def close(self, *, keep: bool) -> None:
        """Close the file, which releases the lock. If the runner has stored everything, the file is deleted."""
        with suppress(OSError):
            self.flush()
        if not keep and sys.platform != "win32":
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)
        if not keep:
            self.path.unlink(missing_ok=True)


# What a dead runner's spool says, by request id: when each call left, and which answers came when. Times are ISO 8601, empty
# where not known.
SpoolContent = tuple[Mapping[str, str], Mapping[str, tuple[ChatAnswer, str]]]


def spool_path(folder: Path, runner: str) -> Path:
    """The file of ``runner``."""
    return folder / f"{runner.replace(':', '-').replace('/', '-')}.jsonl"


def try_lock(descriptor: int) -> bool:
    """Lock an open spool; ``False`` if its runner has the lock, or on systems without such locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_abandoned(path: Path) -> bool | None:
    """Whether the runner of this spool is dead; ``None`` if the file is not on this machine or cannot be locked here."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        return try_lock(descriptor)
    finally:
        os.close(descriptor)


def find_disk_shortage(folder: Path) -> str:
    """A sentence if the disk of ``folder`` has too little room for paid answers; empty if it has enough."""
    usage = shutil.disk_usage(folder)
    minimum = min(MIN_FREE_SHARE * usage.total, MIN_FREE_BYTES)
    if usage.free >= minimum:
        return ""
    return (
        f"The disk of the worker's data folder has only {usage.free // 1_000_000} MB left, so nothing more is sent. "
        f"Make room for at least {math.ceil(minimum / 1_000_000)} MB there, then resume."
    )


def read_spool(path: Path) -> SpoolContent | None:
    """The content of a spool; ``None`` when the file is not on this machine. A half-written last line is skipped."""
    if not path.exists():
        return None
    sent: dict[str, str] = {}
    answers: dict[str, tuple[ChatAnswer, str]] = {}
    for line in read_whole_lines(path):
        if "sent" in line:
            sent[str(line["sent"])] = str(line.get("at", ""))
        else:
            answers[str(line["done"])] = revive_answer(line["answer"]), str(line["at"])
    return sent, answers


def read_whole_lines(path: Path) -> Iterator[dict[str, object]]:
    """The completely written lines; only the last one can be cut off."""
    with path.open("rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError:
                # A line cut by a full disk, followed by the next one: its call counts as sent, end unknown.
                logger.warning("An unreadable line in spool %s is skipped", path.name)


def revive_answer(stored: object) -> ChatAnswer:
    """A ``ChatAnswer`` from its stored form."""
    if not isinstance(stored, dict):
        raise TypeError("a spooled answer is an object")
    values = {name: value for name, value in stored.items() if name in ANSWER_FIELDS}
    # Spools written before the field was renamed say "remedy".
    values |= {"end": CallOutcome(values["end"]), "next_step": NextStep(stored.get("next_step") or stored["remedy"])}
    return ChatAnswer(**values | {"error_class": ErrorClass(values.get("error_class", ""))})


def fsync_folder(folder: Path) -> None:
    """Make the file's name durable too; does nothing on systems where folders cannot be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
