"""The data folder of ``make run``: made when missing, and used by one run at a time."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.problem import CannotGoOn

LOCK_NAME = "run.lock"


@dataclass
class DataLock:
    """A held lock: the kernel lets go of it when every process that has ``descriptor`` open is gone.

    The web server and the worker inherit it, so that a run whose launcher was killed still counts as running.
    """

    folder: Path
    descriptor: int
    content: dict[str, str | int] = field(default_factory=dict)

    def note(self, content: Mapping[str, str | int]) -> None:
        """Write into the lock file what the next one to come should be told."""
        self.content.update(content)
        os.truncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps(self.content).encode(), 0)


def open_data_folder(text: str) -> Path:
    """The folder named ``text``, made (for its owner only) when missing; CannotGoOn when it cannot be written to."""
    folder = Path(text or "var").expanduser().resolve()
    advice = "Name a folder you may write to, for example: make run DATA=~/auditapp-data"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError) as error:
        raise CannotGoOn(f"The data folder {folder} cannot be made: a file is in its place. {advice}") from error
    except OSError as error:
        raise CannotGoOn(f"The data folder {folder} cannot be written to ({error.strerror}). {advice}") from error
    return folder


def lock_data_folder(folder: Path, *, address: str) -> DataLock:
    """Lock the folder for this run, which will answer at ``address``; CannotGoOn when another run has it."""
    file = folder / LOCK_NAME
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotGoOn(f"{file} cannot be written to ({error.strerror}); does it belong to somebody else?") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise CannotGoOn(_describe_other_run(folder, file)) from None
    lock = DataLock(folder, descriptor)
    lock.note({"launcher": os.getpid(), "address": address})
    return lock


def _describe_other_run(folder: Path, file: Path) -> str:
    try:
        other = json.loads(file.read_text(encoding="ascii"))
        launcher = int(other.pop("launcher"))
        address = other.pop("address")
    except (OSError, ValueError, KeyError):
        return f"Another run already uses the data in {folder}. Stop it, or name another folder with DATA=..."
    if _is_running(launcher):
        return (
            f"Another run (process {launcher}, {address}) already uses the data in {folder}. "
            "Stop it with Ctrl-C, or start beside it: make run DATA=other PORT=8001"
        )
    left = " ".join(str(pid) for pid in other.values() if _is_running(pid))
    return f"A run that was killed left processes that still use the data in {folder}. End them: kill {left}"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
