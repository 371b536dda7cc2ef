"""The broker of a single machine: messages as files in the data folder.

Kombu's file broker writes files in place: if a reader reads meanwhile, or a writer is killed, the message cannot be read and a
worker dies. Here a file gets its name only when it is complete, is taken by a single rename, and is skipped if damaged.
"""

from __future__ import annotations

import logging
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    """Kombu's file channel, with atomic writing and reading."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for folder in (self.data_folder_in, self.data_folder_out, self.control_folder):
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)

    def get_table(self, exchange: str) -> list[Any]:
        """The queues of an exchange; none while the exchange's file is being written."""
        try:
            return list(super().get_table(exchange))
        except ValueError:
            return []

    def _queue_bind(self, exchange: str, routing_key: str | None, pattern: str | None, queue: str) -> None:
        bound = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        table = self.get_table(exchange)
        if bound not in table:
            folder = Path(self.control_folder)
            folder.mkdir(exist_ok=True)
            write_whole(folder / f"{exchange}.exchange", [bound, *table])

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{time.monotonic_ns() // 1_000_000}_{uuid.uuid4()}.{queue}.msg"
        write_whole(Path(self.data_folder_out) / name, payload)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for path in sorted(Path(self.data_folder_in).glob(f"*.{queue}.msg")):
            # A queue's name may end with another's.
            if path.name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = path.with_suffix(".taken")
            try:
                path.rename(taken)
                text = taken.read_text(encoding="utf-8")
                taken.unlink()
                return loads(text)
            except FileNotFoundError:
                continue  # another process took it
            except ValueError:
                logger.warning("A damaged message was skipped; the sweeper sends another")
        raise Empty


class Transport(filesystem.Transport):
    """Replaces kombu's transport for ``filesystem://``."""

    Channel = Channel


def write_whole(path: Path, content: object) -> None:
    """Write a file completely, or not at all."""
    unnamed = path.with_name(f".{uuid.uuid4().hex}.new")
    unnamed.write_text(dumps(content), encoding="utf-8")
    unnamed.replace(path)
