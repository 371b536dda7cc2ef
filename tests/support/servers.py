"""A PostgreSQL and a Redis of a test's own, to end and start again: promises about what becomes of a batch meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import redis

ROOT = Path(__file__).resolve().parents[2]


class OwnServers:
    """Both servers, in processes that end with whoever made this, however it ends. ``None``: not to be had here."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.throwaway_servers", "--lasting", *options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        addresses = json.loads(self._read_line())
        self.database_url: str | None = addresses["database_url"]
        self.redis_url: str | None = addresses["redis_url"]

    def order(self, server: str, *words: str) -> None:
        """Orders for ``postgres`` or ``redis``, one after the other: a way to end (``kill``, ``fast``…), or ``start``."""
        assert self.process.stdin is not None
        for word in words:
            self.process.stdin.write(f"{server} {word}\n")
            self.process.stdin.flush()
            assert self._read_line() == "done\n"

    def flush_redis(self) -> None:
        """Everything the broker holds is gone."""
        assert self.redis_url is not None
        with redis.Redis(unix_socket_path=urlsplit(self.redis_url).path) as client:
            client.flushall()

    def stop(self) -> None:
        self.process.communicate()

    def _read_line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the servers of this test ended; their own words stand above"
        return line
